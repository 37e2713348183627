"""Writing: batches of events, their report, and the signal after the commit."""

import itertools
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, transaction

from orders.errors import InvalidOrder
from orders.feed import OrderEventIn
from orders.models import Order, OrderEvent
from orders.services import (
    NewItem,
    NewOrder,
    Result,
    erase_orders,
    place_orders,
    record_events,
    start_over,
)
from orders.signals import order_changed

from .builders import NOW, PLACED_AT, a_customer, a_rider, an_order, at, happened

pytestmark = pytest.mark.django_db


@pytest.fixture
def order() -> Order:
    a_rider()
    return an_order(a_customer(), "QB-1042")


def results(*events: OrderEventIn) -> list[str]:
    return [str(line.result) for line in record_events(events)]


def test_a_batch_moves_the_order_and_reports_each_line(order: Order) -> None:
    assert results(
        happened("accepted", 1),
        happened("rider_assigned", 2, rider="asha"),
        happened("picked_up", 4, expected_at=at(55).isoformat()),
        happened("ready", 3),
        happened("accepted", 1),
        happened("ready", 1, order="QB-9999"),
    ) == ["applied", "applied", "applied", "late", "duplicate", "unknown_order"]
    order.refresh_from_db()
    assert (order.status, order.delivery_state) == ("picked_up", "on_the_way")
    assert order.rider is not None
    assert order.rider.first_name == "Asha"
    assert order.expected_at == at(55)
    assert (order.last_sequence, order.version) == (4, 2)
    assert order.events.count() == 5  # with the checkout's own


def test_the_same_batch_twice_changes_nothing(order: Order) -> None:
    batch = [happened("accepted", 1), happened("ready", 2)]
    record_events(batch)
    before = Order.objects.values().get(pk=order.pk)
    assert results(*batch) == ["duplicate", "duplicate"]
    assert Order.objects.values().get(pk=order.pk) == before


def test_a_late_event_is_kept_and_moves_nothing_back(order: Order) -> None:
    record_events([happened("picked_up", 5)])
    assert results(happened("preparing", 2)) == ["late"]
    order.refresh_from_db()
    assert order.status == "picked_up"
    assert order.events.get(sequence=2).outcome == "late"


def test_a_late_rider_is_known_after_all(order: Order) -> None:
    record_events([happened("picked_up", 5)])
    record_events([happened("rider_assigned", 2, rider="asha")])
    order.refresh_from_db()
    assert (order.status, order.delivery_state) == ("picked_up", "on_the_way")
    assert order.rider is not None


def test_a_move_out_of_a_terminal_state_is_stored_as_refused(order: Order) -> None:
    record_events([happened("delivered", 5)])
    (line,) = record_events([happened("preparing", 6)])
    assert (line.result, line.why) == (Result.REFUSED, "the order is already delivered")
    order.refresh_from_db()
    assert order.status == "delivered"
    stored = order.events.get(event_id="platform-QB-1042-6")
    assert (stored.applied, stored.why_not) == (False, "the order is already delivered")


def test_a_late_cancellation_does_not_undo_a_delivery(order: Order) -> None:
    record_events([happened("delivered", 5)])
    assert results(happened("cancelled", 4)) == ["refused"]
    order.refresh_from_db()
    assert order.status == "delivered"
    assert results(happened("rider_nearby", 3)) == ["late"]  # and later folds stay sound
    order.refresh_from_db()
    assert order.status == "delivered"


def test_two_events_cannot_share_a_sequence(order: Order) -> None:
    record_events([happened("accepted", 1)])
    other = OrderEventIn("other", "QB-1042", "platform", 1, "ready", at(5))
    (line,) = record_events([other])
    assert (line.result, line.why) == (Result.REFUSED, "another event has this sequence")
    assert not OrderEvent.objects.filter(event_id="other").exists()


def test_every_arrival_order_leaves_the_same_row() -> None:
    a_rider()
    customer = a_customer()
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("preparing", {"late_reason": "traffic"}),
        ("rider_assigned", {"rider": "asha"}),
        ("picked_up", {"expected_at": at(50).isoformat()}),
        ("delivered", {}),
    ]
    rows = []
    for n, arrival in enumerate(itertools.permutations(range(4))):
        order = an_order(customer, f"QB-{2000 + n}")
        for i in arrival:
            kind, payload = kinds[i]
            record_events([happened(kind, i + 1, order=order.number, **payload)] * 2)
        rows.append(Order.objects.values_list(*STATE).get(pk=order.pk))
    assert set(rows) == {rows[0]}
    assert rows[0][0] == "delivered"


STATE = (
    *("status", "delivery_state", "rider__code", "expected_at", "late_reason", "delivered_at"),
    *("last_sequence", "status_changed_at"),
)


def test_a_batch_costs_few_queries(order: Order, django_assert_max_num_queries: Any) -> None:
    others = [an_order(order.customer, f"QB-{3000 + n}") for n in range(10)]
    batch = [happened("accepted", 1, order=o.number) for o in others]
    with django_assert_max_num_queries(8):  # savepoint, 4 reads, 2 writes, release
        record_events(batch)
    assert set(Order.objects.filter(pk__in=[o.pk for o in others]).values_list("status")) == {
        ("accepted",)
    }


def test_a_batch_is_recorded_as_a_whole_or_not_at_all(
    order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise DatabaseError("away")

    monkeypatch.setattr("django.db.models.query.QuerySet.bulk_update", fail)
    with pytest.raises(DatabaseError), transaction.atomic():
        record_events([happened("accepted", 1)])
    assert order.events.count() == 1


def test_receivers_hear_of_a_change_after_the_commit(
    order: Order, django_capture_on_commit_callbacks: Any
) -> None:
    heard: list[dict[str, Any]] = []

    def failing(**kwargs: Any) -> None:
        raise RuntimeError("a receiver's own trouble")

    def receiver(**kwargs: Any) -> None:
        heard.append({k: kwargs[k] for k in ("number", "order_id", "customer_id", "version")})

    order_changed.connect(failing)
    order_changed.connect(receiver)
    try:
        with django_capture_on_commit_callbacks() as callbacks:
            record_events([happened("accepted", 1)])
            assert heard == []
        for callback in callbacks:
            callback()
        with django_capture_on_commit_callbacks(execute=True):
            record_events([happened("accepted", 1)])  # nothing new
    finally:
        order_changed.disconnect(failing)
        order_changed.disconnect(receiver)
    assert heard == [
        {
            "number": "QB-1042",
            "order_id": order.pk,
            "customer_id": order.customer_id,
            "version": 2,
        }
    ]


def test_an_order_is_placed_with_its_items_and_sums(order: Order) -> None:
    assert (order.items_total, order.total) == (1541, 1840)
    assert [str(item) for item in order.items.all()] == ["2 × Margherita", "1 × Tiramisu"]
    assert order.expected_at == order.promised_at
    assert [e.type for e in order.events.all()] == ["placed"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"items": ()},
        {"items": (NewItem("Soup", 0, 500),)},
        {"discount": 5000},
        {"delivery_fee": -1},
        {"promised_at": at(-1)},
    ],
)
def test_an_order_that_cannot_be_is_not_placed(order: Order, wrong: dict[str, Any]) -> None:
    values: dict[str, Any] = {
        "number": "QB-7000",
        "customer": order.customer,
        "restaurant": order.restaurant,
        "items": (NewItem("Soup", 1, 500),),
        "placed_at": PLACED_AT,
        "promised_at": NOW,
        "delivery_address": "14 Lantern Street",
    }
    with pytest.raises(InvalidOrder):
        place_orders([NewOrder(**values | wrong)])
    assert Order.objects.count() == 1


def test_a_number_is_given_once(order: Order) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        an_order(order.customer, "QB-1042")


def test_starting_over_keeps_the_row_and_forgets_its_past(order: Order) -> None:
    record_events([happened("delivered", 1)])
    new = NewOrder(
        number="QB-1042",
        customer=order.customer,
        restaurant=order.restaurant,
        items=(NewItem("Soup", 1, 500),),
        placed_at=NOW,
        promised_at=at(90),
        delivery_address="14 Lantern Street",
    )
    start_over([new])
    again = Order.objects.get(number="QB-1042")
    assert (again.pk, again.status, again.delivered_at) == (order.pk, "placed", None)
    assert (again.total, again.version) == (500, 3)
    assert again.events.count() == again.items.count() == 1


def test_erasing_takes_items_and_events_along(order: Order) -> None:
    assert erase_orders([order]) == 1
    assert not OrderEvent.objects.exists()
