"""The one module that writes orders. Each function is one transaction, atomic as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.db.models import ProtectedError
from django.utils import timezone

from .errors import InvalidOrder
from .feed import OrderEventIn
from .fold import Event, OrderState, fold
from .models import Customer, Order, OrderEvent, OrderItem, Restaurant, Rider
from .signals import order_changed
from .states import TERMINAL, Currency, EventOutcome, EventType

PLACED_BY = "checkout"


class Result(StrEnum):
    APPLIED = "applied"
    DUPLICATE = "duplicate"  # this event id is already known: nothing was done
    LATE = "late"  # stored in its place behind a newer event of the same source
    REFUSED = "refused"  # it does not count; stored, unless its sequence is taken
    UNKNOWN_ORDER = "unknown_order"  # not stored: send it again once the order exists


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one event of a batch."""

    event_id: str
    order: str
    result: Result
    why: str = ""


@dataclass(frozen=True, slots=True)
class NewItem:
    name: str
    quantity: int
    unit_price: int  # cents
    options: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOrder:
    """An order to place. Amounts in cents, times aware."""

    number: str
    customer: Customer
    restaurant: Restaurant
    items: tuple[NewItem, ...]
    placed_at: datetime
    promised_at: datetime
    delivery_address: str
    delivery_instructions: str = ""
    delivery_fee: int = 0
    discount: int = 0
    tip: int = 0
    currency: str = Currency.USD
    payment_label: str = "Card"

    @property
    def items_total(self) -> int:
        return sum(item.quantity * item.unit_price for item in self.items)

    @property
    def total(self) -> int:
        return self.items_total + self.delivery_fee + self.tip - self.discount


@transaction.atomic
def place_orders(orders: Sequence[NewOrder]) -> list[Order]:
    """Place orders with their items and first event.

    Raises `InvalidOrder` for an order without items, with a promise before its placing or with a
    total below zero, `IntegrityError` for a number that is taken.
    """
    rows = Order.objects.bulk_create(_new_row(new) for new in orders)
    _add_contents(rows, orders)
    _announce(rows)
    return rows


@transaction.atomic
def start_over(orders: Sequence[NewOrder]) -> list[Order]:
    """Place orders anew under the numbers they have, events forgotten. For demo data only.

    The rows keep their primary keys, so that whatever points at them still does.
    """
    present = {
        row.number: row
        for row in Order.objects.select_for_update().filter(number__in=[o.number for o in orders])
    }
    OrderEvent.objects.filter(order__in=present.values()).erase()
    OrderItem.objects.filter(order__in=present.values()).delete()
    rows = [_new_row(new) for new in orders]
    for row in rows:
        if old := present.get(row.number):
            row.pk, row.version = old.pk, old.version + 1
    columns = [f.name for f in Order._meta.concrete_fields if not f.primary_key]
    Order.objects.bulk_update([row for row in rows if row.pk], columns)
    Order.objects.bulk_create(row for row in rows if not row.pk)
    _add_contents(rows, orders)
    _announce(rows)
    return rows


@transaction.atomic
def erase_orders(orders: Iterable[Order]) -> int:
    """Delete orders with their items and events, for retention and demo data; how many went.

    An order that another app protects stays.
    """
    erased = 0
    for order in orders:
        try:
            with transaction.atomic():
                order.delete()
        except ProtectedError:
            continue
        erased += 1
    return erased


_COPIED = (
    *("number", "customer", "restaurant", "placed_at", "promised_at", "currency", "items_total"),
    *("delivery_fee", "discount", "tip", "total", "payment_label"),
    *("delivery_address", "delivery_instructions"),
)


def _new_row(new: NewOrder) -> Order:
    _check_order(new)
    return Order(
        **{name: getattr(new, name) for name in _COPIED},
        expected_at=new.promised_at,
        status_changed_at=new.placed_at,
        last_sequence=1,
    )


def _add_contents(rows: Sequence[Order], orders: Sequence[NewOrder]) -> None:
    OrderItem.objects.bulk_create(
        OrderItem(order=row, **{name: getattr(item, name) for name in NewItem.__slots__})
        for row, new in zip(rows, orders, strict=True)
        for item in new.items
    )
    now = timezone.now()
    OrderEvent.objects.bulk_create(
        OrderEvent(
            order=row,
            event_id=f"{PLACED_BY}:{row.number}",
            source=PLACED_BY,
            sequence=1,
            type=EventType.PLACED,
            payload={"expected_at": row.promised_at.isoformat()},
            occurred_at=row.placed_at,
            received_at=now,
            outcome=EventOutcome.APPLIED,
        )
        for row in rows
    )


def _check_order(new: NewOrder) -> None:
    if not new.items or any(i.quantity < 1 or i.unit_price < 0 for i in new.items):
        raise InvalidOrder(f"{new.number}: needs items with a quantity and a price")
    if min(new.delivery_fee, new.discount, new.tip, new.total) < 0:
        raise InvalidOrder(f"{new.number}: an amount is below zero")
    if new.promised_at < new.placed_at:
        raise InvalidOrder(f"{new.number}: promised before it was placed")


@transaction.atomic
def record_events(events: Iterable[OrderEventIn]) -> list[Line]:
    """Store events and bring their orders up to date; one line of report for each, in order.

    Safe to repeat: an event id that is known is a duplicate. The orders are locked (Postgres) or
    the whole database is (SQLite), so two batches never fold the same order at once.
    """
    batch = list(events)
    numbers = {event.order for event in batch}
    orders = {
        order.number: order
        for order in Order.objects.select_for_update().filter(number__in=numbers).order_by("pk")
    }
    riders = dict(Rider.objects.values_list("code", "pk"))
    known = set(
        OrderEvent.objects.filter(event_id__in={e.event_id for e in batch}).values_list(
            "event_id", flat=True
        )
    )
    histories: dict[int, _History] = {
        order.pk: _History(order, frozenset(riders)) for order in orders.values()
    }
    for stored in OrderEvent.objects.filter(order__in=histories).order_by("pk"):
        histories[stored.order_id].remember(stored)

    lines: list[Line] = []
    for event in batch:
        order = orders.get(event.order)
        if order is None:
            lines.append(Line(event.event_id, event.order, Result.UNKNOWN_ORDER))
        elif event.event_id in known:
            lines.append(Line(event.event_id, event.order, Result.DUPLICATE))
        else:
            known.add(event.event_id)
            result, why = histories[order.pk].take(event)
            lines.append(Line(event.event_id, event.order, result, why))

    OrderEvent.objects.bulk_create(row for h in histories.values() for row in h.new_rows)
    changed = [h.order for h in histories.values() if h.write_state(riders)]
    Order.objects.bulk_update(changed, [*_FOLDED, "rider", "version"])
    _announce(changed)
    return lines


_FOLDED = tuple(name for name in OrderState.__slots__ if name != "rider_code")


class _History:
    """One order's events while a batch is being recorded."""

    def __init__(self, order: Order, riders: frozenset[str]) -> None:
        self.order = order
        self.riders = riders
        self.counted: list[Event] = []
        self.sequences: set[tuple[str, int]] = set()
        self.newest: dict[str, int] = {}
        self.state: OrderState | None = None
        self.new_rows: list[OrderEvent] = []

    def remember(self, stored: OrderEvent) -> None:
        self._note(stored)
        if stored.applied:
            self.counted.append(stored)

    def take(self, event: OrderEventIn) -> tuple[Result, str]:
        if (event.source, event.sequence) in self.sequences:
            # Two different events cannot share a place, so this one has no row of its own.
            return Result.REFUSED, "another event has this sequence"
        late = event.sequence < self.newest.get(event.source, 0)
        self._note(event)
        before = self.state or self._fold(self.counted)[0]
        state, refused = self._fold([*self.counted, event])
        why = refused.get(event.event_id, "")
        if not why and before.status in TERMINAL and state.status != before.status:
            # Its place lies before the end, but the customer has been told of that end.
            why = f"the order is already {before.status}"
        if why:
            result = Result.REFUSED
        else:
            result = Result.LATE if late else Result.APPLIED
            self.counted.append(event)
            self.state = state
        self.new_rows.append(
            OrderEvent(
                order=self.order,
                event_id=event.event_id,
                source=event.source,
                sequence=event.sequence,
                type=event.type,
                payload=dict(event.payload),
                occurred_at=event.occurred_at,
                received_at=timezone.now(),
                outcome=EventOutcome(result.value),
                why_not=why,
            )
        )
        return result, why

    def write_state(self, riders: dict[str, int]) -> bool:
        """Copy the fold to the row; tells whether anything a reader can see has changed."""
        if self.state is None:
            return False
        values: dict[str, Any] = {name: getattr(self.state, name) for name in _FOLDED}
        code = self.state.rider_code
        values["rider_id"] = riders[code] if code else None
        changed = any(getattr(self.order, name) != value for name, value in values.items())
        for name, value in values.items():
            setattr(self.order, name, value)
        self.order.version += changed
        return changed

    def _note(self, event: Event) -> None:
        self.sequences.add((event.source, event.sequence))
        self.newest[event.source] = max(self.newest.get(event.source, 0), event.sequence)

    def _fold(self, events: Sequence[Event]) -> tuple[OrderState, dict[str, str]]:
        folded = fold(
            events, placed_at=self.order.placed_at, total=self.order.total, riders=self.riders
        )
        return folded.state, dict(folded.refused)


def _announce(orders: Iterable[Order]) -> None:
    """Tell receivers after the commit; one that fails is logged and hurts nobody."""
    for order in orders:
        facts = {
            "number": order.number,
            "order_id": order.pk,
            "customer_id": order.customer_id,
            "version": order.version,
        }
        transaction.on_commit(
            lambda facts=facts: order_changed.send_robust(sender=Order, **facts)  # type: ignore[misc]
        )
