"""How an order's facts read, in English: values for display, and sentences ready to quote.

A small language model answers well by quoting a sentence and badly by deriving one, so every fact
and every decision has its sentence here.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from .states import CancelReason, Currency, DeliveryState, FailureReason, LateReason, RefundState
from .states import Status as S

if TYPE_CHECKING:
    from .facts import ItemFacts, OrderFacts

SYMBOLS = {Currency.USD: "$", Currency.EUR: "€", Currency.GBP: "£"}

LATE_BECAUSE: dict[str, str] = {
    LateReason.KITCHEN_BUSY: "the kitchen was very busy",
    LateReason.NO_RIDER: "no rider was free",
    LateReason.TRAFFIC: "traffic was heavy",
    LateReason.WEATHER: "the weather was bad",
    LateReason.RIDER_DELAYED: "the rider was held up by an earlier delivery",
    LateReason.ADDRESS: "the address was hard to find",
}
CANCELLED_BECAUSE: dict[str, str] = {
    CancelReason.CUSTOMER: "you asked for it",
    CancelReason.RESTAURANT_CLOSED: "the restaurant had closed",
    CancelReason.SOLD_OUT: "the restaurant had sold out",
    CancelReason.NO_RIDER: "no rider could be found",
    CancelReason.PAYMENT: "the payment did not go through",
    CancelReason.DELIVERY_FAILED: "the delivery failed",
}
FAILED_BECAUSE: dict[str, str] = {
    FailureReason.NOBODY_HOME: "nobody answered at the door",
    FailureReason.ADDRESS_NOT_FOUND: "the rider could not find the address",
    FailureReason.DAMAGED: "the food was damaged on the way",
    FailureReason.ACCIDENT: "the rider had an accident",
}


def money(cents: int, currency: str) -> str:
    """1840 cents → "$18.40"."""
    return f"{SYMBOLS[Currency(currency)]}{cents // 100:,}.{cents % 100:02d}"


def clock(moment: datetime, now: datetime) -> str:
    """Such as 7:45 PM, with the day where one could take it for today's. Both in one zone."""
    time = f"{moment.hour % 12 or 12}:{moment:%M} {'AM' if moment.hour < 12 else 'PM'}"
    if abs(moment - now) < timedelta(hours=12) or moment.date() == now.date():
        return time
    if moment.date() == now.date() - timedelta(days=1):
        return f"{time} yesterday"
    return f"{time} on {moment:%B} {moment.day}"


def minutes(count: int) -> str:
    return f"{count} minute" if count == 1 else f"{count} minutes"


def item(of: ItemFacts) -> str:
    options = f" ({of.options})" if of.options else ""
    return f"{of.quantity} × {of.name}{options}"


def status_text(facts: OrderFacts) -> str:
    """The stage as the end of "Your order is …", or "was …" once it is over."""
    who = facts.rider or "the rider"
    match facts.delivery_state:
        case DeliveryState.ON_THE_WAY:
            return f"on the way: {who} has picked it up"
        case DeliveryState.NEARBY:
            return f"almost there: {who} is near your address"
        case DeliveryState.ARRIVED:
            return f"at your address: {who} has arrived and is waiting outside"
        case DeliveryState.DELIVERED:
            return f"delivered at {_at(facts, facts.delivered_at)}"
        case DeliveryState.FAILED if facts.status != S.CANCELLED:
            because = FAILED_BECAUSE.get(facts.failure_reason)
            return f"not delivered because {because or 'the delivery failed'}"
    match facts.status:
        case S.CANCELLED:
            because = CANCELLED_BECAUSE.get(facts.cancel_reason)
            at = _at(facts, facts.cancelled_at)
            return f"cancelled at {at}" + (f" because {because}" if because else "")
        case S.PLACED:
            return "placed: the restaurant has not accepted it yet"
        case S.ACCEPTED:
            return "accepted: the restaurant will start preparing it soon"
        case S.PREPARING:
            return "being prepared: the kitchen is working on it"
    match facts.delivery_state:
        case DeliveryState.UNASSIGNED:
            return "ready: it is waiting for a rider to be assigned"
        case DeliveryState.ASSIGNED:
            return f"ready: {who} is coming to the restaurant to pick it up"
        case _:
            return f"ready: {who} is at the restaurant to pick it up"


def refund_text(facts: OrderFacts) -> str | None:
    amount = money(facts.refund_amount, facts.currency)
    match facts.refund_state:
        case RefundState.REQUESTED:
            return f"A refund of {amount} has been requested and is being checked."
        case RefundState.UNDER_WAY:
            return f"A refund of {amount} is under way."
        case RefundState.REFUNDED:
            return f"A refund of {amount} has been paid back."
        case RefundState.DECLINED:
            return f"The request for a refund of {amount} was declined."
        case _:
            return None


def display(facts: OrderFacts) -> dict[str, Any]:
    """Every value in the form in which a reader sees it; None where there is none."""
    return {
        "order": facts.number,
        "status": facts.status,
        "status_text": status_text(facts),
        "delivery_state": facts.delivery_state,
        "restaurant": facts.restaurant,
        "rider": facts.rider,
        "items": [item(i) for i in facts.items],
        "total": money(facts.total, facts.currency),
        "delivery_fee": money(facts.delivery_fee, facts.currency),
        "expected_at": clock(facts.expected_at, facts.now) if facts.expected_at else None,
        "expected_in_minutes": facts.expected_in_minutes,
        "promised_at": clock(facts.promised_at, facts.now),
        "minutes_late": facts.minutes_late,
        "late_reason": LATE_BECAUSE.get(facts.late_reason) if facts.minutes_late else None,
        "can_cancel": {"allowed": facts.can_cancel.allowed, "why": facts.can_cancel.why},
        "can_change_address": {
            "allowed": facts.can_change_address.allowed,
            "why": facts.can_change_address.why,
        },
        "refund": refund_text(facts),
        "now": clock(facts.now, facts.now),
    }


def sentences(facts: OrderFacts) -> tuple[str, ...]:
    """Short sentences that carry every fact and decision, the most asked-for first."""
    verb = "is" if facts.active else "was"
    lines = (
        f"Your order {facts.number} from {facts.restaurant} {verb} {status_text(facts)}.",
        _arrival(facts),
        _lateness(facts),
        _rider(facts),
        facts.rider_contact.why if facts.active and facts.rider else None,
        facts.can_cancel.why,
        facts.can_change_address.why,
        _contents(facts),
        _price(facts),
        refund_text(facts) or "No refund has been requested for this order.",
        facts.next_step,
    )
    return tuple(line for line in lines if line)


def _at(facts: OrderFacts, moment: datetime | None) -> str:
    return clock(moment, facts.now) if moment else "an unknown time"


def _arrival(facts: OrderFacts) -> str | None:
    if not facts.active or facts.delivery_state == DeliveryState.ARRIVED:
        return None
    if facts.expected_at is None:
        return "There is no estimate of the time of arrival yet."
    at = clock(facts.expected_at, facts.now)
    if not facts.expected_in_minutes:
        if facts.status != S.PICKED_UP:
            return f"It was expected at {at}; there is no newer estimate yet."
        return f"It was expected at {at} and should arrive any minute now."
    return f"It should arrive at {at}, in about {minutes(facts.expected_in_minutes)}."


def _lateness(facts: OrderFacts) -> str | None:
    if facts.minutes_late is None:
        return None
    promised = clock(facts.promised_at, facts.now)
    over = facts.delivered_at is not None
    if not facts.minutes_late:
        if over:
            return f"It was delivered on time: {promised} was promised."
        return f"It is on time: {promised} was promised."
    because = LATE_BECAUSE.get(facts.late_reason)
    verb = "was" if over else "is"
    late = f"It {verb} {minutes(facts.minutes_late)} later than promised ({promised})"
    return f"{late} because {because}." if because else f"{late}; no reason has been given."


def _rider(facts: OrderFacts) -> str | None:
    if facts.status == S.CANCELLED:
        return None
    if facts.rider is None:
        return facts.rider_contact.why if facts.active else None
    if facts.status == S.DELIVERED:
        return f"{facts.rider} delivered it."
    if not facts.active:
        return f"The rider was {facts.rider}."
    match facts.delivery_state:
        case DeliveryState.ASSIGNED:
            return f"Your rider is {facts.rider}, who will pick it up at the restaurant."
        case DeliveryState.AT_RESTAURANT:
            return f"Your rider is {facts.rider}, who is at the restaurant now."
        case _:
            return f"Your rider is {facts.rider}."


def _contents(facts: OrderFacts) -> str:
    *rest, last = (item(i) for i in facts.items)
    return f"The order has {', '.join(rest)} and {last}." if rest else f"The order has {last}."


def _price(facts: OrderFacts) -> str:
    total = money(facts.total, facts.currency)
    if not facts.delivery_fee:
        return f"The total is {total}, and delivery is free."
    fee = money(facts.delivery_fee, facts.currency)
    return f"The total is {total}, including a delivery fee of {fee}."
