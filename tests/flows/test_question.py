"""A question's whole way, from the socket to the row, through real Redis."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from assistant import answers
from assistant.db import in_db
from assistant.models import Conversation, Message
from assistant.prompts import job_for
from assistant.tasks import sweep
from inference import dispatch
from inference.engines.simulated import simulated_ids
from inference.host import EngineHost
from inference.models import Generation
from inference.store import HostState, JobStore
from inference.tokenizer import ChatTokenizer
from orders.models import Customer
from tests.chats import Chat, running_host, socket
from tests.orders.builders import a_customer, an_order, deliver

pytestmark = pytest.mark.django_db(transaction=True)


def answer_row(answer_id: str) -> Message:
    return Message.objects.select_related("answer_to", "prompt", "conversation").get(
        public_id=answer_id
    )


async def expected_text(answer_id: str, tokenizer: ChatTokenizer, tokens: int = 150) -> str:
    """What the simulated engine must have written to this answer's prompt."""
    job = await in_db(lambda: job_for(answer_row(answer_id)))()
    ids = simulated_ids(job.prompt_ids, tokenizer, tokens)
    # An answer that is cut in the middle of an emoji ends before it.
    return tokenizer.decode(tokenizer.whole(ids)).strip()


async def test_a_question_is_answered_word_for_word(
    chat: Chat, store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running_host(store, tokenizer, speed=4):
        ready = await chat.open()
        assert ready["order"]["number"] == "QB-2000"
        assert ready["engine"] == {"state": "ready", "simulated": True}
        answer = await chat.answer("Where is my order?")
    assert answer["status"] == "complete"
    assert answer["text"] == await expected_text(answer["id"], tokenizer)
    # It was streamed in pieces, and the pieces make the text.
    assert chat.shown[answer["id"]].strip() == answer["text"]
    pieces = [f for f in chat.frames if f["type"] == "token"]
    assert len(pieces) >= 3
    assert answer["end"] == len(answer["text"])


async def test_what_became_of_it_is_written_down(chat: Chat, host: EngineHost) -> None:
    await chat.open()
    answer = await chat.answer("Where is my order?")
    run = await in_db(Generation.objects.get)(answer_id=answer["id"])
    row = await in_db(answer_row)(answer["id"])
    assert (run.outcome, run.finish_reason, run.host, run.attempts) == (
        "done",
        "length",
        host.name,
        1,
    )
    assert run.output_tokens == 150
    assert run.prompt_tokens > 50
    assert run.prompt_hash == row.prompt.hash
    assert run.queued_at <= run.started_at <= run.first_token_at <= run.finished_at
    assert row.facts["values"]["order"] == "QB-2000"
    assert row.source == "model"


async def test_the_second_question_reaches_the_engine_with_the_first(
    chat: Chat, host: EngineHost, tokenizer: ChatTokenizer
) -> None:
    await chat.open()
    first = await chat.answer("Where is my order now?")
    second = await chat.answer("And who is bringing it?")
    job = await in_db(lambda: job_for(answer_row(second["id"])))()
    prompt = tokenizer.decode(job.prompt_ids)
    assert "Where is my order now?" in prompt
    assert first["text"] in prompt
    assert prompt.index("Where is my order now?") < prompt.index("And who is bringing it?")


async def test_the_same_client_id_is_the_same_question(chat: Chat, host: EngineHost) -> None:
    await chat.open()
    first = await chat.ask("Where is my order?", client_id="once")
    again = await chat.ask("Where is my order?", client_id="once")
    assert (again["question"]["id"], again["answer"]["id"]) == (
        first["question"]["id"],
        first["answer"]["id"],
    )
    await chat.end_of(first["answer"]["id"])
    assert await in_db(Message.objects.count)() == 2


async def test_the_same_question_from_two_sockets_at_once_is_one(
    maya: Customer, host: EngineHost
) -> None:
    async with socket(maya) as one, socket(maya) as two:
        await one.open()
        await two.open()
        acks = await asyncio.gather(
            one.ask("Where is it?", client_id="once"), two.ask("Where is it?", client_id="once")
        )
        assert {ack["type"] for ack in acks} == {"ack"}
        assert len({ack["answer"]["id"] for ack in acks}) == 1
        await one.end_of(acks[0]["answer"]["id"])
        await two.end_of(acks[0]["answer"]["id"])
    assert await in_db(Message.objects.count)() == 2


async def test_a_second_question_waits_for_the_first(
    chat: Chat, store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running_host(store, tokenizer, speed=1):
        await chat.open()
        first = await chat.ask("Where is my order?")
        refused = await chat.ask("And when?", client_id="second")
        assert (refused["type"], refused["code"]) == ("error", "answer_in_progress")
        assert refused["client_id"] == "second"
        await chat.send(type="stop", message=first["answer"]["id"])
        await chat.end_of(first["answer"]["id"])
        assert (await chat.ask("And when?", client_id="second"))["type"] == "ack"


async def test_one_unfinished_answer_a_customer_even_in_another_conversation(
    chat: Chat, maya: Customer, store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running_host(store, tokenizer, speed=1), socket(maya) as other:
        await chat.open()
        await chat.ask("Where is my order?")
        await other.open(new=True)
        assert (await other.ask("And when?"))["code"] == "answer_in_progress"


async def test_stopping_keeps_what_was_shown(
    chat: Chat, store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running_host(store, tokenizer, speed=1) as host:
        await chat.open()
        ack = await chat.ask("Where is my order?")
        answer_id = ack["answer"]["id"]
        shown = await chat.text_grows(answer_id)
        await chat.send(type="stop", message=answer_id)
        end = await chat.end_of(answer_id)
        assert end["status"] == "stopped"
        assert end["text"].startswith(shown.strip())
        assert len(end["text"]) < len(await expected_text(answer_id, tokenizer))
        assert end["can_retry"]
        # The engine's slot is free soon after.
        async with asyncio.timeout(2):
            while host.engine.stats().running:
                await asyncio.sleep(0.05)
        # Nothing more is written, and it is as stopped as before.
        assert (await in_db(answer_row)(answer_id)).text == end["text"]


async def test_stop_is_valid_before_the_first_token(chat: Chat, store: JobStore) -> None:
    # A host that is alive but has no room: the job waits in Redis.
    model = dispatch.current_model()
    state = HostState(host="full", incarnation="i", engine="sim", model=model, state="ready")
    await store.beat(state)
    await chat.open()
    ack = await chat.ask("Where is my order?")
    await chat.send(type="stop", message=ack["answer"]["id"])
    end = await chat.end_of(ack["answer"]["id"])
    assert (end["status"], end["text"]) == ("stopped", "")
    assert await store.queue_length(model) == 0


async def test_a_stopped_answer_can_be_tried_again(
    chat: Chat, store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running_host(store, tokenizer, speed=1):
        await chat.open()
        ack = await chat.ask("Where is my order?")
        await chat.text_grows(ack["answer"]["id"])
        await chat.send(type="stop", message=ack["answer"]["id"])
        await chat.end_of(ack["answer"]["id"])
    async with running_host(store, tokenizer):
        await chat.send(type="retry", message=ack["answer"]["id"])
        again = await chat.until("message")
        assert again["message"]["answer_to"] == ack["question"]["id"]
        end = await chat.end_of(again["message"]["id"])
        assert end["status"] == "complete"
        await chat.send(type="retry", message=end["id"])
        assert (await chat.until("error"))["code"] == "nothing_to_retry"


async def test_every_tab_shows_the_same(chat: Chat, maya: Customer, host: EngineHost) -> None:
    opened = await chat.open()
    async with socket(maya) as second:
        await second.open(conversation=opened["conversation"])
        answer = await chat.answer("Where is my order?")
        seen = await second.end_of(answer["id"])
        assert seen == answer
        assert second.shown[answer["id"]].strip() == answer["text"]
        asked = [f["message"] for f in second.frames if f["type"] == "message"]
        assert any(m["author"] == "customer" and m["text"] == "Where is my order?" for m in asked)


async def test_a_reload_in_the_middle_loses_nothing(
    maya: Customer, store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running_host(store, tokenizer, speed=2):
        async with socket(maya) as before:
            opened = await before.open()
            ack = await before.ask("Where is my order?")
            await before.text_grows(ack["answer"]["id"])
        async with socket(maya) as after:
            ready = await after.open(conversation=opened["conversation"])
            assert [m["status"] for m in ready["messages"]] == ["complete", "queued"]
            end = await after.end_of(ack["answer"]["id"])
            assert after.shown[end["id"]].strip() == end["text"]
            assert end["text"] == await expected_text(end["id"], tokenizer)


async def test_a_reconnect_goes_on_where_the_text_ended(
    maya: Customer, store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running_host(store, tokenizer, speed=2):
        async with socket(maya) as before:
            opened = await before.open()
            ack = await before.ask("Where is my order?")
            answer_id = ack["answer"]["id"]
            await before.text_grows(answer_id)
            shown = before.shown[answer_id]
            revision = ack["answer"]["revision"]
        async with socket(maya) as after:
            after.shown[answer_id] = shown  # a token that is not right behind it fails the test
            ready = await after.open(
                conversation=opened["conversation"],
                revision=revision,
                offsets={answer_id: len(shown)},
            )
            assert ready["partial"]
            assert ready["messages"] == []
            end = await after.end_of(answer_id)
            assert after.shown[answer_id].strip() == end["text"]


async def test_an_answer_ends_though_everyone_has_left(
    maya: Customer, store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running_host(store, tokenizer):
        async with socket(maya) as chat:
            await chat.open()
            ack = await chat.ask("Where is my order?")
        await asyncio.sleep(0.5)
        assert (await in_db(answer_row)(ack["answer"]["id"])).status == "queued"
        await in_db(_age_unfinished)()
        await sweep()
        row = await in_db(answer_row)(ack["answer"]["id"])
        assert row.status == "complete"
        assert row.text == await expected_text(str(row.public_id), tokenizer)


def _age_unfinished() -> None:
    Message.objects.filter(status="queued").update(
        created_at=timezone.now() - timedelta(seconds=10)
    )


async def test_a_dead_web_servers_question_is_dispatched_by_the_sweep(
    maya: Customer, store: JobStore, tokenizer: ChatTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def died(*args: Any) -> None:
        raise ConnectionError("the web server died here")

    async with running_host(store, tokenizer):
        async with socket(maya) as chat:
            await chat.open()
            with monkeypatch.context() as patch:
                patch.setattr(answers, "start", died)
                ack = await chat.ask("Where is my order?")
        assert not await store.exists(ack["answer"]["id"])
        await in_db(_age_unfinished)()
        await sweep()
        await asyncio.sleep(0.5)
        await sweep()
        row = await in_db(answer_row)(ack["answer"]["id"])
        assert (row.status, row.text) == (
            "complete",
            await expected_text(str(row.public_id), tokenizer),
        )


async def test_with_no_engine_the_customer_is_told_the_truth(chat: Chat) -> None:
    ready = await chat.open()
    assert ready["engine"]["state"] == "away"
    answer = await chat.answer("Where is my order?")
    assert (answer["status"], answer["error"]) == ("failed", "no_engine")
    assert "cannot answer right now" in answer["note"]
    assert answer["can_retry"]


def cards(chat: Chat) -> list[str]:
    """The orders that the card on top has shown after the chat was opened."""
    return [frame["order"]["number"] for frame in chat.frames if frame["type"] == "order"]


async def test_with_several_active_orders_the_assistant_asks_which(
    store: JobStore, host: EngineHost, transactional_db: Any
) -> None:
    def two_orders() -> Customer:
        liam = a_customer("liam")
        an_order(liam, "QB-3000", restaurant="Bella Napoli")
        an_order(liam, "QB-3001", restaurant="Café Zoë")
        return liam

    async with socket(await in_db(two_orders)()) as chat:
        ready = await chat.open()
        assert "order" not in ready
        asked = await chat.answer("Where is my order?")
        assert asked["source"] == "system"
        assert {c["order"] for c in asked["choices"]} == {"QB-3000", "QB-3001"}
        await chat.send(type="choose", client_id="choice", order="QB-3001")
        ack = await chat.until("ack")
        end = await chat.end_of(ack["answer"]["id"])
        row = await in_db(answer_row)(end["id"])
        assert row.facts["values"]["order"] == "QB-3001"
        assert row.answer_to.text == "Where is my order?"
        # From here on the chosen order is meant.
        later = await chat.answer("And when does it come?")
        assert (await in_db(answer_row)(later["id"])).facts["values"]["order"] == "QB-3001"
        # … on the card too, until another one is named.
        assert cards(chat) == ["QB-3001"]
        named = await chat.answer("And QB-3000?")
        assert (await in_db(answer_row)(named["id"])).facts["values"]["order"] == "QB-3000"
        assert cards(chat) == ["QB-3001", "QB-3000"]
        last = await chat.answer("Who is bringing it?")
        assert (await in_db(answer_row)(last["id"])).facts["values"]["order"] == "QB-3000"


async def test_an_idle_chat_answers_after_the_redis_time_out(
    chat: Chat, store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running_host(store, tokenizer):
        await chat.open()
        await asyncio.sleep(16)
        assert (await chat.answer("Still there?"))["status"] == "complete"


async def test_a_message_that_names_nobodys_order_says_so(chat: Chat, host: EngineHost) -> None:
    await chat.open()
    answer = await chat.answer("Where is QB-9999?")
    assert answer["source"] == "system"
    assert "can't find" in answer["text"]


async def test_conversations_last_over_days_and_sockets(maya: Customer, host: EngineHost) -> None:
    async with socket(maya) as first:
        opened = await first.open()
        await first.answer("Where is my order?")
    async with socket(maya) as later:
        ready = await later.open()
        assert ready["conversation"] == opened["conversation"]
        assert [m["text"] for m in ready["messages"]][:1] == ["Where is my order?"]
    assert await in_db(Conversation.objects.count)() == 1


async def test_yesterdays_order_does_not_stand_in_the_way_of_todays(
    chat: Chat, maya: Customer, host: EngineHost
) -> None:
    def yesterday() -> None:
        deliver("QB-2000")
        Message.objects.update(created_at=timezone.now() - timedelta(days=1))
        an_order(maya, "QB-2001", restaurant="Café Zoë")

    await chat.open()
    first = await chat.answer("Where is my order?")
    assert (await in_db(answer_row)(first["id"])).facts["values"]["order"] == "QB-2000"
    await in_db(yesterday)()
    second = await chat.answer("Where is my order?")
    assert (await in_db(answer_row)(second["id"])).facts["values"]["order"] == "QB-2001"
