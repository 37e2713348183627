"""What the database itself refuses, and named querysets."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from orders.errors import AppendOnly
from orders.models import Customer, Order, OrderEvent
from orders.services import record_events

from .builders import NOW, a_customer, an_order, happened

pytestmark = pytest.mark.django_db


@pytest.fixture
def order() -> Order:
    return an_order(a_customer(), "QB-1042")


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "lost"},
        {"delivery_state": "lost"},
        {"refund_state": "lost"},
        {"currency": "XXX"},
        {"total": 1},
        {"items_total": -1541},
        {"tip": 100},
        {"status": "delivered"},
        {"status": "placed", "delivery_state": "on_the_way"},
        {"status": "cancelled"},
        {"status": "picked_up", "delivery_state": "failed"},
        {"delivered_at": NOW},
        {"refund_state": "refunded"},
        {"refund_amount": 100},
        {"refund_state": "refunded", "refund_amount": 1841},
        {"number": None},
        {"promised_at": None},
    ],
)
def test_the_database_refuses(order: Order, wrong: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Order.objects.filter(pk=order.pk).update(**wrong)


@pytest.mark.parametrize(
    "right",
    [
        {"tip": 100, "total": 1940},
        {"discount": 1840, "total": 0},
        {"status": "ready", "delivery_state": "at_restaurant"},
        {"status": "cancelled", "cancelled_at": NOW},
        {"refund_state": "refunded", "refund_amount": 1840},
    ],
)
def test_the_database_takes(order: Order, right: dict[str, Any]) -> None:
    assert Order.objects.filter(pk=order.pk).update(**right) == 1


def test_an_item_needs_a_quantity(order: Order) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        order.items.update(quantity=0)


def test_a_sequence_is_taken_once_within_source_and_order(order: Order) -> None:
    record_events([happened("accepted", 1)])
    values = OrderEvent.objects.values().get(event_id="platform-QB-1042-1")
    twin = OrderEvent(**{**values, "id": None, "event_id": "another"})
    with pytest.raises(IntegrityError), transaction.atomic():
        twin.save()


def test_events_are_only_ever_added(order: Order) -> None:
    event = order.events.get()
    with pytest.raises(AppendOnly):
        event.save()
    with pytest.raises(AppendOnly):
        event.delete()
    with pytest.raises(AppendOnly):
        order.events.update(type="ready")
    with pytest.raises(AppendOnly):
        order.events.all().delete()


def test_active_orders_are_those_for_which_something_is_to_come(order: Order) -> None:
    customer = order.customer
    delivered, cancelled, failed = (an_order(customer) for _ in range(3))
    record_events(
        [
            happened("delivered", 1, order=delivered.number),
            happened("cancelled", 1, order=cancelled.number),
            happened("delivery_failed", 1, order=failed.number),
        ]
    )
    assert list(Order.objects.active()) == [order]
    assert [o for o in Order.objects.all() if o.is_active] == [order]


def test_latest_first_and_for_customer(order: Order) -> None:
    newer = an_order(order.customer, ago=5)
    an_order(a_customer("liam"))
    mine = Order.objects.for_customer(order.customer).latest_first()
    assert list(mine) == [newer, order]
    assert newer.placed_at - order.placed_at == timedelta(minutes=38)


def test_a_customer_lives_in_a_known_time_zone() -> None:
    customer = Customer(user=a_customer().user, name="Maya", time_zone="Atlantis/Center")
    with pytest.raises(ValidationError) as raised:
        customer.full_clean()
    assert "time_zone" in raised.value.message_dict


def test_a_number_has_one_form(order: Order) -> None:
    order.number = "1042"
    with pytest.raises(ValidationError):
        order.full_clean()
