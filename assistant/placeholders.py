"""The words that an answer's template may leave open, and where each comes from.

A placeholder is filled from the customer's own order at the moment of reading, in the words of
`orders.wording`. One without a value for an order makes the whole answer unfit for it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from orders import wording
from orders.facts import OrderFacts
from orders.states import RefundState


@dataclass(frozen=True, slots=True)
class Placeholder:
    """`value` gives None where an order has none. A `phrase` gets a capital at a sentence's start;
    a name keeps its own spelling.
    """

    name: str
    meaning: str
    missing: str
    value: Callable[[OrderFacts], str | None]
    phrase: bool = False
    sentence: bool = False


def _clock(facts: OrderFacts, name: str) -> str | None:
    moment = getattr(facts, name)
    return wording.clock(moment, facts.now) if moment else None


def _topic(name: str) -> Callable[[OrderFacts], str | None]:
    def value(facts: OrderFacts) -> str | None:
        return next((s.text for s in facts.statements() if s.topic == name), None)

    return value


def _eta(facts: OrderFacts) -> str | None:
    return str(facts.expected_in_minutes) if facts.expected_in_minutes else None


def _eta_words(facts: OrderFacts) -> str | None:
    left = facts.expected_in_minutes
    return wording.minutes(left) if left else None


def _eta_time(facts: OrderFacts) -> str | None:
    return _clock(facts, "expected_at") if _eta(facts) else None


def _late_words(facts: OrderFacts) -> str | None:
    return wording.minutes(facts.minutes_late) if facts.minutes_late else None


def _late_reason(facts: OrderFacts) -> str | None:
    return wording.LATE_BECAUSE.get(facts.late_reason) if facts.minutes_late else None


def _items(facts: OrderFacts) -> str | None:
    *rest, last = (wording.item(item) for item in facts.items) if facts.items else ("",)
    return f"{', '.join(rest)} and {last}" if rest else last or None


def _refund_amount(facts: OrderFacts) -> str | None:
    if facts.refund_state == RefundState.NONE:
        return None
    return wording.money(facts.refund_amount, facts.currency)


ALL: tuple[Placeholder, ...] = (
    Placeholder("order_number", "The order’s number", "", lambda f: f.number),
    Placeholder("restaurant_name", "The restaurant", "", lambda f: f.restaurant),
    Placeholder("rider_name", "The rider’s first name", "no rider is known", lambda f: f.rider),
    Placeholder(
        "the_rider", "The rider’s first name, else “the rider”", "",
        lambda f: f.rider or "the rider", phrase=True,
    ),
    Placeholder("items", "What was ordered: 2 × Margherita and 1 × Tiramisu", "", _items),
    Placeholder("total", "The total", "", lambda f: wording.money(f.total, f.currency)),
    Placeholder(
        "delivery_fee", "The delivery fee", "delivery was free",
        lambda f: wording.money(f.delivery_fee, f.currency) if f.delivery_fee else None,
    ),
    Placeholder("placed_time", "When it was ordered", "", lambda f: _clock(f, "placed_at")),
    Placeholder("promised_time", "The promised time", "", lambda f: _clock(f, "promised_at")),
    Placeholder(
        "eta_minutes", "Minutes until it arrives, as a number",
        "nothing is expected, or it is overdue or at the door", _eta,
    ),
    Placeholder(
        "eta_in_words", "Time until it arrives: 12 minutes",
        "nothing is expected, or it is overdue or at the door", _eta_words,
    ),
    Placeholder(
        "eta_time", "Time of arrival: 7:45 PM",
        "nothing is expected, or it is overdue or at the door", _eta_time,
    ),
    Placeholder(
        "minutes_late", "The delay in words: 15 minutes", "the order is not late", _late_words
    ),
    Placeholder(
        "late_reason", "Why it is late: the kitchen was very busy",
        "it is not late, or nobody has said why", _late_reason, phrase=True,
    ),
    Placeholder(
        "delivered_time", "When it was delivered", "it has not been delivered",
        lambda f: _clock(f, "delivered_at"),
    ),
    Placeholder(
        "cancelled_time", "When it was cancelled", "it has not been cancelled",
        lambda f: _clock(f, "cancelled_at"),
    ),
    Placeholder(
        "cancel_reason", "Why it was cancelled: the restaurant had sold out",
        "it was not cancelled, or nobody has said why",
        lambda f: wording.CANCELLED_BECAUSE.get(f.cancel_reason), phrase=True,
    ),
    Placeholder(
        "failure_reason", "Why the delivery failed: nobody answered at the door",
        "the delivery has not failed, or nobody has said why",
        lambda f: wording.FAILED_BECAUSE.get(f.failure_reason), phrase=True,
    ),
    Placeholder("refund_amount", "The refund’s amount", "no refund was requested", _refund_amount),
    # Whole sentences, with the decisions of the house in them.
    Placeholder(
        "stage", "Sentence: what stage the order is at", "", _topic("stage"), sentence=True
    ),
    Placeholder(
        "arrival", "Sentence: when it arrives, arrived, or that it will not", "",
        _topic("eta"), sentence=True,
    ),
    Placeholder(
        "lateness", "Sentence: on time or how late, and why", "it was cancelled or failed",
        _topic("late"), sentence=True,
    ),
    Placeholder("rider", "Sentence: who the rider is", "", _topic("rider"), sentence=True),
    Placeholder(
        "rider_contact", "Sentence: whether and how to reach the rider", "",
        _topic("contact"), sentence=True,
    ),
    Placeholder(
        "cancel_decision", "Sentence: whether it can be cancelled, and why", "",
        _topic("cancel"), sentence=True,
    ),
    Placeholder(
        "address_decision", "Sentence: whether the address can be changed, and why", "",
        _topic("address"), sentence=True,
    ),
    Placeholder("fee", "Sentence: the delivery fee", "", _topic("fee"), sentence=True),
    Placeholder(
        "refund", "Sentence: where a refund stands, or that none was requested", "",
        _topic("refund"), sentence=True,
    ),
    Placeholder(
        "next_step", "Sentence: what to do now", "", _topic("next"), sentence=True
    ),
)  # fmt: skip

BY_NAME: dict[str, Placeholder] = {placeholder.name: placeholder for placeholder in ALL}
