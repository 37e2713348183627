"""Moves the demo's orders along in real time, one `step` at a time, through `record_events`.

Nothing is remembered between steps: an order's journey follows from its number, and how far it
has come from its events. A step that finds itself hours late (the computer slept) catches up, and
every event still happens at the time at which it was due.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, IntegerField, Max, Q, QuerySet
from django.db.models.functions import Cast as AsType
from django.db.models.functions import Substr

from orders.feed import OrderEventIn
from orders.models import Order
from orders.services import Result, erase_orders, place_orders, record_events
from orders.states import LateReason

from . import people
from .journeys import SOURCE, Journey, event
from .loading import SEED, cast_now, demo_orders, new_order
from .table import Row, active_pattern, rows

# Orders that each customer keeps, the oldest finished ones go first: the demo runs for days.
KEEP = 12


@dataclass(frozen=True, slots=True)
class Moved:
    """What one step did; false when there was nothing to do."""

    events: int = 0
    placed: int = 0
    erased: int = 0

    def __bool__(self) -> bool:
        return any((self.events, self.placed, self.erased))


def step(now: datetime, *, speed: float = 1) -> Moved:
    """Record what is due by `now`, then replace finished orders so that no customer runs dry.

    Before there is demo data it finds nothing to do. A quiet step only reads.
    """
    orders = list(_with_progress())
    if not orders:
        return Moved()
    due = [happened for order in orders for happened in _due(order, now, speed)]
    if not due and not _missing(orders):
        return Moved()
    with transaction.atomic():
        lines = record_events(due)
        recorded = sum(line.result in (Result.APPLIED, Result.LATE) for line in lines)
        placed = _replace(now, speed)
        erased = _erase_oldest() if placed else 0
    return Moved(recorded, placed, erased)


def journey_of(number: str) -> Journey:
    """The journey of a demo order: the table's, or one drawn from its number."""
    if row := rows().get(number):
        return row.journey
    chance = random.Random(f"{SEED}:journey:{number}")  # noqa: S311 - reproducible demo data
    ending, refund = chance.choices(
        (
            ("delivered", ()),
            ("cancelled:sold_out", ("under_way", "refunded")),
            ("failed:nobody_home", ("requested",)),
        ),
        weights=(18, 1, 1),
    )[0]
    delay, reason = chance.choice(
        (
            *((0, ""),) * 6,
            *((chance.randint(6, 35), reason) for reason in (*LateReason.values, "")),
        )
    )
    return Journey(
        route=chance.choice(("usual", "rider_last", "rider_first")),
        ending=ending,
        delay=delay if ending == "delivered" else 0,
        reason=reason,
        rider=chance.choice(people.RIDERS)[0],
        refund=refund,
    )


def _with_progress() -> QuerySet[Order]:
    """The demo's orders with `steps_done` and `last_at`, the time of the latest step."""
    return (
        demo_orders()
        .select_related("customer__user")
        .annotate(
            steps_done=Count("events", filter=Q(events__source=SOURCE)),
            last_at=Max("events__occurred_at"),
        )
        .order_by("pk")
    )


def _due(order: Order, now: datetime, speed: float) -> Iterator[OrderEventIn]:
    steps = journey_of(order.number).steps()
    at, done = order.last_at, order.steps_done  # type: ignore[attr-defined]
    for i in range(done, len(steps)):
        at += timedelta(minutes=steps[i].minutes / speed)
        if at > now:
            return
        yield event(order.number, steps, i, at, total=order.total, speed=speed)


def _missing(orders: list[Order]) -> list[str]:
    """The customers who have fewer orders under way than they always have, once for each."""
    active = Counter(order.customer.user.username for order in orders if order.is_active)
    return [who for who, n in active_pattern().items() for _ in range(n - active[who])]


def _replace(now: datetime, speed: float) -> int:
    missing = _missing(list(demo_orders().select_related("customer__user")))
    if not missing:
        return 0
    cast = cast_now()
    first = _greatest_number() + 1
    cities = {person.username: person.city for person in people.CUSTOMERS}
    new = []
    for number, who in enumerate(missing, start=first):
        name = f"QB-{number}"
        near = [key for key, kitchen in cast.restaurants.items() if kitchen.city == cities[who]]
        if who not in cast.customers or not near:
            continue
        chance = random.Random(f"{SEED}:where:{name}")  # noqa: S311 - reproducible demo data
        row = Row(who, chance.choice(near), journey_of(name), "placed", 0)
        new.append(new_order(name, row, cast, now, speed=speed))
    return len(place_orders(new))


def _greatest_number() -> int:
    digits = AsType(Substr("number", 4), IntegerField())
    return int(Order.objects.aggregate(greatest=Max(digits))["greatest"])


def _erase_oldest() -> int:
    kept: Counter[int] = Counter()
    surplus = []
    for order in demo_orders().latest_first():
        kept[order.customer_id] += 1
        if kept[order.customer_id] > KEEP and not order.is_active:
            surplus.append(order)
    return erase_orders(surplus)
