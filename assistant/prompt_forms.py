"""The admin's forms for the prompt's parts: refused where the whole would pass the token budget."""

import copy
from collections.abc import Callable
from typing import Any

from django import forms
from django.db.models import Model

from assistant import prompt_editing
from assistant.errors import PromptPartTooLong
from inference.errors import InferenceError


def _check(change: Callable[[], object]) -> None:
    try:
        prompt_editing.try_out(change)
    except PromptPartTooLong as error:
        raise forms.ValidationError(str(error), code=error.code) from error
    except InferenceError as error:
        raise forms.ValidationError(
            f"The prompt’s length cannot be counted, so nothing can be saved. {error}",
            code="not_counted",
        ) from error


class PromptPartForm(forms.ModelForm):  # type: ignore[type-arg]
    """One part, on its own page."""

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name, value in cleaned.items():
            if isinstance(value, str):
                # A browser sends CRLF; saving an untouched page must not change the prompt.
                cleaned[name] = value.replace("\r\n", "\n").replace("\r", "\n")
        if not self.errors:
            trial = copy.copy(self.instance)
            forms.models.construct_instance(self, trial, self._meta.fields, self._meta.exclude)
            _check(trial.save)
        return cleaned


class PromptListFormSet(forms.BaseModelFormSet):  # type: ignore[type-arg]
    """Order and switches of all parts at once, in the list: only the outcome counts."""

    def clean(self) -> None:
        super().clean()
        if not any(self.errors):
            _check(self._save_copies)

    def _save_copies(self) -> None:
        rows: list[Model] = [form.instance for form in self.forms if form.has_changed()]
        for row in rows:
            copy.copy(row).save()
