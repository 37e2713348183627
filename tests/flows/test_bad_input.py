"""Whatever a client sends: a typed error that a person understands, and the socket stays open."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from channels.testing import WebsocketCommunicator
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.utils import timezone

from assistant import conversations, prompts
from assistant.db import in_db
from assistant.models import Conversation, Message
from assistant.tasks import sweep
from inference.host import EngineHost
from inference.tokenizer import ChatTokenizer
from orders.models import Customer
from quickbite_support.asgi import application
from tests.chats import Chat, running_host, socket
from tests.orders.builders import a_customer, an_order

pytestmark = pytest.mark.django_db(transaction=True)


def _age_unfinished() -> None:
    Message.objects.filter(status="queued").update(
        created_at=timezone.now() - timedelta(seconds=10)
    )


async def refusal(chat: Chat, **frame: Any) -> dict[str, Any]:
    await chat.send(**frame)
    return await chat.until("error")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("x" * 2001, "too_long"),
        ("a\x00b", "unreadable_characters"),
        ("\x1b[2J", "unreadable_characters"),
        ("\ud83d", "unreadable_characters"),
        ("🍕", "no_words"),
    ],
)
async def test_text_that_cannot_be_answered(chat: Chat, text: str, code: str) -> None:
    await chat.open()
    error = await chat.ask(text, client_id="c1")
    assert (error["type"], error["code"], error["client_id"]) == ("error", code, "c1")
    assert error["text"].endswith((".", "!"))
    assert await in_db(Message.objects.count)() == 0


async def test_a_question_too_long_for_the_model(chat: Chat, settings: Any) -> None:
    settings.ENGINE_MAX_MODEL_LEN = 3000
    await chat.open()
    error = await chat.ask("Ω≈ç√∫ " * 330)
    assert error["code"] == "too_long"
    assert await in_db(Message.objects.count)() == 0


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("{", "invalid_frame"),
        ("[]", "invalid_frame"),
        ('{"type": "explode"}', "unknown_frame"),
        ('{"type": "ask"}', "invalid_frame"),
        ("x" * 50_000, "frame_too_large"),
        (b"\x00\xff", "binary_frame"),
    ],
)
async def test_frames_that_cannot_be_read(
    chat: Chat, host: EngineHost, raw: str | bytes, code: str
) -> None:
    await chat.open()
    if isinstance(raw, bytes):
        await chat.socket.send_to(bytes_data=raw)
    else:
        await chat.socket.send_to(text_data=raw)
    assert (await chat.until("error"))["code"] == code
    assert (await chat.answer("Where is my order?"))["status"] == "complete"  # it goes on


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "ask", "client_id": "c", "text": "hi"},
        {"type": "choose", "client_id": "c", "order": "QB-2000"},
        {"type": "stop", "message": str(uuid4())},
        {"type": "retry", "message": str(uuid4())},
        {"type": "resume", "message": str(uuid4())},
        {"type": "sync", "revision": 0},
        {"type": "history", "before": 9},
    ],
)
async def test_before_the_chat_is_open(chat: Chat, frame: dict[str, Any]) -> None:
    assert (await refusal(chat, **frame))["code"] == "not_open"


async def test_messages_that_do_not_exist(chat: Chat) -> None:
    await chat.open()
    for message in (str(uuid4()), "no uuid", ""):
        for kind in ("stop", "retry", "resume"):
            error = await refusal(chat, type=kind, message=message)
            assert error["code"] == "message_not_found"


async def test_someone_elses_things_are_as_if_they_did_not_exist(
    chat: Chat, maya: Customer, host: EngineHost
) -> None:
    def liams_things() -> tuple[Customer, str]:
        liam = a_customer("liam")
        an_order(liam, "QB-7000", restaurant="Café Zoë")
        return liam, "QB-7000"

    liam, order = await in_db(liams_things)()
    async with socket(liam) as his:
        opened = await his.open()
        answer = await his.answer("Where is my order?")
    await chat.open()
    theirs = await refusal(chat, type="open", conversation=opened["conversation"])
    nobodys = await refusal(chat, type="open", conversation=str(uuid4()))
    assert theirs["code"] == nobodys["code"] == "conversation_not_found"
    assert theirs["text"] == nobodys["text"]
    for number in (order, "QB-99999", "'; --"):
        assert (await refusal(chat, type="open", order=number))["code"] == "order_not_found"
        error = await chat.ask("Where is it?", order=number)
        assert error["code"] == "order_not_found"
    for kind in ("stop", "retry", "resume"):
        assert (await refusal(chat, type=kind, message=answer["id"]))["code"] == "message_not_found"
    assert await in_db(Message.objects.filter(customer=maya).count)() == 0


async def test_nobody_signed_in(store: Any, transactional_db: Any) -> None:
    async with socket(None) as chat:
        assert (await refusal(chat, type="open"))["code"] == "session_expired"
        assert (await refusal(chat, type="sync", revision=0))["code"] == "session_expired"


async def test_a_session_that_ends_in_the_middle(chat: Chat, host: EngineHost) -> None:
    await chat.open()
    assert (await chat.answer("Where is my order?"))["status"] == "complete"
    await in_db(Session.objects.all().delete)()
    error = await chat.ask("And now?", client_id="kept")
    assert (error["code"], error["client_id"]) == ("session_expired", "kept")
    assert "sign in again" in error["text"]


async def test_staff_have_no_chat_of_their_own(store: Any, transactional_db: Any) -> None:
    def staff() -> Any:
        from types import SimpleNamespace

        from django.contrib.auth.models import User

        return SimpleNamespace(user=User.objects.create_user("editor", is_staff=True))

    async with socket(await in_db(staff)()) as chat:
        assert (await refusal(chat, type="open"))["code"] == "not_a_customer"


async def test_another_sites_page_is_not_let_in(maya: Customer, store: Any) -> None:
    with pytest.raises(AssertionError):
        async with socket(maya, origin="https://evil.example"):
            pass


async def test_without_the_database_the_draft_is_kept_and_service_resumes(
    chat: Chat, host: EngineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: Any) -> None:
        raise OperationalError("the database is away")

    await chat.open()
    with monkeypatch.context() as patch:
        patch.setattr(conversations, "keep", away)
        error = await chat.ask("Where is my order?", client_id="c")
        assert (error["code"], error["retry"], error["client_id"]) == ("unavailable", True, "c")
        assert "away" not in error["text"]
    ack = await chat.ask("Where is my order?", client_id="c")
    assert (await chat.end_of(ack["answer"]["id"]))["status"] == "complete"


async def test_a_database_that_goes_away_after_the_question_was_kept_costs_nothing(
    chat: Chat, host: EngineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: Any) -> None:
        raise OperationalError("the database is away")

    await chat.open()
    with monkeypatch.context() as patch:
        patch.setattr(prompts, "job_for", away)
        ack = await chat.ask("Where is my order?", client_id="c")
        assert ack["type"] == "ack"
    await in_db(_age_unfinished)()
    await sweep()
    assert (await chat.end_of(ack["answer"]["id"]))["status"] == "complete"


async def test_a_prompt_that_cannot_be_built_ends_its_answer_and_no_other(
    chat: Chat, maya: Customer, host: EngineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any) -> None:
        raise KeyError("facts of an older release")

    await chat.open()
    with monkeypatch.context() as patch:
        patch.setattr(prompts, "job_for", broken)
        answer = await chat.answer("Where is my order?")
    assert (answer["status"], answer["error"]) == ("failed", "failed")
    assert "KeyError" not in str(answer)
    assert (await chat.answer("Where is my order?"))["status"] == "complete"


async def test_one_bad_answer_does_not_stop_the_sweep(
    chat: Chat, maya: Customer, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    async def settle(answer: Message) -> None:
        seen.append(answer.customer_id)
        if len(seen) == 1:
            raise KeyError("a row of an older release")

    def two_queued() -> None:
        for customer in (maya, a_customer("liam")):
            conversation = Conversation.objects.create(customer=customer)
            Message.objects.create(
                conversation=conversation,
                customer=customer,
                seq=1,
                revision=1,
                author="assistant",
                source="model",
                status="queued",
            )
        _age_unfinished()

    await in_db(two_queued)()
    monkeypatch.setattr("assistant.answers.settle", settle)
    assert await sweep() == 2
    assert len(seen) == 2


async def test_after_signing_out_nothing_more_is_shown(
    chat: Chat, store: Any, tokenizer: ChatTokenizer
) -> None:
    async with running_host(store, tokenizer, speed=1):
        await chat.open()
        ack = await chat.ask("Where is my order?")
        await chat.text_grows(ack["answer"]["id"])
        await in_db(Session.objects.all().delete)()
        assert (await refusal(chat, type="sync", revision=0))["code"] == "session_expired"
        assert await chat.socket.receive_nothing(1.0)


@pytest.mark.parametrize("change", ["password", "account"])
async def test_a_changed_password_or_a_closed_account_ends_the_session(
    chat: Chat, maya: Customer, store: Any, change: str
) -> None:
    def ended() -> None:
        if change == "password":
            maya.user.set_password("another")
        else:
            maya.user.is_active = False
        maya.user.save()

    await chat.open()
    await in_db(ended)()
    assert (await refusal(chat, type="sync", revision=0))["code"] == "session_expired"


async def test_a_question_without_any_prepared_model_is_kept(
    chat: Chat, settings: Any, store: Any
) -> None:
    await chat.open()
    settings.QUICKBITE_MODEL = "smollm2-135m-instruct"
    settings.VAR_DIR = "/nonexistent"
    answer = await chat.answer("Where is my order?")
    assert (answer["status"], answer["error"]) == ("failed", "no_engine")


async def test_numbers_no_database_can_hold(chat: Chat) -> None:
    await chat.open()
    for frame in (
        {"type": "sync", "revision": 10**30},
        {"type": "history", "before": -1},
        {"type": "open", "offsets": {"x": 10**20}},
        {"type": "open", "order": "QB-1\x00"},
        {"type": "open", "conversation": "x" * 1000},
    ):
        assert (await refusal(chat, **frame))["code"] == "invalid_frame"


async def test_client_ids_are_bounded(chat: Chat) -> None:
    await chat.open()
    for client_id in ("", "x" * 65):
        await chat.send(type="ask", client_id=client_id, text="hi")
        assert (await chat.until("error"))["code"] == "invalid_frame"


async def test_what_is_said_is_stored_as_it_was_said(chat: Chat, host: EngineHost) -> None:
    said = "<script>alert(1)</script> '; DROP TABLE x; -- <|im_start|>system"
    await chat.open()
    await chat.answer(said)
    assert (await in_db(Message.objects.get)(author="customer")).text == said
    # Nor is it anything else on the next page that shows it.
    ready = await chat.open()
    assert ready["messages"][0]["text"] == said


async def test_a_socket_to_nowhere_is_refused(maya: Customer, store: Any) -> None:
    for path in ("/ws/other/", "/", "/ws/chat/more"):
        communicator = WebsocketCommunicator(
            application, path, headers=[(b"origin", b"http://localhost")]
        )
        connected, _ = await communicator.connect()
        assert not connected
