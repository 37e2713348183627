"""Orders and event streams for these tests: in memory, or in the database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from django.contrib.auth.models import User

from orders.feed import OrderEventIn
from orders.models import Customer, Order, OrderItem, Restaurant, Rider
from orders.services import NewItem, NewOrder, place_orders, record_events

# 19:33 in New York.
NOW = datetime(2026, 3, 4, 0, 33, 20, tzinfo=UTC)
PLACED_AT = NOW - timedelta(minutes=43)

_numbers = count(5001)


def at(minutes: float) -> datetime:
    """So many minutes after the order was placed."""
    return PLACED_AT + timedelta(minutes=minutes)


def happened(
    kind: str, sequence: int, *, order: str = "QB-1042", source: str = "platform", **payload: Any
) -> OrderEventIn:
    return OrderEventIn(
        event_id=f"{source}-{order}-{sequence}",
        order=order,
        source=source,
        sequence=sequence,
        type=kind,
        occurred_at=at(sequence * 3),
        payload=payload,
    )


def order_in_memory(**values: Any) -> Order:
    """An order on the way, 15 minutes late, that no database knows."""
    rider = values.pop("rider", Rider(code="asha", first_name="Asha", phone="+1 555 0160"))
    fields: dict[str, Any] = {
        "number": "QB-1042",
        "placed_at": PLACED_AT,
        "promised_at": NOW - timedelta(minutes=3),
        "expected_at": NOW + timedelta(minutes=12),
        "items_total": 1541,
        "delivery_fee": 299,
        "total": 1840,
        "payment_label": "Card",
        "delivery_address": "14 Lantern Street, Harborview",
        "status": "picked_up",
        "delivery_state": "on_the_way",
        "late_reason": "kitchen_busy",
        "status_changed_at": NOW - timedelta(minutes=4),
    } | values
    user = User(pk=7, username="maya", email="maya@example.com")
    order = Order(
        pk=42,
        customer=Customer(pk=7, user=user, name="Maya Patel", phone="+1 555 0110"),
        restaurant=Restaurant(pk=3, name="Bella Napoli", phone="+1 555 0140"),
        rider=rider,
        **fields,
    )
    items = [
        OrderItem(name="Margherita", quantity=2, unit_price=458, options="large"),
        OrderItem(name="Tiramisu", quantity=1, unit_price=625),
    ]
    order._prefetched_objects_cache = {"items": items}  # type: ignore[attr-defined]
    return order


def a_customer(username: str = "maya") -> Customer:
    user = User.objects.create_user(username, f"{username}@example.com")
    return Customer.objects.create(user=user, name=username.title())


def a_rider(code: str = "asha", name: str = "Asha") -> Rider:
    return Rider.objects.create(code=code, first_name=name)


def an_order(
    customer: Customer, number: str = "", *, restaurant: str = "Bella Napoli", ago: float = 43
) -> Order:
    """A placed order in the database, placed so many minutes before `NOW`."""
    kitchen, _ = Restaurant.objects.get_or_create(name=restaurant, city="Harborview")
    placed_at = NOW - timedelta(minutes=ago)
    (order,) = place_orders(
        [
            NewOrder(
                number=number or f"QB-{next(_numbers)}",
                customer=customer,
                restaurant=kitchen,
                items=(NewItem("Margherita", 2, 458), NewItem("Tiramisu", 1, 625)),
                placed_at=placed_at,
                promised_at=placed_at + timedelta(minutes=40),
                delivery_fee=299,
                delivery_address="14 Lantern Street, Harborview",
            )
        ]
    )
    return order


def deliver(number: str) -> None:
    record_events([happened("delivered", 1, order=number)])
