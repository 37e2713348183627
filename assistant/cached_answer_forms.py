"""The admin's forms for cached answers; what they accept, `cached_answers` accepts."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from unfold.widgets import UnfoldAdminTextareaWidget

from assistant import cached_answers
from assistant.cached_answers import Place, State
from assistant.errors import AnswerChanged, CachedAnswerError, InvalidTemplate, KeyTaken
from assistant.models import CachedAnswer, Intent


class CachedAnswerForm(forms.ModelForm):  # type: ignore[type-arg]
    """One answer with its newest text; `user` is set by the admin."""

    user: Any = None

    template = forms.CharField(
        label="Answer",
        strip=False,
        required=False,  # an empty one is refused in the words of the others
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 9, "spellcheck": "true"}),
        help_text="Plain text. Placeholders such as {{ eta_time }} are filled from the order.",
    )
    #: The number of the version that the editor saw.
    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = CachedAnswer
        fields = (
            "category",
            "intent",
            "order_status",
            "delivery_state",
            "language",
            "valid_until",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "template" in self.fields:
            self._fill()

    def _fill(self) -> None:
        if "intent" in self.fields:
            intents: QuerySet[Intent] = Intent.objects.select_related("category")
            field: Any = self.fields["intent"]
            field.queryset = intents
            field.label_from_instance = lambda row: f"{row.category.title} / {row.title}"
            field.empty_label = "The whole category"
        for name in ("category", "intent"):
            if name in self.fields:
                widget: Any = self.fields[name].widget
                widget.can_add_related = widget.can_change_related = False
                widget.can_delete_related = widget.can_view_related = False
        if self.instance.pk:
            newest = cached_answers.newest_version(self.instance)
            self.initial.setdefault("template", newest.template if newest else "")
            self.initial.setdefault("seen", newest.number if newest else None)

    @property
    def publishing(self) -> bool:
        return "_publish" in self.data

    def place(self) -> Place:
        values = self.cleaned_data
        return Place(
            category=values["category"],
            intent=values.get("intent"),
            order_status=values["order_status"],
            delivery_state=values["delivery_state"],
            language=values["language"],
        )

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return values
        place = self.place()
        try:
            cached_answers.check_place(place)
        except CachedAnswerError as error:
            self.add_error("delivery_state", error.text)
        try:
            values["template"] = cached_answers.check_template(values["template"], place)
        except InvalidTemplate as error:
            for problem in error.problems:
                self.add_error("template", problem)
        try:
            self._check_state(place, values)
        except CachedAnswerError as error:
            self.add_error(None, error.text)
        return values

    def _check_state(self, place: Place, values: dict[str, Any]) -> None:
        row = CachedAnswer.objects.filter(pk=self.instance.pk).first() if self.instance.pk else None
        newest = cached_answers.newest_version(row) if row else None
        if newest is not None and values.get("seen") not in (None, newest.number):
            # What they compare with is the newest now; saving again takes it on.
            self.data = {
                **{name: self.data[name] for name in self.data},
                "seen": str(newest.number),
            }
            raise AnswerChanged(f"{AnswerChanged.text} It says now: {newest.template}")
        stays_live = row is not None and row.state == State.LIVE
        if self.publishing or stays_live:
            others = CachedAnswer.objects.filter(
                category=place.category,
                intent=place.intent,
                order_status=place.order_status,
                delivery_state=place.delivery_state,
                language=place.language,
                state=State.LIVE,
            )
            other = others.exclude(pk=self.instance.pk).first()
            if other is not None:
                raise KeyTaken(other.pk)


class ImportForm(forms.Form):
    file = forms.FileField(error_messages={"required": "Please choose a CSV file."})
