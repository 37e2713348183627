"""What a template may contain, what it becomes, and what is refused with which words."""

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant import answer_templates, placeholders
from assistant.answer_templates import NoValue, Template, check, clean
from assistant.cached_answer_selectors import people_named_in
from assistant.errors import InvalidTemplate
from orders.states import DeliveryState as D
from orders.states import Status as S
from tests.assistant.answers import STATES, facts_in
from tests.orders.builders import a_customer, a_rider


def problems(text: str, *people: str) -> str:
    with pytest.raises(InvalidTemplate) as caught:
        check(text, people)
    return str(caught.value)


def test_a_template_is_filled_from_the_order() -> None:
    facts = facts_in(S.PICKED_UP, D.ON_THE_WAY)
    text = "{{ rider_name }} is coming, {{eta_minutes}} minutes to go ({{ eta_time }})."
    assert check(text).render(facts) == "Asha is coming, 12 minutes to go (7:45 PM)."


def test_a_rider_without_a_name_gets_a_capital_at_a_sentences_start_only() -> None:
    facts = facts_in(S.PICKED_UP, D.ON_THE_WAY, rider=None)
    text = "{{ the_rider }} has it. Ask {{ the_rider }}. {{ the_rider }} knows."
    assert Template(text).render(facts) == "The rider has it. Ask the rider. The rider knows."


@pytest.mark.parametrize(
    ("text", "placeholder", "changed"),
    [
        ("{{ rider_name }} comes.", "rider_name", {"rider": None}),
        ("{{ late_reason }}", "late_reason", {"late_reason": ""}),
        ("{{ minutes_late }} late", "minutes_late", {"expected_at": None, "late_reason": ""}),
        ("Fee {{ delivery_fee }}", "delivery_fee", {"delivery_fee": 0}),
        ("{{ delivered_time }}", "delivered_time", {}),
        ("{{ refund_amount }}", "refund_amount", {}),
    ],
)
def test_no_value_is_said_and_never_a_hole(
    text: str, placeholder: str, changed: dict[str, Any]
) -> None:
    on_time = {"promised_at": facts_in(S.PICKED_UP, D.ON_THE_WAY).expected_at}
    with pytest.raises(NoValue, match=placeholder):
        Template(text).render(facts_in(S.PICKED_UP, D.ON_THE_WAY, **(on_time | changed)))
    with pytest.raises(NoValue, match="no order"):
        Template(text).render(None)


def test_an_answer_that_grows_too_long_is_none() -> None:
    text = "x" * 980 + " {{ stage }}"
    with pytest.raises(NoValue, match="too long"):
        check(text).render(facts_in(S.PLACED, D.UNASSIGNED))


@pytest.mark.parametrize("state", STATES, ids=lambda value: str(value))
def test_every_placeholder_has_a_value_or_says_why_not(state: tuple[S, D]) -> None:
    facts = facts_in(*state)
    for placeholder in placeholders.ALL:
        value = placeholder.value(facts)
        if placeholder.missing:
            assert value is None or (value and "None" not in value)
        else:
            assert value and "None" not in value, placeholder.name
        if placeholder.sentence and value:
            assert value[0].isupper() and value.endswith(".")


def test_what_a_customer_ordered_is_never_read_as_a_template() -> None:
    order = facts_in(S.PLACED, D.UNASSIGNED)
    tricky = type(order)(
        **{name: getattr(order, name) for name in order.__slots__}
        | {"restaurant": "{{ total }} {% now %}"}
    )
    assert Template("From {{ restaurant_name }}.").render(tricky) == "From {{ total }} {% now %}."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("x" * 1001, "1,001 characters; 1,000 is the most"),
        ("At {{ eta_tiem }}.", "no placeholder “eta_tiem”; did you mean “eta_time”?"),
        ("At {{ customer.email }}.", "“{{ customer.email }}” is not possible"),
        ("At {{ eta_time|upper }}.", "“{{ eta_time|upper }}” is not possible"),
        ("{% if late %}Sorry{% endif %}", "“{% if late %}” is not possible"),
        ("Hi {# note #}", "“{# note #}” is not possible"),
        ("{{ eta_time", "curly bracket"),
        ("eta_time }}", "curly bracket"),
        ("{{ {{ eta_time }} }}", "not possible"),
        ("<b>Sorry</b>", "HTML"),
        ("a <!-- b", "HTML"),
        ("Sorry &nbsp; for that", "HTML"),
        ("Write to help@quickbite.example", "e-mail"),
        ("Write to help\uff20quickbite.example", "e-mail"),
        ("About QB-1042.", "“QB-1042” looks like an order number"),
        ("About qb 1042.", "order number"),
        ("About #1042.", "order number"),
        ("Call +1 555 0160 now", "phone number"),
        ("Call (555) 016-0144", "phone number"),
        ("Call \uff15\uff15\uff15\uff10\uff11\uff16\uff10", "phone number"),
        ("Your customer id is 99812", "number of a person"),
        ("See https://example.com", "Links are not possible"),
        ("bell\x07", "control characters"),
    ],
)
def test_what_is_refused_and_how_it_is_said(text: str, said: str) -> None:
    assert said in problems(text)


def test_all_problems_are_said_at_once() -> None:
    said = problems("<i>QB-1042</i> {{ nothing }}")
    assert "HTML" in said and "order number" in said and "“nothing”" in said


@pytest.mark.parametrize(
    "text",
    [
        "I <3 pizza, 5 < 6 & that is fine. Ready in 20-30 minutes for $18.40?",
        "Three to five working days, from 7:30 PM on 24/12/2026.",
        "Olive & Fig; salt & pepper.",
    ],
)
def test_plain_words_pass(text: str) -> None:
    assert check(text).render(None) == text


def test_line_ends_and_blanks_are_one_form() -> None:
    assert clean("  Hello \r\nthere\r") == "Hello\nthere"


@pytest.mark.django_db
def test_names_of_riders_and_customers_are_found() -> None:
    a_rider("bao", "Bảo")
    a_rider("will", "Will")
    customer = a_customer("maya")
    customer.name = "Maya O'Brien"
    customer.save()
    assert people_named_in("Will you wait? bảo comes.") == ["bảo"]
    assert people_named_in("Maya and O’Brien, or Maya O'Brien") == ["Maya", "O’Brien", "O'Brien"]
    assert people_named_in("Your rider is on the way; the maya pyramid is far.") == []
    assert "“Bảo” is the name of a rider" in problems("Bảo comes.", *people_named_in("Bảo comes."))


_SCRAPS = st.sampled_from(
    ["{{", "}}", "{%", "%}", "{", "}", " eta_time ", "eta_time", "|", "x", " ", "\n", "{{ total }}"]
)


@given(st.lists(_SCRAPS | st.text(string.printable, max_size=5), max_size=12).map("".join))
def test_whatever_passes_the_check_has_no_brackets_left(text: str) -> None:
    text = clean(text)
    try:
        template = answer_templates.check(text)
    except InvalidTemplate as error:
        assert error.problems
        return
    try:
        shown = template.render(facts_in(S.PICKED_UP, D.ON_THE_WAY))
    except NoValue:
        return
    assert not {"{", "}"} & set(shown)
