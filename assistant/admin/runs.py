"""The engine's runs with the ways to their answers, and the runs of periodic tasks."""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.decorators import display

from assistant.admin.conversations import place_of
from assistant.models import Message, PeriodicRun, PromptVersion
from inference.admin import GenerationAdmin
from inference.models import Generation
from orders.admin import ReadOnlyMixin, page_of

admin.site.unregister(Generation)


@admin.register(Generation)
class AnswerGenerationAdmin(GenerationAdmin):
    list_display = (*GenerationAdmin.list_display[:1], "answer", *GenerationAdmin.list_display[1:])
    readonly_fields = (*GenerationAdmin.readonly_fields, "answer", "prompt")
    fieldsets = (("Answer", {"fields": ("answer", "prompt")}), *GenerationAdmin.fieldsets)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Generation]:
        answer = Message.objects.filter(public_id=OuterRef("answer_id"))
        return (
            super()
            .get_queryset(request)
            .annotate(
                conversation_id=Subquery(answer.values("conversation_id")[:1]),
                answer_seq=Subquery(answer.values("seq")[:1]),
                customer_name=Subquery(answer.values("customer__name")[:1]),
            )
        )

    @display(description="Answer to")
    def answer(self, run: Any) -> str:
        if run.conversation_id is None:
            return "(erased)"
        return place_of(run.conversation_id, run.answer_seq, run.customer_name)

    @display(description="Prompt")
    def prompt(self, run: Generation) -> str:
        return page_of(PromptVersion.objects.filter(hash=run.prompt_hash).first())


@admin.register(PeriodicRun)
class PeriodicRunAdmin(ReadOnlyMixin, ModelAdmin):
    list_display = ("task", "slot", "claimed_at")
    list_filter = ("task",)
    ordering = ("-claimed_at",)
    list_per_page = 50
    show_full_result_count = False
    fields = ("task", "slot", "claimed_at")
