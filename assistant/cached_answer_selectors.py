"""Reading cached answers: for the cache in memory and for staff. Nothing here writes."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from assistant.models import AnswerCacheVersion, CachedAnswer
from orders.models import Customer, Rider

#: Words that are names as well; alone they give nobody away.
_WORDS_TOO = frozenset(
    re.findall(
        r"\w+",
        "april art august bill chance chase cook dawn drew faith frank grace grant hope iris ivy "
        "jack joy june long love major mark may miles oil olive page pat pearl penny price prince "
        "ray read rich rob rod rose sandy sky star sterling sue summer sunny sun will wish young",
    )
)
_MOST_NAMES = 60


@dataclass(frozen=True, slots=True)
class LiveRow:
    key: tuple[str, str, str, str, str]
    answer_id: int
    version: int
    template: str
    valid_until: datetime | None
    may_cache: bool


def cache_version() -> tuple[int, UUID]:
    """What the answers in force are, as two values to compare; one query."""
    row = AnswerCacheVersion.objects.values_list("number", "stamp").first()
    return row or (0, UUID(int=0))


def live_answers() -> list[LiveRow]:
    """Every live answer of the active categories; one query."""
    rows = CachedAnswer.objects.filter(state=CachedAnswer.State.LIVE, category__active=True)
    return [
        LiveRow(
            key=(
                row.category.slug,
                row.intent.slug if row.intent else "",
                row.order_status,
                row.delivery_state,
                row.language,
            ),
            answer_id=row.pk,
            version=row.current.number,
            template=row.current.template,
            valid_until=row.valid_until,
            may_cache=row.intent.may_cache if row.intent else row.category.may_cache,
        )
        for row in rows.select_related("category", "intent", "current")
        if row.current is not None
    ]


def same_key(answer: CachedAnswer) -> QuerySet[CachedAnswer]:
    """Other answers with the same key."""
    return CachedAnswer.objects.filter(
        category=answer.category_id,
        intent=answer.intent_id,
        order_status=answer.order_status,
        delivery_state=answer.delivery_state,
        language=answer.language,
    ).exclude(pk=answer.pk)


def people_named_in(text: str) -> list[str]:
    """Names of riders and customers in a text, as they stand in it.

    A rider's first name in any spelling; a customer's only with a capital, as it may be a word too.
    Two queries.
    """
    found_words = re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", text)
    words = {
        word: word.replace("’", "'")
        for word in found_words
        if len(word) > 1 and _plain(word) not in _WORDS_TOO
    }
    riders = {
        _plain(name) for name in Rider.objects.values_list("first_name", flat=True).distinct()
    }
    found = [word for word in words if _plain(word) in riders]
    query = Q(pk__in=[])
    for name in [name for word, name in words.items() if word[0].isupper()][:_MOST_NAMES]:
        query |= Q(name=name) | Q(name__startswith=f"{name} ") | Q(name__endswith=f" {name}")
    customers = Customer.objects.filter(query).values_list("name", flat=True)
    parts = {part for name in customers for part in (name, name.split()[0], name.split()[-1])}
    return list(dict.fromkeys([*found, *(word for word, name in words.items() if name in parts)]))


def _plain(word: str) -> str:
    letters = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in letters if not unicodedata.combining(char))
