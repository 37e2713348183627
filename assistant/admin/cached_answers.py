"""Cached answers: written beside a preview, published, compared, rolled back."""

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.db.models import DateTimeField, OuterRef, QuerySet, Subquery, Sum
from django.forms import SplitDateTimeField
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import Truncator
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSplitDateTimeVerticalWidget

from assistant import answer_matrix, answer_previews, cached_answers
from assistant.admin.answer_pages import AnswerPages
from assistant.cached_answer_forms import CachedAnswerForm
from assistant.cached_answers import State
from assistant.errors import CachedAnswerError
from assistant.models import (
    AnswerCacheVersion,
    CachedAnswer,
    CachedAnswerHits,
    CachedAnswerVersion,
)
from orders.admin import Badge, ReadOnlyMixin, page_of

STATE_SHAPES = {State.LIVE: "●", State.DRAFT: "◌", State.RETIRED: "✕"}


@admin.register(CachedAnswer)
class CachedAnswerAdmin(AnswerPages, ModelAdmin):
    form = CachedAnswerForm
    change_form_template = "admin/assistant/cachedanswer/editor.html"
    list_before_template = "admin/assistant/cachedanswer/rooms.html"
    warn_unsaved_form = True
    list_display = (
        "category",
        "intent",
        "place_text",
        "state_badge",
        "words",
        "hits_text",
        "language",
        "updated_at",
    )
    list_filter = ("state", "category", "order_status", "delivery_state", "language")
    list_select_related = ("category", "intent", "current")
    list_per_page = 100
    show_full_result_count = False
    search_fields = ("versions__template", "category__title", "category__slug", "intent__title")
    search_help_text = "Words of an answer or of its category"
    formfield_overrides = {
        DateTimeField: {
            "form_class": SplitDateTimeField,
            "widget": UnfoldAdminSplitDateTimeVerticalWidget,
        }
    }
    actions = ("publish_chosen", "retire_chosen")
    fieldsets = (
        (None, {"fields": ("template", "seen")}),
        (
            "Given for",
            {
                "fields": (
                    "category",
                    "intent",
                    "order_status",
                    "delivery_state",
                    "valid_until",
                    "language",
                )
            },
        ),
    )

    # ---- the list -------------------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[CachedAnswer]:
        rows: QuerySet[CachedAnswer] = super().get_queryset(request)
        since = timezone.now().date() - timedelta(days=answer_matrix.HITS_DAYS)
        hits = CachedAnswerHits.objects.filter(answer=OuterRef("pk"), day__gt=since)
        counted = hits.order_by().values("answer").annotate(sum=Sum("count")).values("sum")
        found: QuerySet[CachedAnswer] = answer_matrix.with_newest(rows)
        return found.annotate(hit_count=Subquery(counted))

    @display(description="State of the order", ordering="order_status")
    def place_text(self, answer: CachedAnswer) -> str:
        return answer.place.capitalize()

    @display(
        description="State",
        ordering="state",
        label={State.LIVE: "success", State.DRAFT: "info", State.RETIRED: "warning"},
    )
    def state_badge(self, answer: CachedAnswer) -> Badge:
        state = State(answer.state)
        return state.value, f"{STATE_SHAPES[state]} {state.label}"

    @display(description="Answer")
    def words(self, answer: Any) -> str:
        return Truncator(answer.newest_text or "").chars(110)

    @display(description=f"Hits, {answer_matrix.HITS_DAYS} days", ordering="hit_count")
    def hits_text(self, answer: Any) -> int:
        return answer.hit_count or 0

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        actions: dict[str, Any] = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return cached_answers.may_publish(request.user)

    @admin.action(description="Publish the newest version", permissions=["publish"])
    def publish_chosen(self, request: HttpRequest, queryset: QuerySet[CachedAnswer]) -> None:
        self._each(request, queryset, cached_answers.publish, "Published")

    @admin.action(description="Retire", permissions=["publish"])
    def retire_chosen(self, request: HttpRequest, queryset: QuerySet[CachedAnswer]) -> None:
        self._each(request, queryset, cached_answers.retire, "Retired")

    def _each(
        self, request: HttpRequest, queryset: QuerySet[CachedAnswer], act: Any, done: str
    ) -> None:
        count = 0
        for answer in queryset:
            try:
                act(answer, author=request.user)
            except CachedAnswerError as error:
                self.message_user(request, f"{answer}: {error}", messages.ERROR)
            else:
                count += 1
                self.log_change(request, answer, f"{done}.")
        self.message_user(request, f"{count} {done.lower()}.")

    # ---- one answer -----------------------------------------------------------------------------

    @display(description="Answer")
    def template(self, answer: CachedAnswer) -> str:
        """For those who may only look."""
        newest = cached_answers.newest_version(answer)
        return format_html('<p class="qb-prose">{}</p>', newest.template if newest else "–")

    @display(description="Version")
    def seen(self, answer: CachedAnswer) -> int | None:
        newest = cached_answers.newest_version(answer)
        return newest.number if newest else None

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and (obj is None or obj.current_id is None)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kw: Any
    ) -> Any:
        if not self.has_change_permission(request, obj):
            kw["fields"] = []
        form = super().get_form(request, obj, change=change, **kw)
        return type(form.__name__, (form,), {"user": request.user})

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        answer = CachedAnswer.objects.filter(pk=object_id).first() if object_id else None
        context = {
            **(extra_context or {}),
            "samples": answer_previews.samples(),
            "placeholders": answer_previews.values(None),
            "may_publish": cached_answers.may_publish(request.user),
            "answer": answer,
            "newest": cached_answers.newest_version(answer) if answer else None,
            "state": f"{STATE_SHAPES[State(answer.state)]} {answer.get_state_display()}"
            if answer
            else "",
            "max_chars": 1000,
        }
        try:
            response: HttpResponse = super().changeform_view(request, object_id, form_url, context)
        except CachedAnswerError as error:
            # What the form could not know: someone was faster by a moment.
            self.message_user(request, f"Nothing was changed. {error}", messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        return response

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        values = form.cleaned_data
        author: Any = request.user
        shared = {"author": author, "valid_until": values["valid_until"]}
        if change:
            answer = CachedAnswer.objects.get(pk=obj.pk)
            cached_answers.save(
                answer, values["template"], seen=values["seen"], place=form.place(), **shared
            )
        else:
            answer = cached_answers.create(form.place(), values["template"], **shared)
        if form.publishing:
            cached_answers.publish(answer, author=author)
            self.message_user(request, "Published: every new question gets it from now on.")
        obj.__dict__.update(answer.__dict__)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        message = super().construct_change_message(request, form, formsets, add)
        return [*message, {"changed": {"fields": ["published"]}}] if form.publishing else message

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        if "_publish" in request.POST:
            return HttpResponseRedirect(self._page(obj))
        response: HttpResponse = super().response_change(request, obj)
        return response

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        if "_publish" in request.POST:
            return HttpResponseRedirect(self._page(obj))
        response: HttpResponse = super().response_add(request, obj, post_url_continue)
        return response

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Its versions go along with a draft, though nobody may delete one alone."""
        deleted, counts, _, protected = super().get_deleted_objects(objs, request)
        return deleted, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        cached_answers.delete(obj, author=request.user)  # type: ignore[arg-type]

    def _page(self, answer: CachedAnswer) -> str:
        return reverse("admin:assistant_cachedanswer_change", args=[answer.pk])


@admin.register(CachedAnswerVersion)
class CachedAnswerVersionAdmin(ReadOnlyMixin, ModelAdmin):
    list_display = ("answer_link", "number", "words", "author", "note", "created_at")
    list_select_related = ("answer__category", "answer__intent", "author")
    search_fields = ("template", "author__username")
    ordering = ("-pk",)
    list_filter = ("author", "created_at")

    @display(description="Answer")
    def answer_link(self, version: CachedAnswerVersion) -> str:
        return page_of(version.answer)

    @display(description="Text")
    def words(self, version: CachedAnswerVersion) -> str:
        return Truncator(version.template).chars(110)


@admin.register(CachedAnswerHits)
class CachedAnswerHitsAdmin(ReadOnlyMixin, ModelAdmin):
    list_display = ("answer", "day", "count")
    list_select_related = ("answer__category", "answer__intent")
    date_hierarchy = "day"


@admin.register(AnswerCacheVersion)
class AnswerCacheVersionAdmin(ReadOnlyMixin, ModelAdmin):
    """What every web server compares with: whether its answers are the newest."""

    list_display = ("number", "changed_at")
