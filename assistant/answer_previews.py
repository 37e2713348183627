"""Trying answers out for staff: a template against an order, a question against everything.

Nothing here writes, and nothing is counted as given.
"""

import importlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from assistant import answer_cache, answer_templates, placeholders
from assistant.answer_templates import NoValue, Template
from assistant.cached_answer_selectors import people_named_in
from assistant.errors import InvalidTemplate
from assistant.models import Category
from orders.facts import OrderFacts, facts_of
from orders.models import Order
from orders.states import ALLOWED, DeliveryState, Status

logger = logging.getLogger(__name__)

#: Orders looked at when one of each state is sought.
_ORDERS = 2000


@dataclass(frozen=True, slots=True)
class Sample:
    """An order to try answers on."""

    number: str
    status: str
    delivery_state: str
    label: str


@dataclass(frozen=True, slots=True)
class Preview:
    """What a customer would read; else `problems`, or why it does not fit this order."""

    text: str = ""
    problems: list[str] = field(default_factory=list)
    misfit: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """Everything that would happen to a question, up to the model."""

    understood: Any
    lookup: answer_cache.Lookup | None
    verdict: str
    category: Category | None = None


def samples() -> list[Sample]:
    """The latest order in each state, in the order of an order's life. Two queries."""
    newest: dict[tuple[str, str], int] = {}
    rows = Order.objects.order_by("-placed_at").values_list("status", "delivery_state", "pk")
    for status, delivery, pk in rows[:_ORDERS]:
        newest.setdefault((status, delivery), pk)
    orders = Order.objects.select_related("restaurant").in_bulk(list(newest.values()))
    found = []
    for status, allowed in ALLOWED.items():
        for delivery in allowed:
            order = orders.get(newest.get((status, delivery), 0))
            if order is not None:
                found.append(_sample(order))
    return found


def _sample(order: Order) -> Sample:
    status, delivery = Status(order.status).label, DeliveryState(order.delivery_state).label
    state = status if status == delivery else f"{status}, {delivery.lower()}"
    label = f"{state} · {order.number} · {order.restaurant.name}"
    return Sample(order.number, order.status, order.delivery_state, label)


def facts_of_number(number: str) -> OrderFacts | None:
    """The facts of any order; None when there is none of this number. Two queries."""
    rows = Order.objects.with_people().prefetch_related("items")
    order = rows.filter(number=number).first() if number else None
    return facts_of(order, timezone.now()) if order else None


def preview(text: str, facts: OrderFacts | None) -> Preview:
    """A template as it would be saved, filled for an order."""
    text = answer_templates.clean(text)
    try:
        template = answer_templates.check(text, people_named_in(text))
    except InvalidTemplate as error:
        return Preview(problems=error.problems)
    return _rendered(template, facts)


def _rendered(template: Template, facts: OrderFacts | None) -> Preview:
    try:
        return Preview(text=template.render(facts))
    except NoValue as error:
        return Preview(misfit=f"{error}. The model would answer.")


def values(facts: OrderFacts | None) -> list[tuple[placeholders.Placeholder, str | None]]:
    """Every placeholder with its value for an order."""
    return [(each, each.value(facts) if facts else None) for each in placeholders.ALL]


def understander() -> Callable[..., Any] | None:
    """The understanding's function; None in a deployment without it."""
    try:
        return getattr(importlib.import_module("assistant.understanding"), "understand", None)
    except ImportError as error:
        logger.debug("no understanding: %s", error)
        return None


def try_question(text: str, facts: OrderFacts | None, language: str = "en") -> Trial:
    """What would happen to this question, asked alone about this order."""
    understand = understander()
    if understand is None:
        return Trial(None, None, "Questions are not understood yet: the model answers them all.")
    understood = understand(text, facts=facts)
    category = Category.objects.filter(slug=understood.category).first()
    if understood.reason == "classifier_off":
        return Trial(understood, None, "The classifier is not prepared: the model answers.")
    if category is not None and category.fixed_reply:
        return Trial(understood, None, "The category’s fixed reply is given.", category)
    if category is not None and category.escalates:
        return Trial(understood, None, "A person takes over.", category)
    lookup = answer_cache.look_up(understood.category, understood.intent, facts, language)
    if not understood.sure:
        verdict = "Not sure enough for a prepared answer: the model answers."
    elif lookup.hit is None:
        verdict = "Understood, but there is no answer that fits: the model answers."
    else:
        verdict = "This prepared answer is given."
    return Trial(understood, lookup, verdict, category)
