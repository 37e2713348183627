"""Who holds the chat: the model never talks over a person, and a tab shows one chat at a time."""

from typing import Any

import pytest
from django.db.models import F

from assistant.db import in_db
from assistant.models import Conversation, Message
from inference.host import EngineHost
from inference.store import JobStore
from inference.tokenizer import ChatTokenizer
from orders.models import Customer
from tests.chats import Chat, running_host, socket
from tests.orders.builders import an_order

pytestmark = pytest.mark.django_db(transaction=True)


def pass_to(holder: str) -> None:
    Conversation.objects.update(holder=holder, epoch=F("epoch") + 1)


async def stopped(chat: Chat) -> str:
    """Ask, stop, and return the answer's id."""
    ack = await chat.ask("Where is my order?")
    await chat.text_grows(ack["answer"]["id"])
    await chat.send(type="stop", message=ack["answer"]["id"])
    return str((await chat.end_of(ack["answer"]["id"]))["id"])


@pytest.mark.parametrize("holder", ["agent", "waiting_for_agent"])
async def test_while_a_person_holds_the_chat_the_model_is_silent(
    chat: Chat, host: EngineHost, holder: str
) -> None:
    opened = await chat.open()
    await in_db(pass_to)(holder)
    ack = await chat.ask("Hello?", client_id="to-a-person")
    assert ack["type"] == "ack"
    assert "answer" not in ack
    # Sent again after others have spoken, it still has no answer of its own.
    await in_db(pass_to)("assistant")
    await chat.answer("And now?")
    again = await chat.ask("Hello?", client_id="to-a-person")
    assert again["question"]["id"] == ack["question"]["id"]
    assert "answer" not in again
    assert opened["holder"] == "assistant"


async def test_a_retry_does_not_talk_over_a_person(
    chat: Chat, store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running_host(store, tokenizer, speed=1):
        await chat.open()
        answer = await stopped(chat)
        await in_db(pass_to)("agent")
        await chat.send(type="retry", message=answer)
        assert (await chat.until("error"))["code"] == "conversation_moved"
        assert await in_db(Message.objects.filter(status="queued").count)() == 0


async def test_after_the_hand_back_a_retry_is_answered(
    chat: Chat, store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running_host(store, tokenizer, speed=2):
        await chat.open()
        answer = await stopped(chat)
        await in_db(pass_to)("agent")
        await in_db(pass_to)("assistant")
        await chat.send(type="retry", message=answer)
        again = await chat.until("message")
        assert (await chat.end_of(again["message"]["id"]))["status"] == "complete"


async def test_an_answer_under_way_when_the_chat_changes_hands_counts_as_stopped(
    chat: Chat, store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running_host(store, tokenizer, speed=2):
        await chat.open()
        ack = await chat.ask("Where is my order?")
        await chat.text_grows(ack["answer"]["id"])
        await in_db(pass_to)("agent")
        end = await chat.end_of(ack["answer"]["id"])
        assert (end["status"], end["error"]) == ("stopped", "claimed")


async def test_a_closed_chat_opens_again_with_the_next_question(
    chat: Chat, host: EngineHost
) -> None:
    await chat.open()
    await chat.answer("Where is my order?")
    await in_db(pass_to)("closed")
    assert (await chat.answer("And now?"))["status"] == "complete"
    holder, epoch = await in_db(Conversation.objects.values_list("holder", "epoch").get)()
    assert (holder, epoch) == ("assistant", 2)


async def test_a_tab_that_opens_another_chat_shows_nothing_of_the_first(
    chat: Chat, store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running_host(store, tokenizer, speed=1):
        first = await chat.open()
        ack = await chat.ask("Where is my order?")
        await chat.text_grows(ack["answer"]["id"])
        second = await chat.open(new=True)
        assert second["conversation"] != first["conversation"]
        chat.frames.clear()
        await chat.send(type="sync", revision=0)
        await chat.until("changes")
        assert await chat.socket.receive_nothing(1.0)
        assert [frame["type"] for frame in chat.frames] == ["changes"]
        # Back in the first, its answer goes on where this tab's text ended.
        answer_id = ack["answer"]["id"]
        shown = chat.shown[answer_id]
        await chat.open(
            conversation=first["conversation"],
            revision=ack["answer"]["revision"],
            offsets={answer_id: len(shown)},
        )
        end = await chat.end_of(answer_id)
        assert chat.shown[answer_id].strip() == end["text"]


async def test_a_huge_order_still_gets_an_answer(
    maya: Customer, host: EngineHost, settings: Any
) -> None:
    def huge() -> str:
        order = an_order(maya, "QB-4000", restaurant="Café Zoë")
        item = order.items.first()
        rows = [
            type(item)(order=order, name=f"Dish number {n} " * 4, quantity=1, unit_price=0)
            for n in range(60)
        ]
        type(item).objects.bulk_create(rows)
        return order.number

    settings.ENGINE_MAX_MODEL_LEN = 2800
    async with socket(maya) as chat:
        await chat.open(order=await in_db(huge)())
        answer = await chat.answer("When does it come?")
        assert answer["status"] == "complete"
