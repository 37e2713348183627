"""What a customer may be told: decisions for every status and state, display and sentences."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orders.facts import facts_of
from orders.states import ALLOWED, DeliveryState, Status
from orders.wording import clock, money

from .builders import NOW, order_in_memory

DELIVERED = {
    "status": "delivered",
    "delivery_state": "delivered",
    "delivered_at": NOW,
    "expected_at": None,
}
CANCELLED = {
    "status": "cancelled",
    "delivery_state": "unassigned",
    "cancelled_at": NOW,
    "cancel_reason": "sold_out",
    "expected_at": None,
    "rider": None,
}
FAILED = {
    "status": "picked_up",
    "delivery_state": "failed",
    "failed_at": NOW,
    "failure_reason": "nobody_home",
    "expected_at": None,
}

# status, delivery state, a rider: may cancel, may change the address, may contact the rider
DECISIONS = [
    ("placed", "unassigned", False, True, True, False),
    ("accepted", "unassigned", False, True, True, False),
    ("accepted", "assigned", True, True, True, True),
    ("preparing", "unassigned", False, False, True, False),
    ("preparing", "assigned", True, False, True, True),
    ("preparing", "at_restaurant", True, False, True, True),
    ("ready", "unassigned", False, False, True, False),
    ("ready", "at_restaurant", True, False, True, True),
    ("picked_up", "on_the_way", True, False, False, True),
    ("picked_up", "on_the_way", False, False, False, True),
    ("picked_up", "nearby", True, False, False, True),
    ("picked_up", "arrived", True, False, False, True),
    ("picked_up", "failed", True, False, False, False),
    ("delivered", "delivered", True, False, False, False),
    ("cancelled", "unassigned", False, False, False, False),
    ("cancelled", "failed", True, False, False, False),
]


def told(**values: Any) -> str:
    return " ".join(facts_of(order_in_memory(**values), NOW).sentences())


def shown(**values: Any) -> dict[str, Any]:
    return facts_of(order_in_memory(**values), NOW).display()


@pytest.mark.parametrize(
    ("status", "delivery", "has_rider", "cancel", "address", "contact"), DECISIONS
)
def test_what_may_still_be_done(
    status: str, delivery: str, has_rider: bool, cancel: bool, address: bool, contact: bool
) -> None:
    values: dict[str, Any] = {"status": status, "delivery_state": delivery}
    if not has_rider:
        values["rider"] = None
    facts = facts_of(order_in_memory(**values), NOW)
    assert facts.can_cancel.allowed is cancel
    assert facts.can_change_address.allowed is address
    assert facts.rider_contact.allowed is contact
    assert facts.next_step


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"status": "placed"}, "free of charge .* because the restaurant has not accepted it yet"),
        ({"status": "accepted"}, "kitchen has not started yet, but the delivery fee of \\$2.99 is"),
        ({"status": "accepted", "delivery_fee": 0}, "has not started yet, free of charge"),
        ({"status": "preparing"}, "cannot .* because the kitchen has already started preparing it"),
        ({"status": "ready"}, "cannot .* because the food is already prepared"),
        ({}, "cannot be cancelled any more because Asha has already picked it up"),
        ({"rider": None}, "cannot be cancelled any more because the rider has already picked it"),
        (DELIVERED, "cannot be cancelled because it has already been delivered"),
        (CANCELLED, "cannot be cancelled because it has been cancelled"),
        (FAILED, "cannot be cancelled because the delivery has failed"),
    ],
)
def test_why_it_can_or_cannot_be_cancelled(values: dict[str, Any], why: str) -> None:
    if values.get("status") in ("placed", "accepted", "preparing", "ready"):
        values = values | {"delivery_state": "unassigned"}
    assert re.search(why, shown(**values)["can_cancel"]["why"])
    assert re.search(why, told(**values))


def test_the_address_may_be_changed_until_the_pick_up() -> None:
    before = shown(status="ready", delivery_state="at_restaurant")["can_change_address"]
    assert before["allowed"] is True
    assert "under “Your orders” until Asha picks the order up" in before["why"]
    after = shown()["can_change_address"]
    assert after["allowed"] is False
    assert "because Asha has already picked the order up" in after["why"]


def test_the_display_has_the_keys_and_the_look_of_the_contract() -> None:
    assert shown() == {
        "order": "QB-1042",
        "status": "picked_up",
        "status_text": "on the way: Asha has picked it up",
        "delivery_state": "on_the_way",
        "restaurant": "Bella Napoli",
        "rider": "Asha",
        "items": ["2 × Margherita (large)", "1 × Tiramisu"],
        "total": "$18.40",
        "delivery_fee": "$2.99",
        "expected_at": "7:45 PM",
        "expected_in_minutes": 12,
        "promised_at": "7:30 PM",
        "minutes_late": 15,
        "late_reason": "the kitchen was very busy",
        "can_cancel": {
            "allowed": False,
            "why": "The order cannot be cancelled any more because Asha has already picked it up.",
        },
        "can_change_address": {
            "allowed": False,
            "why": "The delivery address cannot be changed any more because Asha has already "
            "picked the order up.",
        },
        "refund": None,
        "now": "7:33 PM",
    }


def test_the_sentences_carry_every_fact_and_decision() -> None:
    assert facts_of(order_in_memory(), NOW).sentences() == (
        "Your order QB-1042 from Bella Napoli is on the way: Asha has picked it up.",
        "Your order should arrive at 7:45 PM, in about 12 minutes.",
        "Your order is 15 minutes later than promised (7:30 PM) because the kitchen was very busy.",
        "Your rider is Asha.",
        "You can call or message Asha under “Your orders”.",
        "The order cannot be cancelled any more because Asha has already picked it up.",
        "The delivery address cannot be changed any more because Asha has already picked the "
        "order up.",
        "Your order is from Bella Napoli.",
        "You ordered 2 × Margherita (large) and 1 × Tiramisu.",
        "The total is $18.40.",
        "The delivery fee is $2.99, which the total includes.",
        "No refund has been requested for this order.",
        "Please keep your phone at hand so that Asha can reach you.",
    )


#: What a customer asks about: each has an answer of its own, whatever state the order is in.
ASKED = {
    *("stage", "eta", "rider", "cancel", "address", "restaurant", "items", "total", "fee"),
    *("contact", "refund", "next"),
}


@pytest.mark.parametrize(
    ("status", "delivery"), [(s, d) for s, states in ALLOWED.items() for d in states]
)
@pytest.mark.parametrize("has_rider", [True, False])
def test_every_topic_has_a_sentence_of_its_own(
    status: Status, delivery: DeliveryState, has_rider: bool
) -> None:
    values: dict[str, Any] = {"status": status, "delivery_state": delivery}
    values |= {} if has_rider else {"rider": None}
    facts = facts_of(order_in_memory(**values), NOW)
    topics = [statement.topic for statement in facts.statements()]
    assert set(topics) >= ASKED
    assert len(topics) == len(set(topics))
    assert tuple(statement.text for statement in facts.statements()) == facts.sentences()


def test_what_will_not_arrive_says_so() -> None:
    for over, why in ((CANCELLED, "was cancelled"), (FAILED, "was not delivered")):
        assert f"Your order {why}, so it will not arrive." in told(**over)


def test_nobody_brings_a_cancelled_order() -> None:
    assert "No rider is coming" in told(**CANCELLED)


@pytest.mark.parametrize(
    ("values", "head"),
    [
        ({"status": "placed"}, "is placed: the restaurant has not accepted it yet."),
        ({"status": "accepted"}, "is accepted: the restaurant will start preparing it soon."),
        ({"status": "preparing"}, "is being prepared: the kitchen is working on it."),
        ({"status": "ready"}, "is ready: it is waiting for a rider to be assigned."),
        (
            {"status": "ready", "delivery_state": "at_restaurant"},
            "is ready: Asha is at the restaurant to pick it up.",
        ),
        ({"delivery_state": "nearby"}, "is almost there: Asha is near your address."),
        (
            {"delivery_state": "arrived"},
            "is at your address: Asha has arrived and is waiting outside.",
        ),
        (DELIVERED, "was delivered at 7:33 PM."),
        (CANCELLED, "was cancelled at 7:33 PM because the restaurant had sold out."),
        (CANCELLED | {"cancel_reason": ""}, "was cancelled at 7:33 PM."),
        (FAILED, "was not delivered because nobody answered at the door."),
        (FAILED | {"failure_reason": ""}, "was not delivered because the delivery failed."),
    ],
)
def test_the_first_sentence_says_where_the_order_is(values: dict[str, Any], head: str) -> None:
    values = {"delivery_state": "unassigned" if "status" in values else "on_the_way"} | values
    assert told(**values).startswith(f"Your order QB-1042 from Bella Napoli {head}")


def test_on_time() -> None:
    on_time = {"promised_at": NOW + timedelta(minutes=20)}
    assert "Your order is on time: 7:53 PM was promised." in told(**on_time)
    assert (shown(**on_time)["minutes_late"], shown(**on_time)["late_reason"]) == (0, None)


def test_late_without_a_reason_says_so() -> None:
    assert "later than promised (7:30 PM); no reason has been given." in told(late_reason="")


def test_past_its_estimate_the_lateness_grows_with_the_clock() -> None:
    overdue = {"expected_at": NOW - timedelta(minutes=2)}
    assert "Your order was expected at 7:31 PM and should arrive any minute now." in told(**overdue)
    assert (shown(**overdue)["expected_in_minutes"], shown(**overdue)["minutes_late"]) == (0, 3)
    in_kitchen = overdue | {"status": "preparing", "delivery_state": "unassigned"}
    assert "there is no newer estimate yet" in told(**in_kitchen)


def test_without_an_estimate_none_is_made_up() -> None:
    assert "There is no estimate of the time of arrival yet." in told(expected_at=None)


def test_at_the_door_nothing_is_expected_any_more() -> None:
    arrived = {"delivery_state": "arrived", "status_changed_at": NOW - timedelta(minutes=1)}
    assert "should arrive" not in told(**arrived)
    assert "Please meet Asha at your door" in told(**arrived)
    assert (shown(**arrived)["expected_in_minutes"], shown(**arrived)["minutes_late"]) == (0, 2)


def test_a_delivered_order_was_late_or_on_time() -> None:
    assert "Your order was 3 minutes later than promised (7:30 PM)" in told(**DELIVERED)
    in_time = DELIVERED | {"promised_at": NOW}
    assert "Your order was delivered on time: 7:33 PM was promised." in told(**in_time)
    assert "Asha delivered your order." in told(**in_time)


@pytest.mark.parametrize("over", [CANCELLED, FAILED])
def test_what_never_arrived_is_not_late(over: dict[str, Any]) -> None:
    assert shown(**over)["minutes_late"] is None
    assert shown(**over)["expected_at"] is None
    assert "promised" not in told(**over)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("requested", "A refund of $18.40 has been requested and is being checked."),
        ("under_way", "A refund of $18.40 is under way."),
        ("refunded", "A refund of $18.40 has been paid back."),
        ("declined", "The request for a refund of $18.40 was declined."),
    ],
)
def test_a_refund_is_told_as_it_stands(state: str, text: str) -> None:
    values = CANCELLED | {"refund_state": state, "refund_amount": 1840}
    assert shown(**values)["refund"] == text
    assert text in told(**values)


def test_free_delivery() -> None:
    assert "The delivery fee is $0.00: delivery is free." in told(delivery_fee=0)


def test_a_long_delay_offers_a_person() -> None:
    assert "a person from our team can help" in told(expected_at=NOW + timedelta(minutes=40))


@pytest.mark.parametrize(
    ("status", "delivery"), [(s, d) for s, states in ALLOWED.items() for d in states]
)
@pytest.mark.parametrize("has_rider", [True, False])
def test_every_state_reads_well_and_holds_no_private_data(
    status: Status, delivery: DeliveryState, has_rider: bool
) -> None:
    values: dict[str, Any] = {"status": status, "delivery_state": delivery}
    values |= {} if has_rider else {"rider": None}
    values |= {"delivered_at": NOW} if status == "delivered" else {}
    values |= {"cancelled_at": NOW} if status == "cancelled" else {}
    facts = facts_of(order_in_memory(**values), NOW)
    for sentence in facts.sentences():
        assert re.fullmatch(r"[A-Z].*[.]", sentence)
        assert "None" not in sentence
        assert "_" not in sentence
    everything = f"{facts!r} {facts.display()} {facts.sentences()}"
    for private in ("+1 555", "example.com", "Lantern", "Card", "Patel"):
        assert private not in everything
    # Whatever a sentence says in figures is in the display too, so that it can be checked.
    figures = set(re.findall(r"\d[\d.:]*\d|\d", str(facts.display())))
    assert set(re.findall(r"\d[\d.:]*\d|\d", " ".join(facts.sentences()))) <= figures


def test_times_are_the_customers_own() -> None:
    order = order_in_memory()
    order.customer.time_zone = "Asia/Kolkata"
    assert facts_of(order, NOW).display()["expected_at"] == "6:15 AM"
    order.customer.time_zone = "no/such"
    assert facts_of(order, NOW).display()["expected_at"] == "12:45 AM"


@pytest.mark.parametrize(
    ("moment", "now", "text"),
    [
        ("2026-03-04T00:05", "2026-03-04T08:00", "12:05 AM"),
        ("2026-03-03T23:50", "2026-03-04T00:10", "11:50 PM"),
        ("2026-03-03T12:00", "2026-03-04T08:00", "12:00 PM yesterday"),
        ("2026-03-01T09:07", "2026-03-04T08:00", "9:07 AM on March 1"),
    ],
)
def test_a_time_says_its_day_where_that_matters(moment: str, now: str, text: str) -> None:
    def utc(written: str) -> datetime:
        return datetime.fromisoformat(written).replace(tzinfo=UTC)

    assert clock(utc(moment), utc(now)) == text


@pytest.mark.parametrize(
    ("cents", "currency", "text"),
    [(1840, "USD", "$18.40"), (5, "EUR", "€0.05"), (123456, "GBP", "£1,234.56")],
)
def test_money(cents: int, currency: str, text: str) -> None:
    assert money(cents, currency) == text
