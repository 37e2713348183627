from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from assistant.views import card
from orders.facts import facts_of
from tests.orders.builders import NOW, a_customer, order_in_memory

pytestmark = pytest.mark.django_db


def shown(**values: Any) -> Any:
    return card(facts_of(order_in_memory(**values), NOW))


def test_a_visitor_is_sent_to_sign_in(client: Client) -> None:
    assertRedirects(client.get("/"), "/accounts/login/?next=/")


def test_a_customer_without_orders_can_chat_all_the_same(client: Client) -> None:
    client.force_login(a_customer().user)
    page = client.get("/")
    assertContains(page, "No orders yet")
    assertContains(page, "<quickbite-chat")


def test_staff_get_a_link_to_their_pages_and_no_chat(client: Client) -> None:
    client.force_login(User.objects.create_user("editor", is_staff=True))
    page = client.get("/")
    assertContains(page, 'href="/admin/"')
    assertNotContains(page, "<quickbite-chat")


def test_a_user_without_a_customer_is_told_so(client: Client) -> None:
    client.force_login(User.objects.create_user("nobody"))
    page = client.get("/")
    assertContains(page, "no customer belongs to this account")
    assertNotContains(page, "/admin/")


def test_the_page_is_not_kept_by_shared_caches(client: Client) -> None:
    client.force_login(a_customer().user)
    assert "no-store" in client.get("/")["Cache-Control"]


def test_an_unknown_page_is_told_in_plain_words(client: Client) -> None:
    assertContains(client.get("/no/such/page"), "not on the menu", status_code=404)


def test_a_form_without_its_token_is_explained() -> None:
    strict = Client(enforce_csrf_checks=True)
    page = strict.post("/accounts/login/", {"username": "maya", "password": "demo"})
    assertContains(page, "This form was too old", status_code=403)


def test_a_card_says_first_when_the_food_arrives() -> None:
    found = shown()
    assert found.headline == "Arrives at 7:45\u00a0PM, in about 12 min"
    assert found.label == "On the way"
    assert found.tone == "late"
    assert found.late == "15 min later than promised because the kitchen was very busy."
    assert found.items == ("2 × Margherita (large)", "1 × Tiramisu")
    assert found.total == "$18.40"
    assert [step.state for step in found.steps] == ["done", "done", "now", "next"]


def test_an_overdue_order_promises_no_minute() -> None:
    assert shown(expected_at=NOW - timedelta(minutes=5)).headline == "Any minute now"


def test_a_rider_at_the_door_comes_first() -> None:
    found = shown(delivery_state="arrived")
    assert (found.headline, found.label) == ("At your door", "At your door")


def test_a_delivered_order_has_no_steps_and_no_lateness() -> None:
    found = shown(status="delivered", delivery_state="delivered", delivered_at=NOW)
    assert (found.label, found.tone, found.steps, found.late) == ("Delivered", "good", (), "")
    assert found.headline == "Delivered at 7:33\u00a0PM"


def test_a_failed_delivery_says_why() -> None:
    found = shown(delivery_state="failed", failed_at=NOW, failure_reason="nobody_home")
    assert (found.label, found.tone) == ("Not delivered", "bad")
    assert "nobody answered at the door" in found.headline


def test_a_cancelled_order_is_cancelled_whatever_its_delivery_was() -> None:
    found = shown(status="cancelled", delivery_state="failed", failed_at=NOW, cancelled_at=NOW)
    assert found.label == "Cancelled"
