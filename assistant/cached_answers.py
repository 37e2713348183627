"""The one module that writes cached answers: draft → live → retired, and every version kept.

Every change of what is served raises the cache's version in the same transaction and is announced
once committed. An author of None is the product itself. Synchronous.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Max
from django.utils import timezone

from assistant import answer_news, answer_templates
from assistant.cached_answer_selectors import people_named_in, same_key
from assistant.errors import (
    AnswerChanged,
    CachedAnswerError,
    InvalidKey,
    InvalidTemplate,
    KeyTaken,
    MayNotPublish,
)
from assistant.models import (
    AnswerCacheVersion,
    CachedAnswer,
    CachedAnswerHits,
    CachedAnswerVersion,
    Category,
    Intent,
)
from assistant.models.cached_answers import ANY, NO_ORDER
from orders.states import ALLOWED, DeliveryState, Status

PUBLISH = "assistant.publish_answer"

State = CachedAnswer.State
Author = User | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What an answer is for: its key in the cache."""

    category: Category
    intent: Intent | None = None
    order_status: str = ANY
    delivery_state: str = ANY
    language: str = "en"


# ---- checks --------------------------------------------------------------------------------------


def check_place(place: Place) -> None:
    """Raises `InvalidKey` for a state that no order can have, or another category's sub-intent."""
    status, delivery = place.order_status, place.delivery_state
    if place.intent is not None and place.intent.category_id != place.category.pk:
        raise InvalidKey(
            f"The sub-intent “{place.intent.title}” does not belong to “{place.category.title}”."
        )
    if status not in (ANY, NO_ORDER, *Status.values):
        raise InvalidKey(f"There is no order status “{status}”.")
    if delivery not in (ANY, *DeliveryState.values):
        raise InvalidKey(f"There is no delivery state “{delivery}”.")
    if not place.language.isascii() or not place.language.replace("-", "").isalpha():
        raise InvalidKey(f"“{place.language}” is no language code, such as “en”.")
    if status == NO_ORDER and delivery != ANY:
        raise InvalidKey("Without an order there is no delivery state; choose “Any”.")
    if status in Status.values and delivery not in (ANY, *ALLOWED[Status(status)]):
        raise InvalidKey(
            f"An order that is “{Status(status).label}” never has the delivery state "
            f"“{DeliveryState(delivery).label}”."
        )


def check_template(text: str, place: Place) -> str:
    """The text as it is stored. Raises `InvalidTemplate` with every problem, in words."""
    text = answer_templates.clean(text)
    template = answer_templates.check(text, people_named_in(text))
    if place.order_status == NO_ORDER and template.names:
        raise InvalidTemplate(
            [f"Without an order “{template.names[0]}” has no value; leave placeholders out here."]
        )
    return text


def may_publish(author: Any) -> bool:
    return author is None or bool(author.has_perm(PUBLISH))


def _check_may_publish(author: Author) -> None:
    if not may_publish(author):
        raise MayNotPublish


# ---- writing -------------------------------------------------------------------------------------


@transaction.atomic
def create(
    place: Place,
    template: str,
    *,
    author: Author,
    valid_until: datetime | None = None,
    note: str = "",
) -> CachedAnswer:
    """A draft with its first version. Raises `InvalidKey` or `InvalidTemplate`."""
    check_place(place)
    text = check_template(template, place)
    answer = CachedAnswer.objects.create(**_columns(place), valid_until=valid_until)
    _add_version(answer, text, author, note)
    return answer


@transaction.atomic
def save(
    answer: CachedAnswer,
    template: str,
    *,
    author: Author,
    seen: int | None = None,
    place: Place | None = None,
    valid_until: datetime | None = None,
    note: str = "",
) -> CachedAnswerVersion:
    """The newest version with this text: a new one if the text is new. What is served stays.

    `seen` is the newest version's number that the author saw: `AnswerChanged` if there is a newer
    one. Another place or end of validity changes what is served, so for an answer that is not a
    draft it needs the right to publish.
    """
    row = _locked(answer)
    newest = newest_version(row)
    if seen is not None and newest is not None and newest.number != seen:
        raise AnswerChanged
    place = place or place_of(row)
    check_place(place)
    text = check_template(template, place)
    changed = {**_columns(place), "valid_until": valid_until}
    if any(getattr(row, name) != value for name, value in changed.items()):
        if row.state != State.DRAFT:
            _check_may_publish(author)
        for name, value in changed.items():
            setattr(row, name, value)
        _save_row(row)
        if row.state == State.LIVE:
            things_changed()
    answer.refresh_from_db()
    if newest is not None and newest.template == text:
        return newest
    return _add_version(row, text, author, note)


@transaction.atomic
def publish(
    answer: CachedAnswer, *, author: Author, version: CachedAnswerVersion | None = None
) -> None:
    """Serve a version, the newest if none is named.

    Raises `MayNotPublish`, `InvalidTemplate` (people or placeholders may have changed since it was
    saved) or `KeyTaken`.
    """
    _check_may_publish(author)
    row = _locked(answer)
    version = version or newest_version(row)
    if version is None or version.answer_id != row.pk:
        raise CachedAnswerError("There is no such version of this answer.")
    check_place(place_of(row))
    check_template(version.template, place_of(row))
    if row.valid_until is not None and row.valid_until <= timezone.now():
        raise CachedAnswerError("Its validity has ended; choose a later end before publishing.")
    row.current, row.state = version, State.LIVE
    _save_row(row)
    CachedAnswerVersion.objects.filter(pk=version.pk).update(published_at=timezone.now())
    things_changed()
    answer.refresh_from_db()


@transaction.atomic
def retire(answer: CachedAnswer, *, author: Author) -> None:
    """Serve it no more; it keeps its versions and may be published again."""
    _check_may_publish(author)
    row = _locked(answer)
    row.state = State.RETIRED
    _save_row(row)
    things_changed()
    answer.refresh_from_db()


@transaction.atomic
def roll_back(answer: CachedAnswer, number: int, *, author: Author) -> CachedAnswerVersion:
    """Serve an earlier text again, as a new version, so that the history stays whole."""
    _check_may_publish(author)
    row = _locked(answer)
    old = row.versions.filter(number=number).first()
    if old is None:
        raise CachedAnswerError(f"This answer has no version {number}.")
    version = _add_version(row, old.template, author, f"Version {number} again")
    publish(answer, author=author, version=version)
    return version


@transaction.atomic
def delete(answer: CachedAnswer, *, author: Author) -> None:
    """Only a draft that was never served; anything else is retired and keeps its history."""
    row = _locked(answer)
    if row.current_id is not None:
        raise CachedAnswerError("It has been served once; retire it, so that its history stays.")
    row.delete()


def things_changed() -> None:
    """Count a change of what is served, in the caller's transaction, and announce it after.

    Whoever changes what a snapshot holds, a category's `may_cache` for example, calls this.
    """
    with transaction.atomic():
        counted = AnswerCacheVersion.objects.filter(pk=1).update(
            number=F("number") + 1, stamp=uuid.uuid4(), changed_at=timezone.now()
        )
        if not counted:
            AnswerCacheVersion.objects.create(pk=1)
        transaction.on_commit(answer_news.announce, robust=True)


def count_hits(hits: Mapping[tuple[int, date], int]) -> None:
    """Add to the counts by (answer, day); answers deleted meanwhile are passed over."""
    with transaction.atomic():
        known = set(
            CachedAnswer.objects.filter(pk__in={pk for pk, _ in hits}).values_list("pk", flat=True)
        )
        for (answer_id, day), count in sorted(hits.items()):
            if answer_id not in known:
                continue
            rows = CachedAnswerHits.objects.filter(answer_id=answer_id, day=day)
            if not rows.update(count=F("count") + count):
                CachedAnswerHits.objects.bulk_create(
                    [CachedAnswerHits(answer_id=answer_id, day=day)], ignore_conflicts=True
                )
                rows.update(count=F("count") + count)


# ---- rows ----------------------------------------------------------------------------------------


def place_of(answer: CachedAnswer) -> Place:
    return Place(
        category=answer.category,
        intent=answer.intent,
        order_status=answer.order_status,
        delivery_state=answer.delivery_state,
        language=answer.language,
    )


def newest_version(answer: CachedAnswer) -> CachedAnswerVersion | None:
    return answer.versions.order_by("-number").first()


def _columns(place: Place) -> dict[str, Any]:
    return {
        "category": place.category,
        "intent": place.intent,
        "order_status": place.order_status,
        "delivery_state": place.delivery_state,
        "language": place.language,
    }


def _locked(answer: CachedAnswer) -> CachedAnswer:
    # Of itself only: an outer join's other side cannot be locked.
    rows = CachedAnswer.objects.select_for_update(of=("self",))
    return rows.select_related("category", "intent", "current").get(pk=answer.pk)


def _save_row(row: CachedAnswer) -> None:
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        other = same_key(row).filter(state=State.LIVE).first()
        raise KeyTaken(other.pk if other else None) from None


def _add_version(answer: CachedAnswer, text: str, author: Author, note: str) -> CachedAnswerVersion:
    last = answer.versions.aggregate(last=Max("number"))["last"] or 0
    return CachedAnswerVersion.objects.create(
        answer=answer, number=last + 1, template=text, author=author, note=note[:200]
    )
