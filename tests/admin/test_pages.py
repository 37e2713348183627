"""Every page of the admin opens, finds what one looks for, and shows people's words as words."""

import re
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin as django_admin
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from assistant import cached_answers
from assistant.cached_answers import Place
from assistant.models import (
    Category,
    Conversation,
    ExampleQuestion,
    Intent,
    Message,
    PeriodicRun,
    PromptExample,
)
from inference.models import Generation
from orders.models import Customer, Order, OrderEvent
from tests.admin.conftest import Talk

APPS = ("orders", "inference", "assistant")
MODELS = [model for app in APPS for model in apps.get_app_config(app).get_models()]
SCRIPT = "<script>alert(1)</script>"
#: Filled by programs alone.
READ_ONLY = ("conversation", "message", "promptversion", "periodicrun", "generation", "order")


def url(model: type[Model] | str, page: str = "changelist", *args: Any) -> str:
    name = model if isinstance(model, str) else model._meta.label_lower.replace(".", "_")
    return reverse(f"admin:{name}_{page}", args=args)


def body(client: Client, address: str, **query: str) -> str:
    response = client.get(address, query, follow=True)
    assert response.status_code == 200, address
    return str(response.content.decode())


@pytest.fixture
def full(talk: Talk) -> None:
    """One row of everything at least."""
    talk()
    PeriodicRun.objects.create(task="sweep_answers", slot=1)
    PromptExample.objects.create(question="When?", facts="- Soon.", answer="Soon.")
    category, _ = Category.objects.get_or_create(slug="order_status", defaults={"title": "Status"})
    intent, _ = Intent.objects.get_or_create(category=category, slug="where")
    ExampleQuestion.objects.get_or_create(text="Where is it?", category=category, intent=intent)
    category, _ = Category.objects.get_or_create(slug="rain", defaults={"title": "Rain"})
    answer = cached_answers.create(Place(category=category), "It rains.", author=None)
    cached_answers.publish(answer, author=None)
    cached_answers.count_hits({(answer.pk, timezone.now().date()): 3})


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_model_has_pages(admin: Client, full: None, model: type[Model]) -> None:
    assert django_admin.site.is_registered(model)
    body(admin, url(model))
    row = model._default_manager.first()
    assert row is not None
    page = body(admin, url(model, "change", row.pk))
    assert "Traceback" not in page
    body(admin, url(model, "history", row.pk))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_filter_column_and_search_works(
    admin: Client, full: None, model: type[Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = django_admin.site.get_model_admin(model)
    monkeypatch.setattr(found, "list_per_page", 5)  # long lists are opened elsewhere
    page = body(admin, url(model), all="1") if model.__name__ == "SystemText" else ""
    for link in set(re.findall(r'href="(\?[^"]+)"', page or body(admin, url(model)))):
        body(admin, url(model) + link.replace("&amp;", "&"))
    for column in range(1, len(found.list_display) + 1):
        body(admin, url(model), o=str(column))
    for term in ("maya", "QB-1042", "a1b2", "'; --", "\N{PILE OF POO}", "x" * 300):
        body(admin, url(model), q=term)


@pytest.mark.parametrize("name", READ_ONLY)
def test_nobody_writes_what_programs_write(admin: Client, full: None, name: str) -> None:
    model = next(model for model in MODELS if model._meta.model_name == name)
    row = model._default_manager.all()[0]
    assert admin.get(url(model, "add")).status_code == 403
    assert admin.post(url(model, "change", row.pk), {}).status_code == 403
    assert admin.post(url(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    admin.post(url(model), {"action": "delete_selected", "_selected_action": row.pk, "post": "yes"})
    assert model._default_manager.filter(pk=row.pk).exists()


def test_a_customer_with_a_chat_is_not_deleted_along_with_it(admin: Client, talk: Talk) -> None:
    chat = talk().conversation
    answer = admin.post(url(Customer, "delete", chat.customer_id), {"post": "yes"})
    assert answer.status_code in (200, 403)
    assert Conversation.objects.filter(pk=chat.pk).exists()


# ---- the transcript ----------------------------------------------------------------------------


def test_a_transcript_shows_who_said_what_and_leads_to_its_origins(
    admin: Client, talk: Talk
) -> None:
    said = talk("Where is my order?", "It is on the way.")
    page = body(admin, url(Conversation, "change", said.conversation.pk))
    assert page.index("Where is my order?") < page.index("It is on the way.")
    assert "✓ Complete" in page and "first token after 200 ms" in page
    assert said.answer.facts is not None and said.answer.prompt is not None
    assert said.answer.facts["sentences"][0].split(" is ")[0] in page
    for target in (said.run, said.conversation.order, said.conversation.customer):
        assert target is not None
        assert url(type(target), "change", target.pk) in page
    assert url("assistant_promptversion", "change", said.answer.prompt_id) in page
    assert 'name="_save"' not in page


def test_the_run_leads_back_to_its_answer(admin: Client, talk: Talk) -> None:
    said = talk()
    place = f"{url(Conversation, 'change', said.conversation.pk)}?seq=2#message-2"
    for address in (url(Generation), url(Generation, "change", said.run.pk)):
        assert place in body(admin, address)
    said.conversation.delete()
    assert "(erased)" in body(admin, url(Generation))


def test_an_order_and_a_customer_lead_to_their_chats(admin: Client, talk: Talk) -> None:
    chat = talk().conversation
    for model, pk in ((Order, chat.order_id), (Customer, chat.customer_id)):
        assert url(Conversation, "change", chat.pk) in body(admin, url(model, "change", pk))
    other = Order.objects.exclude(pk=chat.order_id).first()
    assert other is not None
    assert "None so far." in body(admin, url(Order, "change", other.pk))


def test_a_long_transcript_opens_on_the_page_of_the_message(admin: Client, talk: Talk) -> None:
    chat = talk().conversation
    Message.objects.bulk_create(
        Message(
            conversation=chat,
            customer=chat.customer,
            seq=n,
            revision=n,
            author="customer",
            source="customer",
            text=f"word-{n}-",
        )
        for n in range(3, 251)
    )
    address = url(Conversation, "change", chat.pk)
    newest = body(admin, address)
    assert "word-250-" in newest and "word-150-" not in newest
    assert "Page 3 of 3" in newest
    assert "word-150-" in body(admin, address, seq="150")
    for nonsense in ("-1", "x", "９", "9" * 400):
        body(admin, address, seq=nonsense, page=nonsense)


def test_what_people_write_is_shown_and_never_run(admin: Client, talk: Talk) -> None:
    said = talk(SCRIPT, SCRIPT)
    Customer.objects.filter(pk=said.conversation.customer_id).update(name=SCRIPT)
    Message.objects.filter(pk=said.answer.pk).update(
        facts={"sentences": [SCRIPT], "values": {SCRIPT: SCRIPT}},
        choices=[{"order": SCRIPT, "label": SCRIPT}],
        error=SCRIPT,
    )
    Generation.objects.update(reason=SCRIPT, host=SCRIPT)
    order = said.conversation.order
    assert order is not None
    Order.objects.filter(pk=order.pk).update(delivery_instructions=SCRIPT)
    for model, pk in (
        (Conversation, said.conversation.pk),
        (Message, said.answer.pk),
        (Order, order.pk),
        (Customer, said.conversation.customer_id),
        (Generation, said.run.pk),
    ):
        for address in (url(model), url(model, "change", pk)):
            page = body(admin, address)
            assert SCRIPT not in page, address
            assert "&lt;script&gt;alert(1)" in page, address


def test_facts_of_an_unknown_shape_break_nothing(admin: Client, talk: Talk) -> None:
    said = talk()
    for facts in ([], ["x"], {"sentences": None}, {"values": {"a": None}}, "x", 0):
        Message.objects.filter(pk=said.answer.pk).update(facts=facts)
        body(admin, url(Conversation, "change", said.conversation.pk))
        body(admin, url(Message, "change", said.answer.pk))


# ---- finding things ----------------------------------------------------------------------------


def test_search_finds_a_chat_by_customer_order_and_id(admin: Client, talk: Talk) -> None:
    hers, his = talk(customer="maya").conversation, talk(customer="liam").conversation
    assert hers.order is not None
    public = str(hers.public_id)
    for term in ("Maya", "maya", hers.order.number, public, public[:8]):
        page = body(admin, url(Conversation), q=term)
        assert url(Conversation, "change", hers.pk) in page, term
        assert url(Conversation, "change", his.pk) not in page, term


def test_search_finds_a_message_by_its_words(admin: Client, talk: Talk) -> None:
    talk("Where are my Dumplings?")
    assert "Where are my Dumplings?" in body(admin, url(Message), q="dumplings")
    assert "Where are my Dumplings?" not in body(admin, url(Message), q="lasagna")


def test_search_finds_an_order_by_number_customer_and_restaurant(admin: Client) -> None:
    order = Order.objects.select_related("customer", "restaurant").first()
    assert order is not None
    for term in (order.number, order.customer.name, order.restaurant.name):
        assert order.number in body(admin, url(Order), q=term), term
    assert order.number not in body(admin, url(Order), q="nobody and nothing")


def test_an_order_shows_its_state_in_words_and_its_events(admin: Client) -> None:
    order = Order.objects.filter(status="picked_up", delivery_state="on_the_way").first()
    assert order is not None
    page = body(admin, url(Order), q=order.number)
    assert "● Picked up" in page and "▸ On the way" in page
    page = body(admin, url(Order, "change", order.pk))
    for event in OrderEvent.objects.filter(order=order):
        assert event.get_type_display() in page


def test_late_orders_can_be_told_from_the_others(admin: Client) -> None:
    late = body(admin, url(Order), late="yes", all="1")
    on_time = body(admin, url(Order), late="no", all="1")
    assert "min late" in late and "On time</span>" not in re.sub(r"\s+", "", late)
    assert "✓ On time" in on_time and "min late" not in on_time


def test_an_empty_list_says_whether_it_is_the_search(admin: Client) -> None:
    assert "No conversations yet" in body(admin, url(Conversation))
    assert "No conversations match" in body(admin, url(Conversation), q="nobody")
    assert "No conversations match" in body(admin, url(Conversation), holder__exact="closed")


def test_chats_with_a_failed_answer_can_be_found(admin: Client, talk: Talk) -> None:
    good, bad = talk().conversation, talk(status=Message.Status.FAILED).conversation
    page = body(admin, url(Conversation), answers="failed")
    assert url(Conversation, "change", bad.pk) in page
    assert url(Conversation, "change", good.pk) not in page


# ---- cost --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [Conversation, Message, Generation, Order, OrderEvent, Customer])
def test_lists_cost_the_same_however_long(
    admin: Client, talk: Talk, django_assert_max_num_queries: Any, model: type[Model]
) -> None:
    for order in Order.objects.with_people().all():
        talk(customer=order.customer.user.username, order=order)
    assert Conversation.objects.count() >= 50
    with django_assert_max_num_queries(16):
        body(admin, url(model))


def test_a_transcript_costs_the_same_however_long(
    admin: Client, talk: Talk, django_assert_max_num_queries: Any
) -> None:
    first = talk().conversation
    for _ in range(30):
        more = talk()
        last = Message.objects.filter(conversation=first).count()
        for n, message in enumerate((more.question, more.answer), last + 1):
            Message.objects.filter(pk=message.pk).update(conversation=first, seq=n)
    with django_assert_max_num_queries(14):
        page = body(admin, url(Conversation, "change", first.pk))
    assert page.count("qb-bubble__head") == 62
