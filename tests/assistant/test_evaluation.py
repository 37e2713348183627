"""The check of answers: right ones pass, and each kind of wrong one is told from them."""

from datetime import timedelta
from typing import Any

import pytest

from assistant.evaluation import names_in, stage_of, wrong
from assistant.evaluation_questions import PLAIN_TOPICS, questions
from orders.facts import facts_of
from tests.orders.builders import NOW, order_in_memory

NAMES = ("Ruth", "Spice Route", "Burrito", "Asha", "Bella Napoli", "Wilma")


def check(topic: str, answer: str, **values: Any) -> list[str]:
    facts = facts_of(order_in_memory(**values), NOW).display()
    return wrong(topic, answer, facts, other_names=NAMES)


PLACED: dict[str, Any] = {"status": "placed", "delivery_state": "unassigned", "rider": None}
DELIVERED: dict[str, Any] = {
    **{"status": "delivered", "delivery_state": "delivered", "delivered_at": NOW},
    "expected_at": None,
}
CANCELLED: dict[str, Any] = {
    **{"status": "cancelled", "delivery_state": "unassigned", "cancelled_at": NOW},
    **{"expected_at": None, "rider": None},
}
FAILED: dict[str, Any] = {"delivery_state": "failed", "expected_at": None}


@pytest.mark.parametrize(
    ("topic", "answer", "values"),
    [
        ("total", "Your order comes to $18.40.", {}),
        ("fee", "Delivery costs $2.99.", {}),
        ("fee", "Delivery is free.", {"delivery_fee": 0}),
        ("eta", "It should be with you in about 12 minutes.", {}),
        ("eta", "At 7:45 PM.", {}),
        ("eta", "It was delivered at 7:33 PM.", DELIVERED),
        ("eta", "It will not arrive: it was cancelled.", CANCELLED),
        ("eta", "It should arrive any minute now.", {"expected_at": NOW - timedelta(minutes=2)}),
        ("eta", "There is no estimate yet.", {"expected_at": None}),
        ("rider", "Asha brings it.", {}),
        ("rider", "No rider has been assigned yet.", PLACED),
        ("restaurant", "You ordered at Bella Napoli.", {}),
        ("items", "Two Margherita and a Tiramisu.", {}),
        ("items", "2 × Margherita (large) and 1 × Tiramisu", {}),
        ("stage", "Asha has picked it up and is on the way.", {}),
        ("stage", "The restaurant has not accepted it yet.", PLACED),
        ("stage", "It was not delivered because nobody answered.", FAILED),
        ("cancel", "No, Asha has already picked it up.", {}),
        ("cancel", "I'm afraid you can't cancel it any more.", {}),
        ("cancel", "Yes, because the restaurant has not accepted it you can cancel it.", PLACED),
        ("cancel", "It has already been cancelled.", CANCELLED),
        ("address", "The address can no longer be changed.", {}),
        ("address", "You can still change the address under “Your orders”.", PLACED),
        ("late", "It is 15 minutes late because the kitchen was very busy.", {}),
        ("late", "No, it is on time.", {"promised_at": NOW + timedelta(minutes=30)}),
        ("contact", "You can call or message Asha under “Your orders”.", {}),
        ("contact", "The rider cannot be contacted any more.", DELIVERED),
        ("refund", "No refund has been requested.", {}),
        ("allergens", "We do not know the ingredients. Please ask the restaurant.", {}),
        ("unknown", "I do not know that, but a colleague can help.", {}),
    ],
)
def test_right_answers_pass(topic: str, answer: str, values: dict[str, Any]) -> None:
    assert check(topic, answer, **values) == []


@pytest.mark.parametrize(
    ("topic", "answer", "values", "why"),
    [
        ("total", "", {}, "empty"),
        ("total", "The total is $2.99.", {}, "total missing"),
        ("total", "The total is $18.40, or $16.00 next time.", {}, "amount $16.00"),
        ("fee", "Delivery is free.", {}, "says free"),
        ("eta", "It should arrive soon.", {}, "time of arrival missing"),
        ("eta", "At 7:45 PM, in 20 minutes.", {}, "20 minutes"),
        ("eta", "It arrives at 7:45 PM, not 8:10 PM.", {}, "time 8:10 PM"),
        ("eta", "It should arrive at 7:45 PM.", CANCELLED, "does not say cancelled"),
        ("rider", "Ruth brings it.", {}, "names Ruth"),
        ("rider", "Your rider is Wilma.", PLACED, "names Wilma"),
        ("rider", "Somebody will.", PLACED, "no rider"),
        ("restaurant", "From Spice Route.", {}, "restaurant missing"),
        ("items", "You ordered a Margherita.", {}, "Tiramisu missing"),
        ("items", "1 Margherita and 1 Tiramisu.", {}, "quantity of Margherita"),
        ("stage", "Your order was delivered.", {}, "claims delivered"),
        ("stage", "Your order is on its way.", PLACED, "claims picked_up"),
        ("stage", "Your order has been cancelled.", {}, "claims cancelled"),
        ("stage", "The order is QB-1043.", {}, "order QB-1043"),
        ("cancel", "Yes, you can cancel it.", {}, "allows what is not possible"),
        ("cancel", "Your order is on the way.", {}, "does not answer"),
        ("cancel", "The order cannot be cancelled.", PLACED, "denies what is allowed"),
        (
            *("cancel", "The order can be cancelled free of charge."),
            {**PLACED, "status": "accepted"},
            "says free though",
        ),
        ("address", "You can change the address.", {}, "allows"),
        ("late", "It is on time.", {}, "late"),
        ("late", "It is late.", {"promised_at": NOW + timedelta(minutes=30)}, "on time"),
        ("contact", "Call +1 555 010 0199.", {}, "phone number"),
        ("contact", "Write to rider@quickbite.com.", {}, "link"),
        ("contact", "The address cannot be changed.", DELIVERED, "rider is gone"),
        ("refund", "We will refund you today.", {}, "promises"),
        ("allergens", "No, it does not contain nuts. Ask the restaurant.", {}, "ingredients"),
        ("allergens", "I am sorry.", {}, "restaurant"),
        ("unknown", "The restaurant opens at noon.", {}, "does not know"),
        ("stage", "My order is on the way.", {}, "as the customer"),
    ],
)
def test_wrong_answers_are_told(topic: str, answer: str, values: dict[str, Any], why: str) -> None:
    assert any(why in reason for reason in check(topic, answer, **values))


@pytest.mark.parametrize("values", [{}, PLACED, DELIVERED, CANCELLED, FAILED])
def test_the_sentences_of_the_facts_are_right_answers(values: dict[str, Any]) -> None:
    facts = facts_of(order_in_memory(**values), NOW)
    for statement in facts.statements():
        if statement.topic in PLAIN_TOPICS:
            found = wrong(statement.topic, statement.text, facts.display(), other_names=NAMES)
            assert found == [], statement


def test_a_customer_without_orders_gets_no_facts() -> None:
    assert wrong("total", "I do not know.", None) == []
    assert "amount $5.00 is not in the facts" in wrong("total", "It is $5.00.", None)


def test_the_stage_is_one_word() -> None:
    shown = [facts_of(order_in_memory(**v), NOW).display() for v in (PLACED, FAILED, CANCELLED)]
    assert [stage_of(facts) for facts in shown] == ["placed", "failed", "cancelled"]


def test_the_names_of_an_example() -> None:
    facts = ["- Your order QB-77 from Harvest Table is late.", "- Your rider is Wilma."]
    assert names_in(facts) == {"Harvest Table", "Wilma"}


def test_the_halves_share_no_question_and_cover_the_same_topics() -> None:
    tuned, held_out = questions(held_out=False), questions(held_out=True)
    assert len(tuned) >= 40
    assert len(held_out) >= 40
    assert not {q.text for q in tuned} & {q.text for q in held_out}
    assert {q.topic for q in tuned} == {q.topic for q in held_out}
    assert questions() == tuned + held_out
