"""How a demo order travels: which events come, after how many minutes, with which payload. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

from orders.feed import OrderEventIn
from orders.states import EventType as E
from orders.states import LateReason

SOURCE = "demo"
# The checkout's `placed` event is number 1; the journey counts on from there.
FIRST_SEQUENCE = 2
PROMISE_MINUTES = 40

_ON_THE_ROAD = ((E.PICKED_UP, 2), (E.RIDER_NEARBY, 12), (E.RIDER_ARRIVED, 4), (E.DELIVERED, 2))
# Steps with the minutes since the one before; the rider is at the door after 38 minutes.
ROUTES: dict[str, tuple[tuple[E, int], ...]] = {
    "usual": (
        *((E.ACCEPTED, 3), (E.PREPARING, 3), (E.RIDER_ASSIGNED, 5)),
        *((E.RIDER_AT_RESTAURANT, 6), (E.READY, 3), *_ON_THE_ROAD),
    ),
    "rider_last": (
        *((E.ACCEPTED, 3), (E.PREPARING, 3), (E.READY, 8)),
        *((E.RIDER_ASSIGNED, 2), (E.RIDER_AT_RESTAURANT, 4), *_ON_THE_ROAD),
    ),
    "rider_first": (
        *((E.ACCEPTED, 3), (E.RIDER_ASSIGNED, 2), (E.PREPARING, 3)),
        *((E.RIDER_AT_RESTAURANT, 7), (E.READY, 5), *_ON_THE_ROAD),
    ),
}
# Which step a reason holds up. The customer hears of it with the step before.
HOLDS_UP: dict[str, E] = {
    LateReason.KITCHEN_BUSY: E.READY,
    LateReason.NO_RIDER: E.RIDER_ASSIGNED,
    LateReason.TRAFFIC: E.RIDER_NEARBY,
    LateReason.WEATHER: E.RIDER_NEARBY,
    LateReason.RIDER_DELAYED: E.RIDER_AT_RESTAURANT,
    LateReason.ADDRESS: E.RIDER_ARRIVED,
}
# The last step before an order ends badly.
_CANCELLED_AFTER = {"sold_out": E.ACCEPTED, "no_rider": E.PREPARING}
_FAILED_AFTER = {
    "nobody_home": E.RIDER_ARRIVED,
    "address_not_found": E.RIDER_NEARBY,
    "damaged": E.PICKED_UP,
    "accident": E.PICKED_UP,
}


@dataclass(frozen=True, slots=True)
class Journey:
    """`ending` is `delivered`, `cancelled:REASON`, `failed:REASON` or `failed:REASON+cancelled`.

    `delay` in minutes; an empty `reason` with a delay is a delay that nobody explains. `refund`
    lists the states that a refund goes through after the end.
    """

    route: str = "usual"
    ending: str = "delivered"
    delay: int = 0
    reason: str = ""
    rider: str = "asha-01"
    refund: tuple[str, ...] = ()

    def steps(self) -> tuple[Step, ...]:
        return tuple(_steps(self))

    def reached(self, name: str) -> int:
        """How many steps are done once the first one called `name` is (`placed`: none)."""
        kinds = [str(step.type) for step in self.steps()]
        return 0 if name == E.PLACED else kinds.index(name) + 1


@dataclass(frozen=True, slots=True)
class Step:
    type: E
    minutes: int  # since the step before
    to_door: int | None  # minutes that remain until the rider arrives, as known then
    payload: dict[str, Any]


def _steps(journey: Journey) -> Iterator[Step]:
    end, _, tail = journey.ending.partition(":")
    why, _, then = tail.partition("+")
    plan = list(ROUTES[journey.route])
    kinds = [kind for kind, _ in plan]
    held = kinds.index(HOLDS_UP.get(journey.reason, E.READY)) if journey.delay else len(plan)
    minutes = [gap + (journey.delay if i == held else 0) for i, (_, gap) in enumerate(plan)]
    offsets = list(accumulate(minutes))
    door = offsets[kinds.index(E.RIDER_ARRIVED)]

    stop = len(plan)
    if end == "cancelled":
        last = _CANCELLED_AFTER.get(why)
        stop = kinds.index(last) + 1 if last else 0
    elif end == "failed":
        stop = kinds.index(_FAILED_AFTER[why]) + 1

    for i, kind in enumerate(kinds[:stop]):
        payload: dict[str, Any] = {"rider": journey.rider} if kind == E.RIDER_ASSIGNED else {}
        known = i >= held - 1
        if journey.delay and journey.reason and known:
            payload["late_reason"] = journey.reason
        left = door - offsets[i] - (0 if known else journey.delay if journey.delay else 0)
        yield Step(kind, minutes[i], left if kind != E.DELIVERED else None, payload)
    if end == "cancelled":
        yield Step(E.CANCELLED, 4, None, {"reason": why})
    elif end == "failed":
        yield Step(E.DELIVERY_FAILED, 6, None, {"reason": why})
        if then:
            yield Step(E.CANCELLED, 10, None, {"reason": "delivery_failed"})
    for state in journey.refund:
        yield Step(E.REFUND_CHANGED, 5, None, {"state": state})


def event(
    number: str, steps: tuple[Step, ...], done: int, at: datetime, *, total: int, speed: float = 1
) -> OrderEventIn:
    """The event of step `done` (counted from 0), happening at `at`; refunds are of `total`."""
    step = steps[done]
    payload = dict(step.payload)
    if step.type == E.REFUND_CHANGED:
        payload["amount"] = total
    elif step.to_door is not None:
        payload["expected_at"] = (at + timedelta(minutes=step.to_door / speed)).isoformat()
    return OrderEventIn(
        event_id=f"{SOURCE}:{number}:{done}",
        order=number,
        source=SOURCE,
        sequence=FIRST_SEQUENCE + done,
        type=step.type,
        occurred_at=at,
        payload=payload,
    )
