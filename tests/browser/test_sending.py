"""A question on its way: whatever happens, it is kept, and never asked twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import WebSocketRoute, expect

from tests.browser.chat import Chat
from tests.browser.scripted import ScriptedServer, message, say

pytestmark = pytest.mark.browser

Visit = Callable[..., Chat]
Asked = Callable[[WebSocketRoute, WebSocketRoute, dict[str, Any]], None]


def _at_the_questions(chat: Chat, asked: Asked) -> list[dict[str, Any]]:
    """Every frame goes to the site's own server and back, but ``asked`` gets the questions."""
    questions: list[dict[str, Any]] = []

    def between(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def to_server(text: str | bytes) -> None:
            frame = json.loads(text)
            if frame["type"] == "ask":
                questions.append(frame)
                asked(socket, server, frame)
            else:
                server.send(text)

        socket.on_message(to_server)

    chat.page.route_web_socket("**/ws/chat/", between)
    chat.page.reload()
    return questions


def _unavailable(socket: WebSocketRoute, frame: dict[str, Any]) -> None:
    say(
        socket, "error", code="unavailable", text="We cannot take your message at this moment.",
        retry=True, client_id=frame["client_id"],
    )  # fmt: skip


@pytest.mark.parametrize("taken", [True, False], ids=["taken", "lost on the way"])
def test_a_reload_while_a_question_is_sent_asks_it_once(visit: Visit, taken: bool) -> None:
    chat = visit("liam")

    def first_is_unheard(socket: WebSocketRoute, server: WebSocketRoute, frame: Any) -> None:
        if len(questions) == 1:
            server.on_message(lambda _: None)
            if not taken:
                return
        server.send(json.dumps(frame))

    questions = _at_the_questions(chat, first_is_unheard)
    chat.open_on("QB-1060")
    question = f"Is this kept over a reload, {'taken' if taken else 'lost'}?"
    chat.ask(question)
    expect(chat.questions).to_have_text([question])
    if taken:
        chat.page.wait_for_timeout(500)

    chat.page.reload()
    expect(chat.questions).to_have_text([question])
    chat.wait_until("complete")
    expect(chat.questions).to_have_text([question])
    expect(chat.composer).to_have_value("")
    assert [row.author for row in chat.rows(question)] == ["customer", "assistant"]
    assert len({frame["client_id"] for frame in questions}) == 1


def test_the_next_customer_does_not_send_the_question_of_the_one_before(visit: Visit) -> None:
    chat = visit("omar")
    questions = _at_the_questions(chat, lambda socket, server, frame: None)
    chat.open_on("QB-1054")
    chat.ask("Something private, never taken?")
    expect(chat.questions).to_have_count(1)
    chat.page.get_by_role("button", name="Sign out").click()
    chat.sign_in("sofia")
    chat.ready()
    expect(chat.questions.filter(has_text="private")).to_have_count(0)
    expect(chat.composer).to_have_value("")
    assert len(questions) == 1


@pytest.mark.parametrize("edited", [False, True], ids=["unchanged", "edited"])
def test_what_may_have_been_taken_is_sent_again_as_the_same_question(
    visit: Visit, edited: bool
) -> None:
    chat = visit("noah")

    def refused_once(socket: WebSocketRoute, server: WebSocketRoute, frame: Any) -> None:
        if len(questions) == 1:
            _unavailable(socket, frame)
        else:
            server.send(json.dumps(frame))

    questions = _at_the_questions(chat, refused_once)
    chat.open_on()
    question = f"Are you there, {'then' if edited else 'now'}?"
    chat.ask(question)
    expect(chat.notice).to_contain_text("We cannot take your message at this moment.")
    expect(chat.composer).to_have_value(question)
    if edited:
        chat.write(question + " Please.")
    chat.composer.press("Enter")
    chat.wait_until("complete")
    first, second = (frame["client_id"] for frame in questions)
    assert (first != second) == edited


def test_a_refused_question_beside_a_draft_keeps_its_id(visit: Visit) -> None:
    chat = visit("noah")

    def refused_once(socket: WebSocketRoute, server: WebSocketRoute, frame: Any) -> None:
        if len(questions) == 1:
            chat.write("the next thought")
            _unavailable(socket, frame)
        else:
            server.send(json.dumps(frame))

    questions = _at_the_questions(chat, refused_once)
    chat.open_on()
    chat.ask("Is this one and the same?")
    refused = chat.page.locator(".row.customer[data-status=refused]")
    refused.get_by_role("button", name="Try again").click()
    chat.wait_until("complete")
    assert len({frame["client_id"] for frame in questions}) == 1
    expect(chat.questions).to_have_text(["Is this one and the same?"])
    expect(chat.composer).to_have_value("the next thought")


def test_a_question_that_was_taken_after_all_leaves_the_draft(visit: Visit) -> None:
    chat = visit("noah")

    def taken_but_refused(socket: WebSocketRoute, server: WebSocketRoute, frame: Any) -> None:
        _unavailable(socket, frame)
        chat.page.wait_for_timeout(200)
        server.send(json.dumps(frame))

    _at_the_questions(chat, taken_but_refused)
    chat.open_on()
    chat.ask("Taken although you said no?")
    chat.wait_until("complete")
    expect(chat.questions).to_have_text(["Taken although you said no?"])
    expect(chat.composer).to_have_value("")


def test_trying_again_twice_asks_once(visit: Visit) -> None:
    chat = visit("maya")
    page = chat.page
    failed = message(status="failed", text="", end=0, note="This took too long.", can_retry=True)
    server = ScriptedServer(page, {"messages": [{**failed, "answer_to": "q-1"}]})
    page.reload()
    chat.open()
    again = page.get_by_role("button", name="Try again")
    again.evaluate("node => { node.click(); node.click(); }")
    expect(again).to_be_hidden()
    expect(chat.send_button).to_be_hidden()
    assert len(server.sent("retry")) == 1

    # A refusal ends the wait, and so does the new answer.
    say(server.sockets[-1], "error", code="unavailable", text="Not now.", retry=True, message="a-1")
    expect(chat.notice).to_contain_text("Not now.")
    again.click()
    new = message(id="a-2", seq=3, revision=3, status="queued", text="", end=0, answer_to="q-1")
    say(server.sockets[-1], "message", message=new)
    expect(chat.answers).to_have_count(2)
    say(server.sockets[-1], "message", message={**message(id="a-2", seq=3, revision=4)})
    expect(chat.send_button).to_be_visible()
    assert [frame["message"] for frame in server.sent("retry")] == ["a-1", "a-1"]


@pytest.mark.parametrize("told", [True, False], ids=["with words", "closed only"])
def test_a_session_that_ends_is_not_knocked_at_again(visit: Visit, told: bool) -> None:
    chat = visit("maya")
    page = chat.page

    def expired(socket: WebSocketRoute, frame: Any) -> None:
        if told:
            say(socket, "error", code="session_expired", text="Signed out.", retry=False,
                client_id=frame["client_id"])  # fmt: skip
        socket.close(code=4401)

    server = ScriptedServer(page, on={"ask": expired})
    page.reload()
    chat.open()
    chat.ask("Am I still known to you?")
    expect(page.get_by_role("link", name="Sign in again")).to_be_visible()
    expect(chat.state).to_have_text("Signed out")
    expect(chat.composer).to_have_value("Am I still known to you?")
    expect(chat.questions).to_have_count(0)
    page.wait_for_timeout(2_000)
    assert len(server.sockets) == 1


def test_a_whole_answer_may_carry_a_note(visit: Visit) -> None:
    chat = visit("maya")
    page = chat.page
    note = "This answer was cut short."
    ScriptedServer(page, {"messages": [message(note=note)]})
    page.reload()
    chat.open()
    expect(chat.answer).to_have_text("It is on the way.")
    expect(chat.answers.last.locator(".meta")).to_contain_text(note)
    expect(chat.answers.last.locator(".meta")).to_contain_text("Assistant")


def test_a_server_that_will_not_have_us_is_said_in_the_header(visit: Visit) -> None:
    chat = visit("maya")
    page = chat.page

    def refuse(socket: WebSocketRoute, frame: Any) -> None:
        say(socket, "error", code="not_a_customer", text="Please sign in as a customer.",
            retry=False)  # fmt: skip

    ScriptedServer(page, on={"open": refuse})
    page.reload()
    page.get_by_role("button", name="Open the chat").click()
    expect(chat.state).to_have_text("Not available")
    expect(chat.notice).to_contain_text("Please sign in as a customer.")


def test_waiting_for_an_engine_gets_calmer_and_never_keeps_step(visit: Visit) -> None:
    chat = visit("maya")
    page = chat.page
    page.clock.install()
    server = ScriptedServer(page, {"engine": {"state": "away", "simulated": False}})
    page.reload()
    page.get_by_role("button", name="Open the chat").click()
    page.clock.run_for(500)
    expect(chat.state).to_have_text("Online")

    beats: list[float] = []
    for half_seconds in range(300):
        page.clock.run_for(500)
        if len(server.sent("sync")) > len(beats):
            beats.append(half_seconds / 2)
    gaps = [after - before for before, after in pairwise(beats)]
    early = [gap for gap, at in zip(gaps, beats, strict=False) if at < 50]
    late = [gap for gap, at in zip(gaps, beats, strict=False) if at > 65]
    assert len(late) >= 2
    assert all(3 <= gap <= 9 for gap in early)
    assert all(17 <= gap <= 23 for gap in late)
    assert len(set(early)) > 1
