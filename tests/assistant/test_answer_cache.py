"""The answer cache: the most exact answer, this order's facts, and what happens in trouble."""

import re
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from assistant import cached_answer_selectors, cached_answers
from assistant.answer_cache import AnswerCache, Hit, LiveAnswer, Snapshot
from assistant.answer_templates import Template, check
from assistant.cached_answer_defaults import install_defaults, shipped
from assistant.cached_answers import Place
from assistant.models import CachedAnswer, CachedAnswerHits, Category, Intent
from orders.facts import OrderFacts, facts_of
from orders.models import Rider
from orders.states import ALLOWED, CancelReason, FailureReason, LateReason, RefundState
from orders.states import DeliveryState as D
from orders.states import Status as S
from orders.wording import clock
from tests.assistant import answers
from tests.assistant.answers import STATES, facts_in, order_in
from tests.orders.builders import NOW

ON_THE_WAY = facts_in(S.PICKED_UP, D.ON_THE_WAY)
SUBJECTS = sorted({(entry.category, entry.intent) for entry in shipped()})


@pytest.fixture
def cache(db: Any, settings: Any) -> AnswerCache:
    """An empty cache that looks for changes at every reading, on an empty table."""
    settings.ANSWER_CACHE_CHECK_S = 0
    settings.CACHE_REDIS_URL = "unix:///nowhere.sock"
    CachedAnswer.objects.update(state="draft", current=None)
    CachedAnswer.objects.all().delete()
    return AnswerCache()


@pytest.fixture
def category(db: Any) -> Category:
    row, _ = Category.objects.update_or_create(
        slug="rain", defaults={"title": "Rain", "may_cache": True, "active": True}
    )
    return row


def live(category: Category, text: str, status: str = "*", delivery: str = "*", **more: Any) -> Any:
    place = Place(
        category=category,
        order_status=status,
        delivery_state=delivery,
        intent=more.pop("intent", None),
        language=more.pop("language", "en"),
    )
    answer = cached_answers.create(place, text, author=None, **more)
    cached_answers.publish(answer, author=None)
    return answer


def said(cache: AnswerCache, facts: OrderFacts | None = ON_THE_WAY, intent: str = "") -> str | None:
    hit = cache.find("rain", intent, facts, "en")
    return hit.text if hit else None


# ---- which answer --------------------------------------------------------------------------------


def test_the_most_exact_answer_wins(cache: AnswerCache, category: Category) -> None:
    intent = Intent.objects.create(category=category, slug="hail", title="Hail")
    for text, place in (
        ("any", ("*", "*")),
        ("state", ("*", "on_the_way")),
        ("status", ("picked_up", "*")),
        ("both", ("picked_up", "on_the_way")),
    ):
        live(category, text, *place)
        assert said(cache) == text
        # The sub-intent has none of its own yet: the whole category's answers serve it too.
        assert said(cache, intent="hail") == text
    assert said(cache, facts_in(S.PICKED_UP, D.NEARBY)) == "status"
    assert said(cache, facts_in(S.DELIVERED, D.DELIVERED)) == "any"
    live(category, "hail, any", intent=intent)
    assert said(cache, intent="hail") == "hail, any"
    assert said(cache) == "both"


def test_without_an_order(cache: AnswerCache, category: Category) -> None:
    assert said(cache, None) is None
    live(category, "In {{ eta_minutes }} minutes.")
    assert said(cache, None) is None
    live(category, "You have no order.", "none")
    assert said(cache, None) == "You have no order."
    assert said(cache) == "In 12 minutes."


def test_other_languages_and_categories_are_misses(cache: AnswerCache, category: Category) -> None:
    live(category, "Regen.", language="de")
    assert said(cache) is None
    found = cache.find("rain", "", ON_THE_WAY, "de")
    assert found is not None and found.text == "Regen."
    assert cache.find("nothing", "", ON_THE_WAY, "de") is None


def test_a_missing_value_is_a_miss_and_not_a_hole(cache: AnswerCache, category: Category) -> None:
    live(category, "general")
    answer = live(category, "{{ rider_name }} comes.", "picked_up", "on_the_way")
    assert said(cache) == "Asha comes."
    nameless = facts_in(S.PICKED_UP, D.ON_THE_WAY, rider=None)
    assert said(cache, nameless) is None
    found = cache.look_up("rain", "", nameless, "en")
    assert found.answer_id == answer.pk and "no rider is known" in found.why


def test_the_end_of_validity_is_absolute(
    cache: AnswerCache, category: Category, monkeypatch: Any
) -> None:
    live(category, "for ever")
    end = timezone.now() + timedelta(minutes=1)
    live(category, "for a minute", "picked_up", valid_until=end)
    assert said(cache) == "for a minute"
    monkeypatch.setattr(timezone, "now", lambda: end)
    assert said(cache) == "for ever"


@pytest.mark.parametrize("change", [{"active": False}, {"may_cache": False}])
def test_a_category_switched_off_is_not_served(
    cache: AnswerCache, category: Category, change: dict[str, bool]
) -> None:
    live(category, "rain")
    assert said(cache) == "rain"
    for name, value in change.items():
        setattr(category, name, value)
    category.save()
    assert said(cache) is None
    noted = [hit.text for hit in cache.near([("rain", "")], ON_THE_WAY, "en")]
    assert noted == ([] if "active" in change else ["rain"])


def test_drafts_and_retired_answers_are_not_served(cache: AnswerCache, category: Category) -> None:
    draft = cached_answers.create(Place(category=category), "draft", author=None)
    assert said(cache) is None
    cached_answers.publish(draft, author=None)
    assert said(cache) == "draft"
    cached_answers.save(draft, "a better text", author=None)
    assert said(cache) == "draft"
    cached_answers.publish(draft, author=None)
    assert said(cache) == "a better text"
    cached_answers.retire(draft, author=None)
    assert said(cache) is None


# ---- notes, hits ---------------------------------------------------------------------------------


def test_near_gives_up_to_three_different_answers(cache: AnswerCache) -> None:
    answers.install()
    ranked = [("order_status", ""), ("nothing", ""), ("order_status", ""), ("delivery_delay", "")]
    ranked += [("cancel_order", ""), ("refund_request", "")]
    found = cache.near(ranked, ON_THE_WAY, "en")
    assert [hit.key[0] for hit in found] == ["order_status", "delivery_delay", "cancel_order"]
    cache.write_hits()
    assert not CachedAnswerHits.objects.exists()


def test_hits_are_counted_by_day(cache: AnswerCache, category: Category) -> None:
    answer = live(category, "rain")
    gone = live(category, "gone", "delivered")
    for _ in range(3):
        said(cache)
    said(cache, facts_in(S.DELIVERED, D.DELIVERED))
    cache.look_up("rain", "", ON_THE_WAY, "en")
    CachedAnswer.objects.filter(pk=gone.pk).update(current=None, state="draft")
    CachedAnswer.objects.filter(pk=gone.pk).delete()
    cache.write_hits()
    said(cache)
    cache.write_hits()
    row = CachedAnswerHits.objects.get()
    assert (row.answer_id, row.count, row.day) == (answer.pk, 4, timezone.now().date())


# ---- when things fail ----------------------------------------------------------------------------


def test_without_a_database_the_answers_in_memory_go_on(
    cache: AnswerCache, category: Category, monkeypatch: Any
) -> None:
    live(category, "rain")
    assert said(cache) == "rain"

    def away(*args: Any) -> Any:
        raise OperationalError("could not connect")

    with monkeypatch.context() as broken:
        broken.setattr(cached_answer_selectors, "cache_version", away)
        broken.setattr(cached_answers, "count_hits", away)
        assert said(cache) == "rain"
        cache.write_hits()
        # A process that starts now has nothing to say, and does not fail.
        fresh = AnswerCache()
        assert said(fresh) is None
        assert fresh.look_up("rain", "", None, "en").why == "The answers could not be loaded yet."
    assert said(fresh) == "rain"
    assert said(cache) == "rain"
    cache.write_hits()
    assert CachedAnswerHits.objects.get().count == 3


def test_a_change_is_loaded_once_however_many_ask(
    cache: AnswerCache, category: Category, monkeypatch: Any
) -> None:
    """Whoever comes while one loads goes on with the answers of before."""
    live(category, "old")
    assert said(cache) == "old"
    entered, go, loads = threading.Event(), threading.Event(), []
    rows = cached_answer_selectors.live_answers()
    version = cached_answer_selectors.cache_version()

    def slow() -> list[Any]:
        loads.append(1)
        entered.set()
        go.wait(5)
        return rows

    monkeypatch.setattr(cached_answer_selectors, "live_answers", slow)
    monkeypatch.setattr(
        cached_answer_selectors, "cache_version", lambda: (version[0] + 1, version[1])
    )
    loader = threading.Thread(target=cache.refresh)
    loader.start()
    assert entered.wait(5)
    assert [said(cache) for _ in range(50)] == ["old"] * 50
    go.set()
    loader.join(5)
    said(cache)
    assert loads == [1]


# ---- the shipped answers -------------------------------------------------------------------------


def test_at_least_sixty_combinations_are_live_and_well_formed(cache: AnswerCache) -> None:
    entries = list(shipped())
    combinations = {(e.category, e.order_status, e.delivery_state) for e in entries}
    assert len(combinations) >= 60
    assert len({(e.intent, *(e.category, e.order_status, e.delivery_state)) for e in entries}) == (
        len(entries)
    )
    answers.install()
    assert CachedAnswer.objects.filter(state="live").count() == len(entries)
    for row in CachedAnswer.objects.select_related("category", "intent", "current"):
        cached_answers.check_place(cached_answers.place_of(row))
        assert row.current is not None
        assert check(row.current.template).text == row.current.template


def test_every_shipped_category_answers_in_every_state(cache: AnswerCache) -> None:
    answers.install()
    for category, intent in SUBJECTS:
        for state in STATES:
            for order in (facts_in(*state), facts_in(*state, late_reason="", delivery_fee=0)):
                found = cache.look_up(category, intent, order, "en")
                assert found.hit, f"{category} {intent} {state}: {found.why}"


def test_installing_again_changes_nothing(cache: AnswerCache) -> None:
    answers.install()
    answer = CachedAnswer.objects.filter(state="live").first()
    assert answer is not None
    cached_answers.save(answer, "Staff know better.", author=None)
    version = cached_answer_selectors.cache_version()
    assert install_defaults() == 0
    assert cached_answer_selectors.cache_version() == version


def test_a_sub_intent_that_comes_later_brings_its_answers(cache: AnswerCache) -> None:
    answers.install()
    late = CachedAnswer.objects.filter(intent__slug="until_when")
    late.update(state="draft", current=None)
    late.delete()
    assert install_defaults() == 2 == late.filter(state="live").count()


# Two customers whose orders share nothing but the state.
_MINE = {
    "number": "QB-7001", "restaurant": "Quill & Thyme", "riders": ["Ottoline", "Ulrich"],
    "dishes": ["Gumbo", "Jollof"], "cents": [1111, 2222, 3333], "minutes": [3, 13, 23],
}  # fmt: skip
_THEIRS = {
    "number": "QB-8996", "restaurant": "Zebra Wok", "riders": ["Xanthe", "Yusra"],
    "dishes": ["Kimchi", "Hotpot"], "cents": [4646, 5858, 6969], "minutes": [7, 17, 57],
}  # fmt: skip


@st.composite
def _orders(draw: Any, whose: dict[str, Any], state: tuple[S, D]) -> OrderFacts:
    status, delivery = state
    with_rider = delivery != D.UNASSIGNED and (status != S.CANCELLED or draw(st.booleans()))
    name = draw(st.sampled_from(whose["riders"]))
    known = with_rider and draw(st.integers(0, 3)) > 0
    ago = timedelta(minutes=draw(st.sampled_from(whose["minutes"])))
    soon = draw(st.none() | st.sampled_from(whose["minutes"]).map(lambda m: timedelta(minutes=m)))
    values: dict[str, Any] = {
        "number": whose["number"],
        "rider": Rider(code="r", first_name=name) if known else None,
        "total": draw(st.sampled_from(whose["cents"])),
        "delivery_fee": draw(st.sampled_from([0, *whose["cents"]])),
        "late_reason": draw(st.sampled_from(["", *LateReason.values])),
        "promised_at": NOW - ago if draw(st.booleans()) else NOW + ago,
        "placed_at": NOW - ago - timedelta(minutes=30),
        "refund_state": draw(st.sampled_from(RefundState.values)),
        "refund_amount": draw(st.sampled_from(whose["cents"])),
    }
    if status == S.DELIVERED:
        values["delivered_at"] = NOW - ago
    elif status == S.CANCELLED:
        values |= {"cancelled_at": NOW - ago}
        values["cancel_reason"] = draw(st.sampled_from(["", *CancelReason.values]))
    elif delivery == D.FAILED:
        values["failure_reason"] = draw(st.sampled_from(["", *FailureReason.values]))
    else:
        values["expected_at"] = NOW + soon if soon is not None else None
    order = order_in(status, delivery, **values)
    order.restaurant.name = whose["restaurant"]
    for item, dish in zip(order.items.all(), whose["dishes"], strict=True):
        item.name = dish
        item.quantity = draw(st.integers(1, 3))
    return facts_of(order, NOW)


@pytest.fixture(scope="module")
def all_live() -> Iterator[AnswerCache]:
    """Every shipped answer in memory, no database behind."""
    cache = AnswerCache()
    cache._snapshot = Snapshot(
        (1, UUID(int=1)),
        {
            (e.category, e.intent, e.order_status, e.delivery_state, "en"): LiveAnswer(
                n, 1, Template(e.text)
            )
            for n, e in enumerate(shipped())
        },
    )
    cache._checked = float("inf")
    yield cache


@given(data=st.data())
def test_every_answer_holds_this_orders_facts_and_nobody_elses(
    all_live: AnswerCache, data: st.DataObject
) -> None:
    state = data.draw(st.sampled_from(STATES))
    mine = data.draw(_orders(_MINE, state))
    theirs = data.draw(_orders(_THEIRS, state))
    for category, intent in SUBJECTS:
        own = all_live.find(category, intent, mine, "en")
        other = all_live.find(category, intent, theirs, "en")
        for hit, facts, strangers in ((own, mine, _THEIRS), (other, theirs, _MINE)):
            if hit is not None:
                _is_about(hit, facts, strangers)


def _is_about(hit: Hit, facts: OrderFacts, strangers: dict[str, Any]) -> None:
    text = hit.text
    assert not re.search(r"[{}]|\bNone\b|unknown|  ", text), text
    assert text[0].isupper() and text[-1] in ".?!", text
    assert len(text) <= 1000
    for word in (strangers["number"], strangers["restaurant"], *strangers["riders"]):
        assert word not in text
    assert not any(dish in text for dish in strangers["dishes"])
    # Every number in it is one of the order's own, as a reader may see them.
    shown = " ".join([*facts.sentences(), *map(str, facts.display().values())])
    shown += f" {clock(facts.placed_at, facts.now)}"
    own = set(re.findall(r"\d+", shown))
    assert set(re.findall(r"\d+", text)) <= own, text


def test_every_state_that_an_order_can_have_is_generated() -> None:
    assert len(STATES) == sum(map(len, ALLOWED.values())) == 19
