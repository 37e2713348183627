"""How an order's facts read, in English: values for display, and sentences ready to quote.

A small language model answers well by quoting a sentence and badly by deriving one, so every fact
and every decision has its sentence here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from .states import (
    BEFORE_PICK_UP,
    CancelReason,
    Currency,
    DeliveryState,
    FailureReason,
    LateReason,
    RefundState,
)
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


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence ready to quote, and what it is about."""

    topic: str
    text: str


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


def statements(facts: OrderFacts) -> tuple[Statement, ...]:
    """Short sentences that carry every fact and decision, the most asked-for first.

    Each can be read alone, so that any choice of them makes an answer.
    """
    verb = "is" if facts.active else "was"
    lines = (
        (
            "stage",
            f"Your order {facts.number} from {facts.restaurant} {verb} {status_text(facts)}.",
        ),
        ("eta", _arrival(facts)),
        ("late", _lateness(facts)),
        ("rider", _rider(facts)),
        ("contact", _contact(facts)),
        ("cancel", facts.can_cancel.why),
        ("address", facts.can_change_address.why),
        ("restaurant", f"Your order {verb} from {facts.restaurant}."),
        ("items", _contents(facts)),
        ("total", f"The total is {money(facts.total, facts.currency)}."),
        ("fee", _fee(facts)),
        ("refund", refund_text(facts) or "No refund has been requested for this order."),
        ("next", facts.next_step),
    )
    return tuple(Statement(topic, text) for topic, text in lines if text)


def sentences(facts: OrderFacts) -> tuple[str, ...]:
    return tuple(statement.text for statement in statements(facts))


def _at(facts: OrderFacts, moment: datetime | None) -> str:
    return clock(moment, facts.now) if moment else "an unknown time"


def _arrival(facts: OrderFacts) -> str | None:
    if facts.status == S.DELIVERED:
        return f"Your order was delivered at {_at(facts, facts.delivered_at)}."
    if facts.status == S.CANCELLED:
        return "Your order was cancelled, so it will not arrive."
    if facts.delivery_state == DeliveryState.FAILED:
        return "Your order was not delivered, so it will not arrive."
    if facts.delivery_state == DeliveryState.ARRIVED:
        return "Your order has arrived at your address."
    if facts.expected_at is None:
        return "There is no estimate of the time of arrival yet."
    at = clock(facts.expected_at, facts.now)
    if not facts.expected_in_minutes:
        if facts.status != S.PICKED_UP:
            return f"Your order was expected at {at}; there is no newer estimate yet."
        return f"Your order was expected at {at} and should arrive any minute now."
    return f"Your order should arrive at {at}, in about {minutes(facts.expected_in_minutes)}."


def _lateness(facts: OrderFacts) -> str | None:
    if facts.minutes_late is None:
        return None
    promised = clock(facts.promised_at, facts.now)
    over = facts.delivered_at is not None
    if not facts.minutes_late:
        if over:
            return f"Your order was delivered on time: {promised} was promised."
        return f"Your order is on time: {promised} was promised."
    because = LATE_BECAUSE.get(facts.late_reason)
    verb = "was" if over else "is"
    late = f"Your order {verb} {minutes(facts.minutes_late)} later than promised ({promised})"
    return f"{late} because {because}." if because else f"{late}; no reason has been given."


def _rider(facts: OrderFacts) -> str | None:
    if facts.rider is None:
        if facts.status == S.CANCELLED:
            return "No rider is coming because the order has been cancelled."
        if facts.status in BEFORE_PICK_UP:
            return "No rider has been assigned to the order yet."
        return "The name of the rider is not known."
    if facts.status == S.DELIVERED:
        return f"{facts.rider} delivered your order."
    if not facts.active:
        return f"The rider was {facts.rider}."
    match facts.delivery_state:
        case DeliveryState.ASSIGNED:
            return f"Your rider is {facts.rider}, who will pick it up at the restaurant."
        case DeliveryState.AT_RESTAURANT:
            return f"Your rider is {facts.rider}, who is at the restaurant now."
        case _:
            return f"Your rider is {facts.rider}."


def _contact(facts: OrderFacts) -> str:
    if facts.rider is None and facts.status in BEFORE_PICK_UP:
        return "The rider can be contacted once one has been assigned."
    return facts.rider_contact.why


def _contents(facts: OrderFacts) -> str:
    *rest, last = (item(i) for i in facts.items)
    return f"You ordered {', '.join(rest)} and {last}." if rest else f"You ordered {last}."


def _fee(facts: OrderFacts) -> str:
    fee = money(facts.delivery_fee, facts.currency)
    if not facts.delivery_fee:
        return f"The delivery fee is {fee}: delivery is free."
    return f"The delivery fee is {fee}, which the total includes."
