"""Reading: facts in few queries, never someone else's, and which order a question means."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User

from orders.errors import NotACustomer, OrderNotFound
from orders.models import Customer
from orders.selectors import (
    Ambiguous,
    Picked,
    customer_of,
    normal_number,
    numbers_in,
    order_facts,
    pick_order,
    recent_order_facts,
)

from .builders import NOW, a_customer, an_order, deliver

pytestmark = pytest.mark.django_db


@pytest.fixture
def maya() -> Customer:
    return a_customer("maya")


def picked(customer: Customer, text: str = "Where is it?", on: str | None = None) -> Any:
    return pick_order(customer, opened_on=on, text=text)


def test_the_facts_of_an_order_cost_two_queries(
    maya: Customer, django_assert_max_num_queries: Any
) -> None:
    an_order(maya, "QB-1042")
    with django_assert_max_num_queries(2):
        facts = order_facts(maya, "QB-1042", now=NOW)
        facts.display()
        facts.sentences()
    assert facts.number == "QB-1042"


def test_the_list_costs_two_queries_and_starts_with_what_is_active(
    maya: Customer, django_assert_max_num_queries: Any
) -> None:
    for n in range(4):
        an_order(maya, f"QB-200{n}", ago=50 - n)
    deliver("QB-2003")
    with django_assert_max_num_queries(2):
        facts = recent_order_facts(maya, now=NOW)
    assert [f.number for f in facts] == ["QB-2002", "QB-2001", "QB-2000", "QB-2003"]


def test_someone_elses_order_is_like_none_at_all(maya: Customer) -> None:
    an_order(a_customer("liam"), "QB-2000")
    errors = []
    for number in ("QB-2000", "QB-9999"):
        for ask in (
            lambda n=number: order_facts(maya, n, now=NOW),
            lambda n=number: picked(maya, on=n),
            lambda n=number: picked(maya, f"Where is {n}?"),
        ):
            with pytest.raises(OrderNotFound) as raised:
                ask()
            errors.append((raised.value.code, str(raised.value), raised.value.customer_text))
    assert set(errors) == {errors[0]}


@pytest.mark.parametrize("text", ["Where is it?", "I live in flat #12 34, is that clear?", "#9999"])
def test_the_order_the_widget_was_opened_on_is_meant(maya: Customer, text: str) -> None:
    an_order(maya, "QB-2000")
    an_order(maya, "QB-2001")
    order = picked(maya, text, on="QB-2001")
    assert (order.number, order.how) == ("QB-2001", "opened_on")


def test_a_number_in_the_text_goes_before_the_order_the_widget_was_opened_on(
    maya: Customer,
) -> None:
    an_order(maya, "QB-2000")
    an_order(maya, "QB-2001")
    order = picked(maya, "What about QB-2000?", on="QB-2001")
    assert (order.number, order.how) == ("QB-2000", "number")


@pytest.mark.parametrize("text", ["QB-2000", "is qb 2000 late?", "QB2000!", "#2000 please"])
def test_one_named_by_its_number(maya: Customer, text: str) -> None:
    an_order(maya, "QB-2000")
    an_order(maya, "QB-2001")
    order = picked(maya, text)
    assert (order.number, order.how) == ("QB-2000", "number")


def test_two_numbers_are_ambiguous(maya: Customer) -> None:
    an_order(maya, "QB-2000")
    an_order(maya, "QB-2001")
    answer = picked(maya, "QB-2000 or QB-2001, which is first?")
    assert [o.number for o in answer.orders] == ["QB-2000", "QB-2001"]


@pytest.mark.parametrize(
    "text", ["my Café Zoë order", "the cafe zoe one?", "CAFÉ ZOË", "Café Zoë's order"]
)
def test_then_one_named_by_its_restaurant(maya: Customer, text: str) -> None:
    an_order(maya, "QB-2000", restaurant="Café Zoë")
    an_order(maya, "QB-2001", restaurant="Phở Sao Mai")
    order = picked(maya, text)
    assert isinstance(order, Picked)
    assert (order.number, order.how) == ("QB-2000", "restaurant")


def test_of_one_restaurant_the_active_order_is_meant(maya: Customer) -> None:
    an_order(maya, "QB-2000", ago=60)
    an_order(maya, "QB-2001", ago=50)
    deliver("QB-2001")
    assert picked(maya, "my bella napoli order").number == "QB-2000"


def test_part_of_a_word_names_no_restaurant(maya: Customer) -> None:
    an_order(maya, "QB-2000", restaurant="Sol", ago=60)
    an_order(maya, "QB-2001", restaurant="Nord", ago=50)
    assert isinstance(picked(maya, "Please solve this"), Ambiguous)


def test_then_the_only_active_order(maya: Customer) -> None:
    an_order(maya, "QB-2000", ago=60)
    an_order(maya, "QB-2001", ago=50)
    deliver("QB-2001")
    order = picked(maya)
    assert (order.number, order.how) == ("QB-2000", "active")


def test_several_active_orders_are_ambiguous(maya: Customer) -> None:
    an_order(maya, "QB-2000", restaurant="Café Zoë", ago=60)
    an_order(maya, "QB-2001", ago=50)
    an_order(maya, "QB-2002", ago=40)
    deliver("QB-2002")
    answer = picked(maya)
    assert isinstance(answer, Ambiguous)
    assert [(o.number, o.restaurant) for o in answer.orders] == [
        ("QB-2001", "Bella Napoli"),
        ("QB-2000", "Café Zoë"),
    ]


def test_then_the_latest(maya: Customer) -> None:
    an_order(maya, "QB-2000", ago=60)
    an_order(maya, "QB-2001", ago=50)
    deliver("QB-2000")
    deliver("QB-2001")
    order = picked(maya)
    assert (order.number, order.how) == ("QB-2001", "latest")


def test_without_orders_none_is_meant(maya: Customer) -> None:
    assert picked(maya) is None


def test_a_user_is_a_customer_or_an_error(maya: Customer) -> None:
    assert customer_of(maya.user) == maya
    for other in (User.objects.create_user("editor"), AnonymousUser()):
        with pytest.raises(NotACustomer):
            customer_of(other)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", []),
        ("I paid 2000 for 1042 things", []),
        ("QB-1042 and qb-1042", ["QB-1042", "QB-1042"]),
        ("XQB-1042, QB-1042a, QB-12", []),
        ("QB–1042 (copied with a long dash)", ["QB-1042"]),
    ],
)
def test_numbers_in_a_text(text: str, numbers: list[str]) -> None:
    assert numbers_in(text) == numbers


@pytest.mark.parametrize("number", ["QB-1042", " qb-1042 ", "1042", "#1042", "QB1042"])
def test_a_number_has_a_normal_form(number: str) -> None:
    assert normal_number(number) == "QB-1042"
