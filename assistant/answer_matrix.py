"""The matrix of cached answers: what every category answers in every state of an order.

Reading only, for staff's pages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.utils import timezone

from assistant.answer_cache import Key, keys_at
from assistant.models import CachedAnswer, CachedAnswerHits, CachedAnswerVersion, Category, Intent
from assistant.models.cached_answers import ANY, NO_ORDER
from orders.states import ALLOWED, DeliveryState, Status

#: Days over which hits are counted here.
HITS_DAYS = 30
#: An answer whose validity ends within so many days is due for a look.
ENDS_SOON_DAYS = 7

SHAPES = {"live": "●", "shared": "◐", "stale": "▲", "draft": "◌", "missing": "○"}


@dataclass(frozen=True, slots=True)
class Column:
    status: str
    delivery: str
    status_label: str
    label: str

    @property
    def place(self) -> str:
        return f"{self.status_label}, {self.label.lower()}" if self.label else self.status_label


@dataclass(frozen=True, slots=True)
class Cell:
    """`state` is a key of `SHAPES`; `why` says it in words."""

    column: Column
    state: str
    why: str
    answer_id: int | None = None
    hits: int = 0

    @property
    def shape(self) -> str:
        return SHAPES[self.state]

    @property
    def hits_short(self) -> str:
        """In at most four characters, such as 940, 9.4k or 51k."""
        if self.hits < 1000:
            return str(self.hits)
        thousands = self.hits / 1000
        return f"{thousands:.1f}k" if thousands < 9.95 else f"{thousands:.0f}k"


@dataclass(slots=True)
class Row:
    category: Category
    intent: Intent | None
    #: Why nothing of it is given from the cache; empty where it may be.
    unused: str
    cells: list[Cell] = field(default_factory=list)
    #: Live answers of its own, those for several states once.
    own: int = 0
    hits: int = 0

    @property
    def title(self) -> str:
        return self.intent.title if self.intent else self.category.title


@dataclass(slots=True)
class Matrix:
    language: str
    languages: list[str]
    columns: list[Column]
    rows: list[Row] = field(default_factory=list)
    live: int = 0
    stale: int = 0
    hits: int = 0

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The orders' statuses with the number of their columns."""
        found = groupby(self.columns, key=lambda column: column.status_label)
        return [(label, len(list(columns))) for label, columns in found]

    @property
    def wanted(self) -> int:
        return sum(len(row.cells) for row in self.rows if not row.unused)

    @property
    def answered(self) -> int:
        cells = (cell for row in self.rows if not row.unused for cell in row.cells)
        return sum(cell.state in ("live", "shared") for cell in cells)


def columns() -> list[Column]:
    """Every state that an order can have, and none at all."""
    found = [
        Column(status, delivery, Status(status).label, DeliveryState(delivery).label)
        for status, allowed in ALLOWED.items()
        for delivery in allowed
    ]
    return [*found, Column(NO_ORDER, ANY, "No order", "")]


def matrix(language: str = "en", now: datetime | None = None) -> Matrix:
    """The whole matrix; six queries."""
    now = now or timezone.now()
    rows = with_newest(CachedAnswer.objects.filter(language=language))
    rows = rows.select_related("category", "intent", "current").order_by("pk")
    live = {_key(row): row for row in rows if row.state == CachedAnswer.State.LIVE}
    drafts = {_key(row): row for row in rows if row.state == CachedAnswer.State.DRAFT}
    hits = hits_since(now - timedelta(days=HITS_DAYS))
    languages = CachedAnswer.objects.order_by().values_list("language", flat=True).distinct()
    found = Matrix(language, sorted({language, *languages}), columns())
    for category in Category.objects.filter(active=True).prefetch_related("intents"):
        for intent in (None, *category.intents.all()):
            row = Row(category, intent, _unused(category, intent))
            slugs = category.slug, intent.slug if intent else ""
            for column in found.columns:
                keys = list(keys_at(*slugs, column.status, column.delivery, language))
                row.cells.append(_cell(column, keys, live, drafts, hits, now))
            own = [answer.pk for key, answer in live.items() if key[:2] == slugs]
            row.own, row.hits = len(own), sum(hits.get(pk, 0) for pk in own)
            found.rows.append(row)
    found.live = len(live)
    found.stale = sum(bool(staleness(answer, now)) for answer in live.values())
    found.hits = sum(hits.get(answer.pk, 0) for answer in live.values())
    return found


def with_newest(rows: QuerySet[CachedAnswer]) -> QuerySet[Any]:
    """With number and text of the newest version."""
    newest = CachedAnswerVersion.objects.filter(answer=OuterRef("pk")).order_by("-number")
    return rows.annotate(
        newest_number=Subquery(newest.values("number")[:1]),
        newest_text=Subquery(newest.values("template")[:1]),
    )


def hits_since(moment: datetime) -> dict[int, int]:
    """How often each answer was given since that day."""
    rows = CachedAnswerHits.objects.filter(day__gt=moment.date()).order_by().values("answer")
    return dict(rows.annotate(sum=Sum("count")).values_list("answer", "sum"))


def staleness(answer: Any, now: datetime) -> str:
    """Why a live answer is due for a look; empty if it is not. Needs `with_newest`."""
    if answer.valid_until is not None:
        if answer.valid_until <= now:
            return f"its validity ended on {answer.valid_until:%-d %B %Y}"
        if answer.valid_until <= now + timedelta(days=ENDS_SOON_DAYS):
            return f"its validity ends on {answer.valid_until:%-d %B %Y}"
    if answer.current is not None and answer.newest_number != answer.current.number:
        return f"version {answer.newest_number} is a draft that nobody has published"
    return ""


def _key(row: CachedAnswer) -> Key:
    intent = row.intent.slug if row.intent else ""
    return row.category.slug, intent, row.order_status, row.delivery_state, row.language


def _unused(category: Category, intent: Intent | None) -> str:
    if category.fixed_reply:
        return "Always the fixed reply"
    if category.escalates:
        return "A person takes over"
    may = intent.may_cache if intent else category.may_cache
    return "" if may else "The model answers"


def _cell(
    column: Column,
    keys: list[Key],
    live: Mapping[Key, CachedAnswer],
    drafts: Mapping[Key, CachedAnswer],
    hits: Mapping[int, int],
    now: datetime,
) -> Cell:
    served = next((key for key in keys if key in live and not _over(live[key], now)), None)
    known = served or next((key for key in keys if key in live), None)
    if known is not None:
        answer = live[known]
        count = hits.get(answer.pk, 0)
        if why := staleness(answer, now):
            return Cell(column, "stale", f"Look at it: {why}", answer.pk, count)
        if known != keys[0]:
            return Cell(
                column, "shared", f"Live, shared with {_shared(keys[0], known)}", answer.pk, count
            )
        return Cell(column, "live", "Live, for exactly this state", answer.pk, count)
    if draft := drafts.get(keys[0]):
        return Cell(column, "draft", "A draft, not published", draft.pk)
    return Cell(column, "missing", "No answer: the model writes one")


def _shared(asked: Key, served: Key) -> str:
    return "the whole category" if asked[1] and not served[1] else "other states"


def _over(answer: CachedAnswer, now: datetime) -> bool:
    return answer.valid_until is not None and answer.valid_until <= now
