"""`OrderFacts`: what an answer about an order may say, with the decisions already made in it.

Only what an answer needs is in it: no phone number, e-mail, address or payment data.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from . import wording
from .decisions import Decision, may_cancel, may_change_address, may_contact_rider, next_step
from .models import Order
from .states import DeliveryState, Status


@dataclass(frozen=True, slots=True)
class ItemFacts:
    name: str
    quantity: int
    options: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderFacts:
    """One order as of `now`. Times are in the customer's zone, amounts in cents.

    `expected_in_minutes` is None when nothing is expected any more and 0 when it is overdue or at
    the door. `minutes_late` is None for an order that never arrived (cancelled or failed), 0 when
    on time. Both follow from the times as a reader sees them, cut to the minute, so the sums add
    up. `version` grows with every change of the order.
    """

    order_id: int
    version: int
    language: str
    now: datetime
    number: str
    status: str
    delivery_state: str
    active: bool
    restaurant: str
    rider: str | None
    items: tuple[ItemFacts, ...]
    currency: str
    total: int
    delivery_fee: int
    placed_at: datetime
    promised_at: datetime
    expected_at: datetime | None
    expected_in_minutes: int | None
    delivered_at: datetime | None
    cancelled_at: datetime | None
    minutes_late: int | None
    late_reason: str
    cancel_reason: str
    failure_reason: str
    refund_state: str
    refund_amount: int
    can_cancel: Decision
    can_change_address: Decision
    rider_contact: Decision
    next_step: str

    def display(self) -> dict[str, Any]:
        """The values as a reader sees them, by the keys of the `facts` contract."""
        return wording.display(self)

    def statements(self) -> tuple[wording.Statement, ...]:
        """The sentences with what each is about."""
        return wording.statements(self)

    def sentences(self) -> tuple[str, ...]:
        """Sentences ready to quote, in English."""
        return wording.sentences(self)

    @property
    def status_text(self) -> str:
        return wording.status_text(self)


def facts_of(order: Order, now: datetime) -> OrderFacts:
    """Pure over a row whose customer, restaurant, rider and items are loaded. `now` is aware."""
    zone = _zone(order.customer.time_zone)
    local = _Clock(zone)
    now = now.astimezone(zone)
    rider = order.rider.first_name if order.rider else None
    status, delivery = order.status, order.delivery_state
    fee = wording.money(order.delivery_fee, order.currency) if order.delivery_fee else None
    late = _minutes_late(order, now)
    return OrderFacts(
        order_id=order.pk,
        version=order.version,
        language=order.customer.language,
        now=now,
        number=order.number,
        status=status,
        delivery_state=delivery,
        active=order.is_active,
        restaurant=order.restaurant.name,
        rider=rider,
        items=tuple(ItemFacts(i.name, i.quantity, i.options) for i in order.items.all()),
        currency=order.currency,
        total=order.total,
        delivery_fee=order.delivery_fee,
        placed_at=order.placed_at.astimezone(zone),
        promised_at=order.promised_at.astimezone(zone),
        expected_at=local(order.expected_at),
        expected_in_minutes=_minutes_left(order, now),
        delivered_at=local(order.delivered_at),
        cancelled_at=local(order.cancelled_at),
        minutes_late=late,
        late_reason=order.late_reason,
        cancel_reason=order.cancel_reason,
        failure_reason=order.failure_reason,
        refund_state=order.refund_state,
        refund_amount=order.refund_amount,
        can_cancel=may_cancel(status, delivery, rider=rider, fee=fee),
        can_change_address=may_change_address(status, delivery, rider=rider),
        rider_contact=may_contact_rider(status, delivery, rider=rider),
        next_step=next_step(status, delivery, rider=rider, minutes_late=late or 0),
    )


@dataclass(frozen=True, slots=True)
class _Clock:
    zone: ZoneInfo

    def __call__(self, moment: datetime | None) -> datetime | None:
        return moment.astimezone(self.zone) if moment else None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")  # a wrong zone must not cost the customer the answer


def _minutes(later: datetime, earlier: datetime) -> int:
    """Whole minutes between two times as a clock without seconds shows them."""
    return _cut(later) - _cut(earlier)


def _cut(moment: datetime) -> int:
    return int(moment.astimezone(UTC).timestamp() // 60)


def _minutes_left(order: Order, now: datetime) -> int | None:
    if order.expected_at is None or not order.is_active:
        return None
    if order.delivery_state == DeliveryState.ARRIVED:
        return 0
    return max(0, _minutes(order.expected_at, now))


def _minutes_late(order: Order, now: datetime) -> int | None:
    if order.status == Status.DELIVERED and order.delivered_at:
        arrival = order.delivered_at
    elif not order.is_active:
        return None
    elif order.delivery_state == DeliveryState.ARRIVED:
        arrival = order.status_changed_at
    else:
        arrival = max(order.expected_at or order.promised_at, now)
    return max(0, _minutes(arrival, order.promised_at))
