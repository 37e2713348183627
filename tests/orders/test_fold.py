"""The fold: what a stream of events makes of an order, in whatever order it arrives."""

import random
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orders.feed import OrderEventIn
from orders.fold import Folded, fold
from orders.states import ALLOWED, EventType, Status

from .builders import PLACED_AT, at, happened

RIDERS = {"asha", "bao"}


def folded(*events: OrderEventIn, total: int = 1840) -> Folded:
    return fold(events, placed_at=PLACED_AT, total=total, riders=RIDERS)


def test_an_order_without_events_is_placed_and_has_no_rider() -> None:
    state = folded().state
    assert (state.status, state.delivery_state, state.rider_code) == ("placed", "unassigned", None)


def test_the_whole_way_of_an_order() -> None:
    seen = []
    stream = (
        happened("accepted", 1),
        happened("preparing", 2),
        happened("rider_assigned", 3, rider="asha"),
        happened("rider_at_restaurant", 4),
        happened("ready", 5),
        happened("picked_up", 6),
        happened("rider_nearby", 7),
        happened("rider_arrived", 8),
        happened("delivered", 9),
    )
    for n in range(1, len(stream) + 1):
        state = folded(*stream[:n]).state
        seen.append((state.status, state.delivery_state))
    assert seen == [
        ("accepted", "unassigned"),
        ("preparing", "unassigned"),
        ("preparing", "assigned"),
        ("preparing", "at_restaurant"),
        ("ready", "at_restaurant"),
        ("picked_up", "on_the_way"),
        ("picked_up", "nearby"),
        ("picked_up", "arrived"),
        ("delivered", "delivered"),
    ]
    assert state.delivered_at == at(27)
    assert state.status_changed_at == at(27)
    assert state.last_sequence == 9
    assert state.expected_at is None


def test_skipping_forward_is_legal() -> None:
    state = folded(happened("rider_nearby", 1)).state
    assert (state.status, state.delivery_state) == ("picked_up", "nearby")


def test_an_event_takes_its_place_by_sequence_and_not_by_arrival() -> None:
    picked_up, ready = happened("picked_up", 6), happened("ready", 5)
    assert folded(picked_up, ready).state.status == "picked_up"


def test_the_newest_word_of_the_source_counts_even_if_it_goes_back() -> None:
    state = folded(
        happened("rider_assigned", 1, rider="asha"), happened("picked_up", 2), happened("ready", 3)
    ).state
    assert (state.status, state.delivery_state) == ("ready", "at_restaurant")


@pytest.mark.parametrize("end", ["delivered", "cancelled"])
@pytest.mark.parametrize(
    "later", ["accepted", "picked_up", "rider_arrived", "delivery_failed", "delivered", "cancelled"]
)
def test_no_move_leads_out_of_a_terminal_state(end: str, later: str) -> None:
    result = folded(happened(end, 5), happened(later, 6))
    assert result.state.status == end
    assert result.refused == {"platform-QB-1042-6": f"the order is already {end}"}


def test_a_failed_delivery_can_only_be_cancelled() -> None:
    failed = (happened("picked_up", 1), happened("delivery_failed", 2, reason="nobody_home"))
    result = folded(*failed, happened("delivered", 3))
    assert result.state.delivery_state == "failed"
    assert result.refused
    after = folded(*failed, happened("cancelled", 3, reason="delivery_failed")).state
    assert (after.status, after.delivery_state) == ("cancelled", "failed")
    assert after.failure_reason == "nobody_home"


def test_a_refund_may_change_after_the_end_but_not_above_the_total() -> None:
    result = folded(
        happened("cancelled", 1),
        happened("refund_changed", 2, state="under_way", amount=1840),
        happened("refund_changed", 3, state="refunded", amount=1841),
    )
    assert (result.state.refund_state, result.state.refund_amount) == ("under_way", 1840)
    assert list(result.refused) == ["platform-QB-1042-3"]


def test_another_rider_can_take_over_before_and_after_the_pick_up() -> None:
    stream = [happened("rider_assigned", 1, rider="asha"), happened("rider_at_restaurant", 2)]
    state = folded(*stream, happened("rider_assigned", 3, rider="bao")).state
    assert (state.rider_code, state.delivery_state) == ("bao", "assigned")
    state = folded(
        *stream, happened("picked_up", 3), happened("rider_assigned", 4, rider="bao")
    ).state
    assert (state.rider_code, state.delivery_state) == ("bao", "on_the_way")
    state = folded(*stream, happened("rider_unassigned", 3)).state
    assert (state.rider_code, state.delivery_state) == (None, "unassigned")


def test_an_unknown_rider_is_refused() -> None:
    assert folded(happened("rider_assigned", 1, rider="nobody")).refused == {
        "platform-QB-1042-1": "unknown rider"
    }


def test_a_new_time_of_arrival_and_its_reason_come_with_any_event() -> None:
    eta = at(55).isoformat()
    state = folded(happened("preparing", 1, expected_at=eta, late_reason="traffic")).state
    assert (state.expected_at, state.late_reason) == (at(55), "traffic")


def test_two_sources_are_merged_by_time() -> None:
    kitchen = happened("ready", 9, source="kitchen")
    courier = replace(happened("picked_up", 1, source="courier"), occurred_at=at(28))
    assert folded(courier, kitchen).state.status == "picked_up"
    earlier = replace(courier, occurred_at=at(20))
    assert folded(earlier, kitchen).state.status == "ready"


def test_the_placing_comes_first_whatever_another_clock_says() -> None:
    placed = happened("placed", 1, source="checkout")
    accepted = replace(
        happened("accepted", 1, source="kitchen"), occurred_at=PLACED_AT - timedelta(minutes=2)
    )
    assert folded(placed, accepted).state.status == "accepted"


# ---- properties ------------------------------------------------------------------------------

FORWARD = [
    ("accepted", {}),
    ("preparing", {"late_reason": "kitchen_busy"}),
    ("rider_assigned", {"rider": "asha"}),
    ("rider_at_restaurant", {}),
    ("ready", {"expected_at": at(50).isoformat()}),
    ("rider_unassigned", {}),
    ("rider_assigned", {"rider": "bao"}),
    ("picked_up", {}),
    ("eta_changed", {"expected_at": at(55).isoformat()}),
    ("rider_nearby", {}),
    ("rider_arrived", {}),
]
ENDINGS = [
    [],
    [("delivered", {}), ("refund_changed", {"state": "requested", "amount": 500})],
    [("cancelled", {"reason": "sold_out"}), ("refund_changed", {"state": "refunded", "amount": 1})],
    [("delivery_failed", {"reason": "damaged"}), ("cancelled", {"reason": "delivery_failed"})],
]


@st.composite
def valid_streams(draw: st.DrawFn) -> list[OrderEventIn]:
    """Any part of the way, in its order, with gaps in the sequence, then at most one ending."""
    taken = [step for step in FORWARD if draw(st.booleans())] + draw(st.sampled_from(ENDINGS))
    sequence, stream = 0, []
    for kind, payload in taken:
        sequence += draw(st.integers(1, 3))
        stream.append(happened(kind, sequence, **payload))
    return stream


any_event = st.builds(
    lambda kind, n, source: happened(
        kind,
        n,
        source=source,
        **(
            {"rider": "asha"}
            if kind == "rider_assigned"
            else {"state": "requested", "amount": 5}
            if kind == "refund_changed"
            else {"expected_at": at(n).isoformat()}
            if kind == "eta_changed"
            else {}
        ),
    ),
    st.sampled_from(EventType.values),
    st.integers(1, 30),
    st.sampled_from(["kitchen", "courier"]),
)


@given(valid_streams(), st.randoms(use_true_random=False))
def test_any_arrival_order_of_a_valid_stream_gives_the_same_state(
    stream: list[OrderEventIn], chance: random.Random
) -> None:
    shuffled = stream.copy()
    chance.shuffle(shuffled)
    result = folded(*stream)
    assert not result.refused
    assert folded(*shuffled) == result


@given(st.lists(any_event, max_size=15, unique_by=lambda e: e.event_id))
def test_no_stream_leads_to_states_that_do_not_go_together(events: list[OrderEventIn]) -> None:
    state = folded(*events).state
    assert state.delivery_state in ALLOWED[Status(state.status)]
    assert (state.delivered_at is not None) == (state.status == "delivered")
    assert (state.cancelled_at is not None) == (state.status == "cancelled")
    assert (state.failed_at is not None) == (state.delivery_state == "failed")
