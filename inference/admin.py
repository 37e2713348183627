"""What became of each answer's run through the engine: read only, written when it ends."""

from typing import Any

from django.contrib import admin
from django.db.models import DurationField, ExpressionWrapper, F, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.decorators import display

from inference.models import Generation

#: An outcome is told by shape, word and colour.
OUTCOME_SHAPES = {
    Generation.Outcome.DONE: "✓",
    Generation.Outcome.STOPPED: "■",
    Generation.Outcome.CLAIMED: "◆",
    Generation.Outcome.GUARDED: "▲",
    Generation.Outcome.EXPIRED: "◷",
    Generation.Outcome.FAILED: "✕",
}


class AttemptsFilter(admin.SimpleListFilter):
    title = "hosts needed"
    parameter_name = "moved"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("no", "One"), ("yes", "Several: it moved")]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Generation]
    ) -> QuerySet[Generation] | None:
        match self.value():
            case "yes":
                return queryset.filter(attempts__gt=1)
            case "no":
                return queryset.filter(attempts__lte=1)
        return None


@admin.register(Generation)
class GenerationAdmin(ModelAdmin):
    """An app that knows the answers registers a subclass that leads to them."""

    list_display: tuple[str, ...] = (
        "outcome_badge",
        "first_token",
        "whole",
        "tokens",
        "model",
        "host",
        "attempts",
        "finished_at",
    )
    list_filter = ("outcome", AttemptsFilter, "model", "host", "finished_at")
    search_fields = ("^answer_id", "host", "^prompt_hash", "reason")
    search_help_text = "Answer, host, prompt or reason"
    date_hierarchy = "finished_at"
    list_per_page = 50
    show_full_result_count = False
    readonly_fields: tuple[str, ...] = ("first_token", "waited", "whole", "speed", "cached")
    fieldsets: Any = (
        (
            None,
            {"fields": (("outcome", "finish_reason"), "reason", ("model", "host"), "attempts")},
        ),
        (
            "Times",
            {
                "fields": (
                    ("first_token", "waited"),
                    ("whole", "speed"),
                    ("queued_at", "started_at"),
                    ("first_token_at", "finished_at"),
                )
            },
        ),
        ("Tokens", {"fields": (("prompt_tokens", "cached"), "output_tokens")}),
        ("Identity", {"fields": ("answer_id", "prompt_hash")}),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Generation]:
        rows: QuerySet[Generation] = super().get_queryset(request)
        return rows.annotate(
            to_first=ExpressionWrapper(
                F("first_token_at") - F("queued_at"), output_field=DurationField()
            ),
            to_end=ExpressionWrapper(
                F("finished_at") - F("queued_at"), output_field=DurationField()
            ),
        )

    @display(
        description="Outcome",
        ordering="outcome",
        label={
            Generation.Outcome.DONE: "success",
            Generation.Outcome.STOPPED: "info",
            Generation.Outcome.CLAIMED: "info",
            Generation.Outcome.GUARDED: "warning",
            Generation.Outcome.EXPIRED: "danger",
            Generation.Outcome.FAILED: "danger",
        },
    )
    def outcome_badge(self, run: Generation) -> tuple[str, str]:
        outcome = Generation.Outcome(run.outcome)
        return outcome.value, f"{OUTCOME_SHAPES[outcome]} {outcome.label}"

    @display(description="First token", ordering="to_first")
    def first_token(self, run: Generation) -> str:
        return _span(run.time_to_first_token_ms)

    @display(description="Waited for a slot")
    def waited(self, run: Generation) -> str:
        return _between(run.queued_at, run.started_at)

    @display(description="Whole answer", ordering="to_end")
    def whole(self, run: Generation) -> str:
        return _between(run.queued_at, run.finished_at)

    @display(description="Speed")
    def speed(self, run: Generation) -> str:
        if run.first_token_at is None or run.finished_at is None or run.output_tokens < 2:
            return "–"
        seconds = (run.finished_at - run.first_token_at).total_seconds()
        return f"{(run.output_tokens - 1) / seconds:.0f} tokens/s" if seconds > 0 else "–"

    @display(description="Tokens in, out")
    def tokens(self, run: Generation) -> str:
        return f"{run.prompt_tokens:,} → {run.output_tokens:,}"

    @display(description="Found in the prefix cache")
    def cached(self, run: Generation) -> str:
        if not run.prompt_tokens:
            return "–"
        return f"{run.cached_tokens:,} ({run.cached_tokens / run.prompt_tokens:.0%})"


def _between(start: Any, end: Any) -> str:
    return _span((end - start).total_seconds() * 1000 if start and end else None)


def _span(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "–"
    return f"{milliseconds:,.0f} ms" if milliseconds < 10_000 else f"{milliseconds / 1000:,.1f} s"
