"""Categories with the shipped answers, and orders in every state, for the answer cache's tests."""

from datetime import timedelta
from typing import Any

from assistant.cached_answer_defaults import install_defaults, shipped
from assistant.models import CachedAnswer, Category, Intent
from orders.facts import OrderFacts, facts_of
from orders.models import Order
from orders.states import ALLOWED, DeliveryState, Status
from tests.orders.builders import NOW, order_in_memory

STATES = [(status, delivery) for status, allowed in ALLOWED.items() for delivery in allowed]


def install() -> None:
    """The shipped answers, live, with every category that they need."""
    for entry in shipped():
        category, _ = Category.objects.get_or_create(
            slug=entry.category, defaults={"title": entry.category}
        )
        Category.objects.filter(pk=category.pk).update(may_cache=True, active=True)
        if entry.intent:
            Intent.objects.get_or_create(
                category=category, slug=entry.intent, defaults={"title": entry.intent}
            )
    CachedAnswer.objects.update(state="draft", current=None)
    CachedAnswer.objects.all().delete()
    install_defaults()


def order_in(status: Status, delivery: DeliveryState, **values: Any) -> Order:
    """An order in this state with the times that it would have."""
    fields: dict[str, Any] = {"status": status, "delivery_state": delivery}
    if status == Status.DELIVERED:
        fields |= {"delivered_at": NOW - timedelta(minutes=5), "expected_at": None}
    elif status == Status.CANCELLED:
        fields |= {
            "cancelled_at": NOW - timedelta(minutes=5),
            "expected_at": None,
            "cancel_reason": "sold_out",
            "rider": None,
        }
    elif delivery == DeliveryState.FAILED:
        fields |= {"failed_at": NOW, "failure_reason": "nobody_home", "expected_at": None}
    if delivery == DeliveryState.UNASSIGNED:
        fields["rider"] = None
    return order_in_memory(**fields | values)


def facts_in(status: Status, delivery: DeliveryState, **values: Any) -> OrderFacts:
    return facts_of(order_in(status, delivery, **values), NOW)
