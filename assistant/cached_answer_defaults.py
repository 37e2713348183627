"""The answers that a new deployment starts with, from ``data/cached_answers.toml``."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from assistant.cached_answers import things_changed
from assistant.models import CachedAnswer, CachedAnswerVersion, Category, Intent
from assistant.models.cached_answers import ANY

_FILE = Path(__file__).parent / "data" / "cached_answers.toml"
_NOTE = "Came with the product"


@dataclass(frozen=True, slots=True)
class Shipped:
    category: str
    intent: str
    order_status: str
    delivery_state: str
    text: str


def shipped() -> Iterator[Shipped]:
    """Every answer of the file, one for each state."""
    for entry in tomllib.loads(_FILE.read_text("utf-8"))["answers"]:
        for state in entry["states"]:
            status, _, delivery = state.partition("/")
            yield Shipped(
                category=entry["category"],
                intent=entry.get("intent", ""),
                order_status=status,
                delivery_state=delivery or ANY,
                text=entry["text"],
            )


@transaction.atomic
def install_defaults() -> int:
    """Make the shipped answers live for each subject that has none, of any state; how many.

    Answers of categories or sub-intents that the deployment does not have are left out; they come
    with the next migration after those. What staff have changed or retired stays as it is.
    """
    categories = {category.slug: category for category in Category.objects.all()}
    intents = {(row.category_id, row.slug): row for row in Intent.objects.all()}
    known = set(CachedAnswer.objects.values_list("category", "intent"))
    answers, texts = [], []
    for entry in shipped():
        category = categories.get(entry.category)
        if category is None:
            continue
        intent = intents.get((category.pk, entry.intent)) if entry.intent else None
        if entry.intent and intent is None:
            continue
        if (category.pk, intent.pk if intent else None) in known:
            continue
        answers.append(
            CachedAnswer(
                category=category,
                intent=intent,
                order_status=entry.order_status,
                delivery_state=entry.delivery_state,
            )
        )
        texts.append(entry.text)
    now = timezone.now()
    CachedAnswer.objects.bulk_create(answers)
    versions = CachedAnswerVersion.objects.bulk_create(
        CachedAnswerVersion(answer=answer, number=1, template=text, note=_NOTE, published_at=now)
        for answer, text in zip(answers, texts, strict=True)
    )
    for answer, version in zip(answers, versions, strict=True):
        answer.current, answer.state = version, CachedAnswer.State.LIVE
    CachedAnswer.objects.bulk_update(answers, ["current", "state"])
    if answers:
        things_changed()
    return len(answers)
