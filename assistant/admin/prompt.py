"""The parts of the prompt, to edit, and the prompts that came of them, to read."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Max, Model, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from unfold.admin import ModelAdmin
from unfold.decorators import display

from assistant import prompt_editing, prompts
from assistant.errors import PromptPartTooLong
from assistant.models import Policy, PromptExample, PromptVersion, SystemText
from assistant.prompt_forms import PromptListFormSet, PromptPartForm
from inference.errors import InferenceError
from orders.admin import ReadOnlyPage


class PromptPartAdmin(ModelAdmin):
    """Every change is checked against the token budget and published as it is saved."""

    form = PromptPartForm
    warn_unsaved_form = True
    list_before_template = "admin/assistant/budget.html"
    change_form_before_template = "admin/assistant/budget.html"

    # Django's transactions end before the prompt is published, so each way of changing a row is
    # held in one that ends after.

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        view = super().changeform_view
        context = self._budget(extra_context)
        return self._publishing(request, lambda: view(request, object_id, form_url, context))

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        view = super().delete_view
        return self._publishing(request, lambda: view(request, object_id, extra_context))

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        view = super().changelist_view
        context = self._budget(extra_context)
        return self._publishing(request, lambda: view(request, context))

    def _budget(self, extra_context: dict[str, Any] | None) -> dict[str, Any]:
        in_force = PromptVersion.objects.order_by("-current_since", "-pk").first()
        return {
            **(extra_context or {}),
            "budget": prompt_editing.budget(),
            "in_force": in_force,
            "published": in_force is None or in_force.hash == prompts.edited_prefix().hash,
        }

    def _publishing(self, request: HttpRequest, view: Callable[[], HttpResponse]) -> HttpResponse:
        if request.method != "POST":
            return view()
        version = None
        try:
            with transaction.atomic():
                prompt_editing.lock()
                response = view()
                if getattr(request, "prompt_changed", False):
                    version = prompts.publish_prefix()
        except (PromptPartTooLong, InferenceError) as error:
            self.message_user(request, f"Nothing was changed. {error}", messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        if version is not None:
            self.message_user(
                request,
                f"From now on every answer uses prompt {version} ({version.tokens:,} tokens).",
            )
        return response

    def save_model(self, request: HttpRequest, obj: Model, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        request.prompt_changed = True  # type: ignore[attr-defined]

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        super().delete_model(request, obj)
        self._changed(request)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        super().delete_queryset(request, queryset)
        self._changed(request)

    def _changed(self, request: HttpRequest) -> None:
        """Without a form that asked before: refuse now, before anything is said to be done."""
        prompts.check_budget(prompts.edited_prefix())
        request.prompt_changed = True  # type: ignore[attr-defined]


class OrderedPartAdmin(PromptPartAdmin):
    list_editable = ("active",)
    list_filter = ("active",)
    ordering_field = "position"
    hide_ordering_field = True
    ordering = ("position", "id")
    list_per_page = 100
    actions = ("switch_on", "switch_off")

    def get_changelist_formset(self, request: HttpRequest, **kwargs: Any) -> Any:
        return super().get_changelist_formset(request, formset=PromptListFormSet, **kwargs)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        last = self.model.objects.aggregate(last=Max("position"))["last"]
        return {"position": (last or 0) + 10}

    @admin.action(description="Switch on", permissions=["change"])
    def switch_on(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._switch(request, queryset, on=True)

    @admin.action(description="Switch off", permissions=["change"])
    def switch_off(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._switch(request, queryset, on=False)

    def _switch(self, request: HttpRequest, queryset: QuerySet[Any], *, on: bool) -> None:
        rows = list(queryset.filter(active=not on))
        for row in rows:
            row.active = on
            row.save()
            self.log_change(request, row, f"Switched {'on' if on else 'off'}.")
        self._changed(request)
        self.message_user(request, f"{len(rows)} switched {'on' if on else 'off'}.")


def _tokens(*texts: str) -> str:
    count = prompt_editing.tokens_of(*texts)
    return "–" if count is None else f"{count:,}"


@admin.register(SystemText)
class SystemTextAdmin(PromptPartAdmin):
    list_display = ("__str__", "tokens", "updated_at")
    fields = ("text",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and not SystemText.objects.exists()

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """There is one: its page, not a list of it."""
        rows = list(SystemText.objects.values_list("pk", flat=True)[:2])
        if len(rows) == 1 and request.method == "GET":
            return redirect("admin:assistant_systemtext_change", rows[0])
        return super().changelist_view(request, extra_context)

    @display(description="Tokens")
    def tokens(self, part: SystemText) -> str:
        return _tokens(part.text)


@admin.register(Policy)
class PolicyAdmin(OrderedPartAdmin):
    list_display = ("title", "position", "text", "tokens", "active", "updated_at")
    search_fields = ("title", "text")
    fields = ("title", "text", ("position", "active"))

    @display(description="Tokens")
    def tokens(self, part: Policy) -> str:
        return _tokens(part.text)


@admin.register(PromptExample)
class PromptExampleAdmin(OrderedPartAdmin):
    list_display = ("question", "position", "answer", "tokens", "active", "updated_at")
    search_fields = ("question", "facts", "answer")
    fields = ("question", "facts", "answer", ("position", "active"))

    @display(description="Tokens")
    def tokens(self, part: PromptExample) -> str:
        return _tokens(part.question, part.facts, part.answer)


@admin.register(PromptVersion)
class PromptVersionAdmin(ReadOnlyPage):
    list_display = ("short_hash", "in_force", "tokens", "current_since", "created_at", "runs")
    search_fields = ("^hash", "system")
    search_help_text = "Hash, or words of the system text"
    change_form_template = "admin/assistant/promptversion/prompt.html"
    fields = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[PromptVersion]:
        rows: QuerySet[PromptVersion] = super().get_queryset(request)
        newest = PromptVersion.objects.order_by("-current_since", "-pk").values("pk")[:1]
        return rows.annotate(current=Subquery(newest))

    def page_context(self, request: HttpRequest, row: PromptVersion) -> dict[str, Any]:
        return {
            "version": row,
            "in_force": self.in_force(row) is not None,
            "runs": self.runs(row),
            "title": f"Prompt {row}",
        }

    @display(description="Prompt", ordering="hash")
    def short_hash(self, version: PromptVersion) -> str:
        return str(version)

    @display(description="In force", label={"yes": "success"})
    def in_force(self, version: Any) -> tuple[str, str] | None:
        return ("yes", "● In force") if version.pk == version.current else None

    @display(description="Engine runs")
    def runs(self, version: PromptVersion) -> str:
        url = f"{reverse('admin:inference_generation_changelist')}?q={version.hash}"
        return format_html('<a class="qb-link" href="{}">Show</a>', url)
