"""Answers that need no engine, from the socket to the row."""

from typing import Any

import pytest

from assistant import turns
from assistant.db import in_db
from assistant.models import Category, Message
from assistant.understanding import Understanding
from inference.models import Generation
from inference.store import JobStore
from inference.tokenizer import ChatTokenizer
from orders.models import Customer
from tests.chats import Chat, running_host, socket
from tests.orders.builders import a_customer, an_order

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def understood(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What every question is understood as."""
    meaning: dict[str, Any] = {"category": "order_status", "sure": True}
    monkeypatch.setattr(turns, "understand", lambda text: Understanding(**meaning))
    return meaning


async def test_a_sure_question_is_answered_with_no_engine_at_all(
    chat: Chat, understood: dict[str, Any]
) -> None:
    await chat.open()
    answer = await chat.answer("Where is my order?")
    assert (answer["source"], answer["status"]) == ("cache", "complete")
    assert "Bella Napoli" in answer["text"]
    assert "{{" not in answer["text"]
    row = await in_db(Message.objects.get)(public_id=answer["id"])
    assert row.category == "order_status"
    assert row.facts["values"]["order"] == "QB-2000"
    assert await in_db(Generation.objects.count)() == 0


async def test_two_customers_in_the_same_state_get_their_own_facts(
    chat: Chat, understood: dict[str, Any]
) -> None:
    def liam() -> Customer:
        customer = a_customer("liam")
        an_order(customer, "QB-3000", restaurant="Café Zoë")
        return customer

    await chat.open()
    mine = await chat.answer("Where is my order?")
    async with socket(await in_db(liam)()) as other:
        await other.open()
        his = await other.answer("Where is my order?")
    assert "Bella Napoli" in mine["text"]
    assert "Café Zoë" not in mine["text"]
    assert "Café Zoë" in his["text"]
    assert "Bella Napoli" not in his["text"]


@pytest.mark.parametrize("why", ["unsure", "no_cache", "off"])
async def test_the_rest_goes_to_the_model(
    chat: Chat, understood: dict[str, Any], store: JobStore, tokenizer: ChatTokenizer, why: str
) -> None:
    if why == "unsure":
        understood["sure"] = False
    if why == "off":
        understood.update(category="", sure=False)
    async with running_host(store, tokenizer):
        await chat.open()
        answer = await chat.answer("Where is my order?", no_cache=why == "no_cache")
    assert answer["source"] == "model"


async def test_an_allergen_question_gets_the_fixed_reply_however_sure(
    chat: Chat, understood: dict[str, Any]
) -> None:
    understood.update(category="allergy_question", sure=False)
    await chat.open()
    answer = await chat.answer("Are there nuts in it?")
    fixed = await in_db(Category.objects.get)(slug="allergy_question")
    assert (answer["source"], answer["text"]) == ("system", fixed.fixed_reply.strip())
    assert answer["offered"]


async def test_a_greeting_does_not_ask_which_order(
    chat: Chat, maya: Customer, understood: dict[str, Any]
) -> None:
    await in_db(an_order)(maya, "QB-2001", restaurant="Café Zoë")
    await chat.open()
    understood.update(category="greeting_thanks", intent="hello")
    assert not (await chat.answer("Hello!")).get("choices")
    understood.update(category="order_status", intent="")
    assert (await chat.answer("Where is it?"))["choices"]
