"""The customer's page: "Your orders", with the chat on it."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from orders.errors import NotACustomer
from orders.selectors import OrderFacts, customer_of, recent_order_facts

#: The stages of a delivery as the card shows them; an order is at the last one it has reached.
STAGES = ("Accepted", "Preparing", "On the way", "Delivered")
_REACHED = {"placed": 0, "accepted": 1, "preparing": 2, "ready": 2, "picked_up": 3, "delivered": 4}
#: Short names for where an order is, by delivery state and else by status.
_LABELS = {
    "on_the_way": "On the way",
    "nearby": "Almost there",
    "arrived": "At your door",
    "failed": "Not delivered",
    "placed": "Placed",
    "accepted": "Accepted",
    "preparing": "Being prepared",
    "ready": "Ready",
    "delivered": "Delivered",
    "cancelled": "Cancelled",
}


@dataclass(frozen=True, slots=True)
class Step:
    """``state`` is done, now or next."""

    label: str
    state: str


@dataclass(frozen=True, slots=True)
class OrderCard:
    """One order as the page shows it. ``tone`` colours the label: going, good, late or bad."""

    number: str
    restaurant: str
    placed_at: str
    label: str
    tone: str
    headline: str
    detail: str
    late: str
    refund: str | None
    items: tuple[str, ...]
    total: str
    steps: tuple[Step, ...]


@never_cache
@require_safe
@login_required
def orders_page(request: HttpRequest) -> HttpResponse:
    try:
        customer = customer_of(request.user)
    except NotACustomer:
        return render(request, "assistant/no_orders.html")
    facts = recent_order_facts(customer)
    context = {
        "customer": customer,
        "active": [card(order) for order in facts if order.active],
        "earlier": [card(order) for order in facts if not order.active],
    }
    return render(request, "assistant/orders.html", context)


def card(facts: OrderFacts) -> OrderCard:
    shown = facts.display()
    words = _whole_times(_sentence(facts.status_text.partition(": ")[2] or facts.status_text))
    headline = _whole_times(_headline(facts, shown))
    return OrderCard(
        number=facts.number,
        restaurant=facts.restaurant,
        placed_at=_when(facts),
        label=_label(facts),
        tone=_tone(facts),
        headline=headline or words,
        detail=f"{words}." if headline else "",
        late=_late(facts, shown),
        refund=shown["refund"],
        items=tuple(shown["items"]),
        total=shown["total"],
        steps=_steps(facts) if facts.active else (),
    )


def _label(facts: OrderFacts) -> str:
    by_status = facts.status == "cancelled" or facts.delivery_state not in _LABELS
    return _LABELS[facts.status if by_status else facts.delivery_state]


def _headline(facts: OrderFacts, shown: dict[str, Any]) -> str:
    """What the customer looks for first: when it arrives. Empty when nothing is to arrive."""
    if not facts.active or shown["expected_at"] is None:
        return ""
    if facts.delivery_state == "arrived":
        return "At your door"
    minutes = facts.expected_in_minutes
    if not minutes:
        return "Any minute now"
    return f"Arrives at {shown['expected_at']}, in about {minutes} min"


def _late(facts: OrderFacts, shown: dict[str, Any]) -> str:
    if not facts.active or not facts.minutes_late:
        return ""
    because = f" because {shown['late_reason']}" if shown["late_reason"] else ""
    return f"{facts.minutes_late} min later than promised{because}."


def _tone(facts: OrderFacts) -> str:
    if facts.status == "cancelled" or facts.delivery_state == "failed":
        return "bad"
    if facts.status == "delivered":
        return "good"
    return "late" if facts.minutes_late else "going"


def _steps(facts: OrderFacts) -> tuple[Step, ...]:
    reached = _REACHED[facts.status]
    return tuple(
        Step(label, "done" if at < reached else "now" if at == reached else "next")
        for at, label in enumerate(STAGES, start=1)
    )


def _when(facts: OrderFacts) -> str:
    placed, now = facts.placed_at, facts.now
    time = f"{placed.hour % 12 or 12}:{placed:%M} {'AM' if placed.hour < 12 else 'PM'}"
    if placed.date() == now.date():
        return f"today at {time}"
    if (now.date() - placed.date()).days == 1:
        return f"yesterday at {time}"
    return f"on {placed:%B} {placed.day} at {time}"


def _whole_times(words: str) -> str:
    """No line break within "7:45 PM"."""
    return words.replace(" AM", "\N{NO-BREAK SPACE}AM").replace(" PM", "\N{NO-BREAK SPACE}PM")


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
