"""What questions are about: categories, their parts, and the examples that teach them apart."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display

from assistant.models import Category, ExampleQuestion, Intent


class IntentInline(TabularInline):
    model = Intent
    fields = ("slug", "title", "may_cache")
    extra = 0


@admin.register(Category)
class CategoryAdmin(ModelAdmin):
    list_display = ("title", "slug", "examples", "may_cache", "escalates", "fixed", "active")
    list_filter = ("may_cache", "escalates", "active")
    search_fields = ("title", "slug", "fixed_reply")
    inlines = (IntentInline,)
    fieldsets = (
        (None, {"fields": ("title", "slug", "active")}),
        ("How it is answered", {"fields": ("may_cache", "escalates", "fixed_reply")}),
        ("Reports", {"fields": ("reported_as",)}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Category]:
        counted: QuerySet[Category] = super().get_queryset(request)
        return counted.annotate(active_examples=Count("examples", filter=Q(examples__active=True)))

    @display(description="Examples", ordering="active_examples")
    def examples(self, row: Any) -> int:
        return int(row.active_examples)

    @display(description="Fixed reply", boolean=True)
    def fixed(self, row: Category) -> bool:
        return bool(row.fixed_reply)


@admin.register(Intent)
class IntentAdmin(ModelAdmin):
    list_display = ("title", "slug", "category", "may_cache")
    list_filter = ("category", "may_cache")
    list_select_related = ("category",)
    search_fields = ("title", "slug")
    autocomplete_fields = ("category",)


@admin.register(ExampleQuestion)
class ExampleQuestionAdmin(ModelAdmin):
    list_display = ("text", "category", "intent", "language", "active", "source")
    list_filter = ("category", "active", "language", "source")
    list_select_related = ("category", "intent")
    search_fields = ("text",)
    autocomplete_fields = ("category", "intent")
    readonly_fields = ("source", "updated_at")
    list_per_page = 50
