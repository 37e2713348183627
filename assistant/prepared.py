"""What can be said without the model: a category's fixed reply, or an answer from the cache."""

import logging
import threading
import time

from django.db import DatabaseError, InterfaceError

from assistant import answer_cache, replies
from assistant.models import Category
from assistant.replies import Reply
from assistant.understanding import Understanding
from orders.selectors import OrderFacts

logger = logging.getLogger(__name__)

#: Seconds for which fixed replies are kept in memory: an edit is live everywhere within them.
_FRESH_S = 0.5


class FixedReplies:
    """The categories that always get the same words, read at most twice a second."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._read_at = float("-inf")
        self._reading = threading.Lock()

    def text_for(self, category: str) -> str:
        """The category's fixed reply, empty if it has none."""
        due = time.monotonic() - self._read_at > _FRESH_S
        if due and self._reading.acquire(blocking=False):
            try:
                rows = Category.objects.filter(active=True).exclude(fixed_reply="")
                self._texts = dict(rows.values_list("slug", "fixed_reply"))
                self._read_at = time.monotonic()
            except (DatabaseError, InterfaceError) as error:
                logger.warning("fixed replies could not be read, the last ones go on: %s", error)
            finally:
                self._reading.release()
        return self._texts.get(category, "")


_fixed = FixedReplies()


def prepared(meaning: Understanding, facts: OrderFacts | None, language: str) -> Reply | None:
    """The reply to a question that needs no model; None when the model must answer.

    A category with a fixed reply gets it however sure the label is: such a question must never
    be answered freely. The cache answers only what is sure.
    """
    if text := _fixed.text_for(meaning.category):
        return replies.fixed(text.strip(), meaning.category)
    if not meaning.sure:
        return None
    hit = answer_cache.find(meaning.category, meaning.intent, facts, language)
    return replies.from_cache(hit.text, meaning.category) if hit else None
