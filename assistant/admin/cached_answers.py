"""Cached answers: the staff editor's main room."""

from django.contrib import admin
from unfold.admin import ModelAdmin

from assistant.models import (
    AnswerCacheVersion,
    CachedAnswer,
    CachedAnswerHits,
    CachedAnswerVersion,
)
from orders.admin import ReadOnlyMixin


@admin.register(CachedAnswer)
class CachedAnswerAdmin(ReadOnlyMixin, ModelAdmin):
    list_display = ("__str__", "state", "language", "valid_until", "updated_at")
    list_filter = ("state", "category", "language")
    list_select_related = ("category", "intent")


@admin.register(CachedAnswerVersion)
class CachedAnswerVersionAdmin(ReadOnlyMixin, ModelAdmin):
    list_display = ("answer", "number", "template", "author", "created_at")


@admin.register(CachedAnswerHits)
class CachedAnswerHitsAdmin(ReadOnlyMixin, ModelAdmin):
    list_display = ("answer", "day", "count")


@admin.register(AnswerCacheVersion)
class AnswerCacheVersionAdmin(ReadOnlyMixin, ModelAdmin):
    list_display = ("number", "changed_at")
