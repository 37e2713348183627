"""Answers that staff wrote, from memory: which one fits, filled with this order's facts.

Every process holds all live answers as one immutable snapshot; a question never waits for the
database. No customer's data is in it: templates only, filled at the moment of reading.

What changes the answers raises the one `AnswerCacheVersion` row in the same transaction and
announces it (`answer_news`) once committed. A web server (`start`) listens in a thread of its own
and compares versions every `ANSWER_CACHE_CHECK_S` besides, so a lost message costs less than a
second, and a lost database or Redis nothing: the answers in memory go on. A process without the
thread, a command or a worker, compares versions as it reads.
"""

import atexit
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from django.utils import timezone

from assistant import cached_answer_selectors, cached_answers
from assistant.answer_news import Bell
from assistant.answer_templates import NoValue, Template
from assistant.models.cached_answers import ANY, NO_ORDER
from orders.facts import OrderFacts

logger = logging.getLogger(__name__)

#: Category, sub-intent or "", order status, delivery state, language.
Key = tuple[str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    answer_id: int
    version: int
    template: Template
    valid_until: datetime | None = None
    #: Whether the category, or sub-intent, may be answered without the model.
    may_cache: bool = True

    def expired(self, now: datetime) -> bool:
        return self.valid_until is not None and now >= self.valid_until


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All live answers as of a version; never changed."""

    version: tuple[int, UUID]
    answers: dict[Key, LiveAnswer] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hit:
    """An answer ready to send. `version` is the number of the template's version."""

    text: str
    answer_id: int
    version: int
    key: Key


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a look into the cache found, and why in words for staff."""

    hit: Hit | None
    why: str
    answer_id: int | None = None


class AnswerCache:
    """One for each process."""

    def __init__(self) -> None:
        self._snapshot: Snapshot | None = None
        self._loading = threading.Lock()
        self._checked = float("-inf")
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._hits: Counter[tuple[int, Any]] = Counter()
        self._counting = threading.Lock()

    # ---- reading ----------------------------------------------------------------------------

    def look_up(
        self, category: str, intent: str, facts: OrderFacts | None, language: str
    ) -> Lookup:
        """The most exact live answer, rendered; never raises, and never counts as a hit."""
        snapshot = self.snapshot()
        if snapshot is None:
            return Lookup(None, "The answers could not be loaded yet.")
        now = timezone.now()
        for key in keys(category, intent, facts, language):
            answer = snapshot.answers.get(key)
            if answer is None or answer.expired(now):
                continue
            if not answer.may_cache:
                return Lookup(None, "This category may not be answered from the cache.")
            return _render(answer, key, facts)
        return Lookup(None, "No live answer for this category and state of the order.")

    def find(
        self, category: str, intent: str, facts: OrderFacts | None, language: str
    ) -> Hit | None:
        """`look_up`, counted as given."""
        hit = self.look_up(category, intent, facts, language).hit
        if hit is not None:
            with self._counting:
                self._hits[hit.answer_id, timezone.now().date()] += 1
        return hit

    def near(
        self,
        ranked: Sequence[tuple[str, str]],
        facts: OrderFacts | None,
        language: str,
        *,
        limit: int = 3,
    ) -> list[Hit]:
        """Answers for the most likely (category, intent) pairs in this order's state, for notes.

        Best first, each text once, also of categories that may not be cached; nothing is counted.
        """
        snapshot = self.snapshot()
        if snapshot is None:
            return []
        now = timezone.now()
        found: dict[str, Hit] = {}
        for category, intent in ranked:
            if len(found) == limit:
                break
            for key in keys(category, intent, facts, language):
                answer = snapshot.answers.get(key)
                if answer is not None and not answer.expired(now):
                    if hit := _render(answer, key, facts).hit:
                        found.setdefault(hit.text, hit)
                    break
        return list(found.values())

    # ---- staying up to date -----------------------------------------------------------------

    def snapshot(self) -> Snapshot | None:
        """The answers in memory; looks for newer ones first where no thread does."""
        running = self._thread is not None and self._thread.is_alive()
        due = time.monotonic() - self._checked >= settings.ANSWER_CACHE_CHECK_S
        if self._snapshot is None or (due and not running):
            self.refresh()
        return self._snapshot

    def refresh(self) -> bool:
        """Load the answers if they have changed; False when the database could not be asked.

        One caller at a time asks; the others go on with what they have.
        """
        if not self._loading.acquire(blocking=self._snapshot is None):
            return True
        try:
            version = cached_answer_selectors.cache_version()
            if self._snapshot is None or self._snapshot.version != version:
                self._snapshot = load(version)
            self._checked = time.monotonic()
            return True
        except Exception as error:  # whatever it is, the answers in memory stay
            if not isinstance(error, DatabaseError | InterfaceError):
                logger.exception("the cached answers could not be read")
            else:
                logger.warning("the cached answers could not be read: %s", error)
            self._checked = time.monotonic()
            return False
        finally:
            self._loading.release()

    def start(self) -> None:
        """Load the answers and keep them up to date from a thread; again changes nothing.

        Without seconds between two looks there is no thread: every reading looks.
        """
        if settings.ANSWER_CACHE_CHECK_S <= 0:
            return
        if self._thread is None or not self._thread.is_alive():
            if self._thread is None:
                atexit.register(self.stop)
            self._stop = threading.Event()
            self._thread = threading.Thread(target=self._run, name="answer-cache", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread and write the hits down."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5)
            self._thread = None
        self.write_hits()

    def _run(self) -> None:
        bell = Bell()
        written = time.monotonic()
        while not self._stop.is_set():
            close_old_connections()
            self.refresh()
            if time.monotonic() - written >= settings.ANSWER_CACHE_HITS_S:
                self.write_hits()
                written = time.monotonic()
            bell.wait(settings.ANSWER_CACHE_CHECK_S, self._stop)
        bell.close()
        connection.close()

    # ---- hits -------------------------------------------------------------------------------

    def write_hits(self) -> None:
        """Add what was counted since the last time to the database; kept if that fails."""
        with self._counting:
            hits, self._hits = self._hits, Counter()
        if not hits:
            return
        try:
            cached_answers.count_hits(hits)
        except Exception as error:
            logger.warning("hits of cached answers are counted later: %s", error)
            with self._counting:
                self._hits.update(hits)


def keys(category: str, intent: str, facts: OrderFacts | None, language: str) -> Iterator[Key]:
    """Where an answer about this order may stand, the most exact first."""
    if facts is None:
        return keys_at(category, intent, NO_ORDER, ANY, language)
    return keys_at(category, intent, facts.status, facts.delivery_state, language)


def keys_at(category: str, intent: str, status: str, delivery: str, language: str) -> Iterator[Key]:
    """What is asked weighs more than the order's state: an answer for the sub-intent in any state
    goes before one for the whole category in exactly this state.
    """
    places = dict.fromkeys(
        ((status, delivery), (status, ANY), *(() if status == NO_ORDER else ((ANY, delivery),)))
    )
    for of in dict.fromkeys((intent, "")):
        for place in (*places, (ANY, ANY)):
            yield category, of, *place, language


def load(version: tuple[int, UUID]) -> Snapshot:
    """All live answers. The version was read before, so that a change between is seen next time."""
    return Snapshot(
        version,
        {
            row.key: LiveAnswer(
                row.answer_id, row.version, Template(row.template), row.valid_until, row.may_cache
            )
            for row in cached_answer_selectors.live_answers()
        },
    )


def _render(answer: LiveAnswer, key: Key, facts: OrderFacts | None) -> Lookup:
    try:
        text = answer.template.render(facts)
    except NoValue as error:
        return Lookup(None, f"The answer does not fit this order: {error}.", answer.answer_id)
    hit = Hit(text, answer.answer_id, answer.version, key)
    return Lookup(hit, _exactness(key), answer.answer_id)


def _exactness(key: Key) -> str:
    _, intent, status, delivery, _ = key
    what = "this sub-intent" if intent else "the whole category"
    if status == NO_ORDER:
        return f"Written for {what} without an order."
    if ANY not in (status, delivery):
        return f"Written for {what} in exactly this state."
    if status == delivery == ANY:
        return f"Written for {what} in any state."
    return f"Written for {what} in states such as this one."


_cache = AnswerCache()

find = _cache.find
look_up = _cache.look_up
near = _cache.near
refresh = _cache.refresh
start = _cache.start
stop = _cache.stop
write_hits = _cache.write_hits
