"""Reading orders. Nothing here writes, and everything is bounded to one customer's own orders.

All functions are synchronous; an async caller wraps them with `database_sync_to_async`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from .errors import NotACustomer, OrderNotFound
from .facts import ItemFacts, OrderFacts, facts_of
from .models import Customer, Order

# How many of a customer's latest orders a question can mean by a restaurant's name.
RECENT = 50

# A hyphen may have become a non-breaking hyphen or a dash on its way through a phone's keyboard.
_NUMBER = re.compile(
    r"(?<![\w-])QB[-\u2010\u2011\u2013\s]?([0-9]{4,12})(?!\w)|#\s?([0-9]{4,12})(?!\w)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class OrderBrief:
    """Enough to tell a customer's orders apart."""

    order_id: int
    number: str
    restaurant: str
    status: str
    delivery_state: str
    placed_at: datetime
    active: bool

    @property
    def label(self) -> str:
        return f"{self.restaurant} ({self.number})"


@dataclass(frozen=True, slots=True)
class Picked:
    """The order that is meant. `how`: opened_on, number, restaurant, active or latest."""

    order: OrderBrief
    how: str

    @property
    def number(self) -> str:
        return self.order.number


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Several orders may be meant: ask which. Latest first."""

    orders: tuple[OrderBrief, ...]


def customer_of(user: Any) -> Customer:
    """The customer of a signed-in user. Raises `NotACustomer`. One query."""
    customer = Customer.objects.filter(user_id=user.pk).first() if user.pk else None
    if customer is None:
        raise NotACustomer("this user has no customer record")
    return customer


def order_facts(customer: Customer, number: str, *, now: datetime | None = None) -> OrderFacts:
    """The facts of one of the customer's orders. Raises `OrderNotFound`. Two queries."""
    order = (
        Order.objects.for_customer(customer)
        .with_people()
        .prefetch_related("items")
        .filter(number=normal_number(number))
        .first()
    )
    if order is None:
        raise OrderNotFound(number)
    return facts_of(order, now or timezone.now())


def recent_order_facts(
    customer: Customer, *, limit: int = 20, now: datetime | None = None
) -> tuple[OrderFacts, ...]:
    """The customer's orders, active ones first, then the latest. Two queries."""
    now = now or timezone.now()
    rows = (
        Order.objects.for_customer(customer).with_people().prefetch_related("items").latest_first()
    )
    facts = [facts_of(order, now) for order in rows[:limit]]
    return tuple(sorted(facts, key=lambda f: not f.active))


def pick_order(
    customer: Customer, *, opened_on: str | None, text: str
) -> Picked | Ambiguous | None:
    """Which order a question means; None when the customer has none. One query,
    or one for each number named (three at most).

    In this order: one that the text names by its number; the one the widget was opened on; one
    named by its restaurant; the only active one; the latest. Several active ones are `Ambiguous`.
    A number such as QB-1042 that is not this customer's raises `OrderNotFound`, whoever's it is;
    a bare #1042 may as well be a flat's and is passed over then.
    """
    if named := _named_by_number(customer, text):
        return Picked(named[0], "number") if len(named) == 1 else Ambiguous(named)
    if opened_on:
        return Picked(_own(customer, opened_on), "opened_on")
    orders = [
        _brief(row)
        for row in Order.objects.for_customer(customer)
        .select_related("restaurant")
        .latest_first()[:RECENT]
    ]
    if not orders:
        return None
    if same_restaurant := _named_by_restaurant(orders, text):
        return _one_of(same_restaurant, "restaurant")
    active = [order for order in orders if order.active]
    return _one_of(active, "active") if active else Picked(orders[0], "latest")


def latest_active_number(customer: Customer) -> str | None:
    """The number of the customer's latest active order. One query."""
    return (
        Order.objects.for_customer(customer)
        .active()
        .latest_first()
        .values_list("number", flat=True)
        .first()
    )


def numbers_in(text: str) -> list[str]:
    """The order numbers in a text, in their normal form: "qb 1042" and "#1042" → "QB-1042"."""
    return [f"QB-{match[1] or match[2]}" for match in _NUMBER.finditer(text)]


def normal_number(number: str) -> str:
    """The form in which a number is stored; what is no number at all stays as it is."""
    text = number.strip().upper()
    return next(
        iter(numbers_in(text)), f"QB-{text}" if text.isascii() and text.isdecimal() else text
    )


def _named_by_number(customer: Customer, text: str) -> tuple[OrderBrief, ...]:
    found = []
    for match in list(_NUMBER.finditer(text))[:3]:
        try:
            found.append(_own(customer, match[1] or match[2]))
        except OrderNotFound:
            if match[1]:
                raise
    return tuple(dict.fromkeys(found))


def _own(customer: Customer, number: str) -> OrderBrief:
    row = (
        Order.objects.for_customer(customer)
        .select_related("restaurant")
        .filter(number=normal_number(number))
        .first()
    )
    if row is None:
        raise OrderNotFound(number)
    return _brief(row)


def _brief(row: Order) -> OrderBrief:
    return OrderBrief(
        row.pk,
        row.number,
        row.restaurant.name,
        row.status,
        row.delivery_state,
        row.placed_at,
        row.is_active,
    )


def _one_of(orders: Sequence[OrderBrief], how: str) -> Picked | Ambiguous:
    """The only active one, else ask between the active ones, else the latest."""
    active = tuple(order for order in orders if order.active)
    if len(active) > 1:
        return Ambiguous(active)
    return Picked((active or orders)[0], how)


def _named_by_restaurant(orders: Sequence[OrderBrief], text: str) -> list[OrderBrief]:
    words = f" {_plain(text)} "
    return [order for order in orders if f" {_plain(order.restaurant)} " in words]


def _plain(text: str) -> str:
    """Lower case without accents and punctuation, so that "cafe zoe" names "Café Zoë"."""
    owned = re.sub(r"['’]s?\b", "", text.casefold()).replace("đ", "d").replace("ø", "o")
    letters = unicodedata.normalize("NFKD", owned)
    kept = "".join(c for c in letters if not unicodedata.combining(c))
    return " ".join(re.findall(r"\w+", kept))


__all__ = [
    "Ambiguous",
    "ItemFacts",
    "OrderBrief",
    "OrderFacts",
    "Picked",
    "customer_of",
    "facts_of",
    "latest_active_number",
    "normal_number",
    "numbers_in",
    "order_facts",
    "pick_order",
    "recent_order_facts",
]
