"""An order's state as a fold of its events. Pure: no database, no clock.

Within one source its sequence decides what is newer; between sources the time at which things
happened does. So a fold gives the same state whatever the order of arrival, and an event that
comes late takes its own place instead of moving the order back. Skipping forward is legal (the
kitchen may never say `ready`). The one move that is refused is out of a terminal state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from .states import ALLOWED, BEFORE_PICK_UP, TERMINAL, DeliveryState, EventType, RefundState, Status


class Event(Protocol):
    """What the fold reads; `feed.OrderEventIn` and the rows of `models.OrderEvent` both have it."""

    @property
    def event_id(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def sequence(self) -> int: ...
    @property
    def type(self) -> str: ...
    @property
    def payload(self) -> Mapping[str, Any]: ...
    @property
    def occurred_at(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class OrderState:
    """The columns of an order that its events decide. Amounts in cents, times in UTC."""

    status_changed_at: datetime
    status: str = Status.PLACED
    delivery_state: str = DeliveryState.UNASSIGNED
    rider_code: str | None = None
    expected_at: datetime | None = None
    late_reason: str = ""
    delivered_at: datetime | None = None
    cancelled_at: datetime | None = None
    cancel_reason: str = ""
    failed_at: datetime | None = None
    failure_reason: str = ""
    refund_state: str = RefundState.NONE
    refund_amount: int = 0
    last_sequence: int = 0


@dataclass(frozen=True, slots=True)
class Folded:
    """The state, and for each event that the rules refuse the reason by its id."""

    state: OrderState
    refused: Mapping[str, str] = field(default_factory=dict)


class _Refused(Exception):
    pass


def fold(
    events: Iterable[Event], *, placed_at: datetime, total: int, riders: Collection[str]
) -> Folded:
    """Fold the events of one order; `riders` are the known codes, `total` the order's cents."""
    state = OrderState(status_changed_at=placed_at)
    refused: dict[str, str] = {}
    for event in in_source_order(events):
        try:
            state = _step(state, event, total=total, riders=riders)
        except _Refused as why:
            refused[event.event_id] = str(why)
        else:
            state = replace(state, last_sequence=max(state.last_sequence, event.sequence))
    return Folded(state, refused)


def in_source_order(events: Iterable[Event]) -> list[Event]:
    """Merge the sources by time, each in its own sequence even where its clock went back."""
    latest: dict[str, datetime] = {}
    keyed = []
    for event in sorted(events, key=lambda e: (e.source, e.sequence)):
        at = max(event.occurred_at, latest.get(event.source, event.occurred_at))
        latest[event.source] = at
        first = event.type == EventType.PLACED  # whatever another source's clock says
        keyed.append((not first, at, event.source, event.sequence, event))
    return [event for *_, event in sorted(keyed, key=lambda k: k[:4])]


def _step(state: OrderState, event: Event, *, total: int, riders: Collection[str]) -> OrderState:
    match event.type:
        case EventType.REFUND_CHANGED:
            return _refund(state, event, total)
        case EventType.CANCELLED:
            moved = _cancel(state, event)
        case EventType.DELIVERY_FAILED:
            moved = _fail(state, event)
        case EventType.ETA_CHANGED:
            _refuse_if_over(state)
            moved = state
        case EventType.RIDER_ASSIGNED | EventType.RIDER_UNASSIGNED:
            moved = _rider(state, event, riders)
        case EventType.RIDER_AT_RESTAURANT:
            moved = _towards(state, None, DeliveryState.AT_RESTAURANT)
        case EventType.RIDER_NEARBY:
            moved = _towards(state, Status.PICKED_UP, DeliveryState.NEARBY)
        case EventType.RIDER_ARRIVED:
            moved = _towards(state, Status.PICKED_UP, DeliveryState.ARRIVED)
        case EventType.DELIVERED:
            moved = replace(
                _towards(state, Status.DELIVERED, DeliveryState.DELIVERED),
                delivered_at=event.occurred_at,
            )
        case EventType.PICKED_UP:
            moved = _towards(state, Status.PICKED_UP, DeliveryState.ON_THE_WAY)
        case _:  # placed, accepted, preparing, ready
            moved = _towards(state, Status(event.type), None)
    if (moved.status, moved.delivery_state) != (state.status, state.delivery_state):
        moved = replace(moved, status_changed_at=event.occurred_at)
    return _estimate(moved, event.payload)


def _refuse_if_over(state: OrderState) -> None:
    if state.status in TERMINAL:
        raise _Refused(f"the order is already {state.status}")
    if state.delivery_state == DeliveryState.FAILED:
        raise _Refused("the delivery has already failed")


def _towards(
    state: OrderState, status: Status | None, delivery: DeliveryState | None
) -> OrderState:
    """Move to a status, a delivery state or both, and keep the two in step."""
    _refuse_if_over(state)
    to_status = status or Status(state.status)
    to_delivery = delivery or DeliveryState(state.delivery_state)
    if to_delivery not in ALLOWED[to_status]:
        if status is None:
            return state  # "at the restaurant" after the pick-up tells nothing new
        # The food is back in the restaurant: so is the rider, if there is one.
        to_delivery = DeliveryState.AT_RESTAURANT if state.rider_code else DeliveryState.UNASSIGNED
    return replace(state, status=to_status, delivery_state=to_delivery)


def _rider(state: OrderState, event: Event, riders: Collection[str]) -> OrderState:
    _refuse_if_over(state)
    code = event.payload.get("rider") if event.type == EventType.RIDER_ASSIGNED else None
    if code is not None and code not in riders:
        raise _Refused("unknown rider")
    if state.status not in BEFORE_PICK_UP:
        return replace(state, rider_code=code)  # another rider took over on the road
    to = DeliveryState.ASSIGNED if code else DeliveryState.UNASSIGNED
    if code and code == state.rider_code:
        to = DeliveryState(state.delivery_state)
    return replace(state, rider_code=code, delivery_state=to)


def _cancel(state: OrderState, event: Event) -> OrderState:
    if state.status in TERMINAL:
        raise _Refused(f"the order is already {state.status}")
    failed = state.delivery_state == DeliveryState.FAILED
    return replace(
        state,
        status=Status.CANCELLED,
        delivery_state=DeliveryState.FAILED if failed else DeliveryState.UNASSIGNED,
        rider_code=state.rider_code if failed else None,
        expected_at=None,
        cancelled_at=event.occurred_at,
        cancel_reason=event.payload.get("reason", ""),
    )


def _fail(state: OrderState, event: Event) -> OrderState:
    return replace(
        _towards(state, Status.PICKED_UP, DeliveryState.FAILED),
        expected_at=None,
        failed_at=event.occurred_at,
        failure_reason=event.payload.get("reason", ""),
    )


def _refund(state: OrderState, event: Event, total: int) -> OrderState:
    """A refund may change at any time, in a terminal state too: it moves no order."""
    amount = event.payload["amount"]
    if amount > total:
        raise _Refused("the refund is above the order's total")
    return replace(state, refund_state=event.payload["state"], refund_amount=amount)


def _estimate(state: OrderState, payload: Mapping[str, Any]) -> OrderState:
    """Any event on the way may carry a new time of arrival and the reason for a delay."""
    if state.status in TERMINAL or state.delivery_state == DeliveryState.FAILED:
        if "late_reason" in payload:
            state = replace(state, late_reason=payload["late_reason"])
        return replace(state, expected_at=None)
    if "expected_at" in payload:
        state = replace(state, expected_at=datetime.fromisoformat(payload["expected_at"]))
    if "late_reason" in payload:
        state = replace(state, late_reason=payload["late_reason"])
    return state
