"""Editing the prompt's parts: what a change would cost, and who may change next.

The rows of system text, policies and examples are the draft; `prompts.publish_prefix` makes them
the prompt in force. Whoever edits locks first, so that two editors cannot each fit into the budget
and pass it together, and publishes in the same transaction.
"""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from assistant import prompts
from assistant.models import PromptVersion
from inference.errors import InferenceError


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens of the parts as they stand; `problem` says why they could not be counted."""

    used: int
    limit: int
    problem: str = ""

    @property
    def left(self) -> int:
        return max(0, self.limit - self.used)

    @property
    def over(self) -> bool:
        return self.used > self.limit

    @property
    def percent(self) -> int:
        return min(100, round(100 * self.used / self.limit))


def budget() -> Budget:
    limit = settings.ASSISTANT_PREFIX_TOKEN_BUDGET
    try:
        return Budget(prompts.edited_prefix().tokens(prompts.tokenizer()), limit)
    except InferenceError as error:
        return Budget(0, limit, str(error))


def tokens_of(*texts: str) -> int | None:
    """Tokens of a part's own texts; None while the model is not prepared."""
    try:
        return sum(prompts.tokenizer().count(text) for text in texts)
    except InferenceError:
        return None


def lock() -> None:
    """One editor at a time, until the end of the transaction."""
    # Always the same row; SQLite ignores this and lets one transaction at a time write anyway.
    list(PromptVersion.objects.select_for_update().order_by("pk")[:1])


def try_out(change: Callable[[], object]) -> int:
    """Tokens of the whole prefix after `change`, which is taken back.

    Raises `PromptPartTooLong`, or `ModelNotPrepared` when nothing can be counted.
    """
    with transaction.atomic():
        change()
        tokens = prompts.check_budget(prompts.edited_prefix())
        transaction.set_rollback(True)
    return tokens
