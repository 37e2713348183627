"""The pages around cached answers: matrix, history, preview, test box, files in and out."""

import base64
from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.admin.models import LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone

from assistant import answer_matrix, answer_previews, cached_answer_files, cached_answers, word_diff
from assistant.cached_answer_forms import ImportForm
from assistant.cached_answer_selectors import cache_version
from assistant.errors import CachedAnswerError
from assistant.models import CachedAnswer

View = Callable[..., HttpResponse]


class AnswerPages:
    """Mixed into `CachedAnswerAdmin`; everything needs the right to see or to change answers."""

    admin_site: Any
    has_view_permission: Any
    has_change_permission: Any
    message_user: Any
    log_change: Any

    def get_urls(self) -> list[Any]:
        pages = (
            ("matrix/", self.matrix_view, "matrix"),
            ("test/", self.test_view, "test"),
            ("export/", self.export_view, "export"),
            ("import/", self.import_view, "import"),
            ("preview/", self.preview_view, "preview"),
            ("<int:pk>/retire/", self.retire_view, "retire"),
            ("<int:pk>/roll-back/<int:number>/", self.roll_back_view, "roll_back"),
        )
        own = [
            path(
                route,
                self.admin_site.admin_view(self._guarded(view)),
                name=f"assistant_cachedanswer_{name}",
            )
            for route, view, name in pages
        ]
        return [*own, *super().get_urls()]  # type: ignore[misc]

    def _guarded(self, view: View) -> View:
        def guarded(request: HttpRequest, **kwargs: Any) -> HttpResponse:
            if not self.has_view_permission(request):
                raise PermissionDenied
            return view(request, **kwargs)

        return guarded

    def _page_context(self, request: HttpRequest, title: str, **more: Any) -> dict[str, Any]:
        return {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": CachedAnswer._meta,
            "may_change": self.has_change_permission(request),
            "may_publish": cached_answers.may_publish(request.user),
            **more,
        }

    def _render(self, request: HttpRequest, name: str, title: str, **more: Any) -> HttpResponse:
        context = self._page_context(request, title, **more)
        return TemplateResponse(request, f"admin/assistant/cachedanswer/{name}.html", context)

    # ---- reading --------------------------------------------------------------------------------

    def matrix_view(self, request: HttpRequest) -> HttpResponse:
        found = answer_matrix.matrix(request.GET.get("language") or "en")
        shapes = [
            ("live", "live for this state"),
            ("shared", "live, shared with others"),
            ("stale", "live, due for a look"),
            ("draft", "only a draft"),
            ("missing", "missing: the model answers"),
        ]
        legend = [(answer_matrix.SHAPES[state], state, text) for state, text in shapes]
        return self._render(
            request,
            "matrix",
            "Answers by category and state",
            matrix=found,
            legend=legend,
            days=answer_matrix.HITS_DAYS,
        )

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Every version with what it changed, and who did what when."""
        answer = self._answer(object_id)
        if not self.has_view_permission(request, answer):
            raise PermissionDenied
        versions = list(answer.versions.select_related("author").order_by("-number"))
        # The first one changed nothing.
        older = [version.template for version in (*versions[1:], *versions[-1:])]
        lines = [
            (version, word_diff.diff(old, version.template))
            for version, old in zip(versions, older, strict=True)
        ]
        log = LogEntry.objects.filter(
            object_id=str(answer.pk), content_type=get_content_type_for_model(answer)
        ).select_related("user")
        return self._render(
            request, "history", f"History of {answer}", answer=answer, lines=lines, log=log[:100]
        )

    def test_view(self, request: HttpRequest) -> HttpResponse:
        question, number = request.GET.get("question", "").strip()[:2000], request.GET.get("order")
        samples = answer_previews.samples()
        number = number if number is not None else (samples[0].number if samples else "")
        facts = answer_previews.facts_of_number(number)
        trial = answer_previews.try_question(question, facts) if question else None
        return self._render(
            request,
            "test",
            "Try a question",
            question=question,
            number=number,
            samples=samples,
            facts=facts,
            trial=trial,
            ready=answer_previews.understander() is not None,
        )

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """For the editor's script: what a customer would read, and every placeholder's value."""
        if request.method != "POST":
            raise Http404
        facts = answer_previews.facts_of_number(request.POST.get("order", ""))
        shown = answer_previews.preview(request.POST.get("template", "")[:5000], facts)
        values = {each.name: value for each, value in answer_previews.values(facts)}
        return JsonResponse(
            {
                "text": shown.text,
                "problems": shown.problems,
                "misfit": shown.misfit,
                "values": values,
            }
        )

    # ---- changing -------------------------------------------------------------------------------

    def retire_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        return self._act(
            request,
            pk,
            "Retired.",
            lambda answer, author: cached_answers.retire(answer, author=author),
        )

    def roll_back_view(self, request: HttpRequest, pk: int, number: int) -> HttpResponse:
        return self._act(
            request,
            pk,
            f"Rolled back to version {number}; it is live.",
            partial(cached_answers.roll_back, number=number),
        )

    def _act(
        self, request: HttpRequest, pk: int, done: str, act: Callable[..., Any]
    ) -> HttpResponse:
        if request.method != "POST":
            raise Http404
        answer = self._answer(pk)
        if not self.has_change_permission(request, answer):
            raise PermissionDenied
        try:
            act(answer, author=request.user)
        except CachedAnswerError as error:
            self.message_user(request, str(error), messages.ERROR)
        else:
            self.log_change(request, answer, done)
            self.message_user(request, done)
        back = "history" if "roll-back" in request.path else "change"
        return HttpResponseRedirect(reverse(f"admin:assistant_cachedanswer_{back}", args=[pk]))

    def _answer(self, pk: Any) -> CachedAnswer:
        rows = CachedAnswer.objects.select_related("category", "intent", "current")
        answer = rows.filter(pk=pk).first() if str(pk).isdecimal() and len(str(pk)) < 19 else None
        if answer is None:
            raise Http404
        return answer

    # ---- files ----------------------------------------------------------------------------------

    def export_view(self, request: HttpRequest) -> HttpResponse:
        # With a byte order mark, which spreadsheets need to read UTF-8.
        response = HttpResponse(
            "\ufeff" + cached_answer_files.export(), content_type="text/csv; charset=utf-8"
        )
        name = f"cached-answers-{timezone.now():%Y-%m-%d}.csv"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        return response

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """A file is tried out first; the page with the difference carries it to the second step."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        posted = request.method == "POST"
        form = ImportForm(request.POST, request.FILES) if posted else ImportForm()
        data = self._uploaded(request, form)
        if data is None:
            return self._render(
                request, "import", "Import answers", form=form, columns=cached_answer_files.COLUMNS
            )
        author: Any = request.user
        version = str(cache_version()[1])
        confirmed = "confirm" in request.POST and request.POST.get("version") == version
        run = cached_answer_files.import_csv if confirmed else cached_answer_files.try_out
        outcome = run(data, author=author)
        if outcome.applied:
            self.message_user(request, f"{len(outcome.changing)} answers imported.")
            return HttpResponseRedirect(reverse("admin:assistant_cachedanswer_changelist"))
        return self._render(
            request,
            "import",
            "Import answers",
            form=form,
            columns=cached_answer_files.COLUMNS,
            outcome=outcome,
            payload=base64.b64encode(data).decode(),
            version=version,
            overtaken="confirm" in request.POST and not confirmed and not outcome.errors,
        )

    def _uploaded(self, request: HttpRequest, form: ImportForm) -> bytes | None:
        if request.method != "POST":
            return None
        if "confirm" in request.POST:
            try:
                return base64.b64decode(request.POST.get("payload", ""), validate=True)
            except ValueError:
                return b""
        if not form.is_valid():
            return None
        upload = form.cleaned_data["file"]
        data: bytes = upload.read(cached_answer_files.MAX_BYTES + 1)
        return data
