"""A customer asks in a real browser, and sees what is true."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import WebSocketRoute, expect

from tests.browser.chat import Chat, Row

pytestmark = pytest.mark.browser

Visit = Callable[..., Chat]


def test_the_answer_grows_before_the_eyes(visit: Visit) -> None:
    chat = visit("maya")
    chat.open_on("QB-1047")
    chat.ask("Where is my order right now?")
    expect(chat.questions.last).to_have_text("Where is my order right now?")

    first = chat.wait_for_words(10)
    assert chat.is_streaming()
    second = chat.wait_for_words(len(first) + 40)
    assert second.startswith(first)
    assert chat.is_streaming()

    shown = chat.wait_until("complete")
    assert shown.startswith(second)
    assert chat.rows("Where is my order right now?") == [
        Row("customer", "complete", "Where is my order right now?"),
        Row("assistant", "complete", shown),
    ]


def test_a_reload_in_the_middle_loses_nothing(visit: Visit) -> None:
    chat = visit("liam")
    chat.open_on("QB-1060")
    chat.ask("How long will the kitchen take?")
    before = chat.wait_for_words(60)
    chat.write("a draft for later")

    chat.page.reload()
    expect(chat.page.get_by_role("dialog")).to_be_visible()
    after = chat.wait_for_words(len(before))
    assert after.startswith(before)
    assert chat.is_streaming()
    assert chat.wait_until("complete") == chat.kept_answer("How long will the kitchen take?").text
    expect(chat.questions).to_have_count(1)
    expect(chat.composer).to_have_value("a draft for later")


def test_stopping_keeps_what_was_written_and_trying_again_finishes(visit: Visit) -> None:
    chat = visit("omar")
    chat.open_on("QB-1054")
    chat.ask("What did I order again?")
    before = chat.wait_for_words(20)
    expect(chat.send_button).to_be_hidden()

    chat.stop_button.click()
    stopped = chat.wait_until("stopped")
    assert stopped.startswith(before)
    expect(chat.answers.last).to_contain_text("You stopped this answer")
    assert chat.kept_answer("What did I order again?") == Row("assistant", "stopped", stopped)
    expect(chat.send_button).to_be_enabled()
    expect(chat.composer).to_be_focused()

    chat.answers.last.get_by_role("button", name="Try again").click()
    expect(chat.answers).to_have_count(2)
    finished = chat.wait_until("complete")
    assert len(finished) > len(stopped)
    assert chat.kept_answer("What did I order again?") == Row("assistant", "complete", finished)
    expect(chat.page.get_by_role("button", name="Try again")).to_have_count(0)


def test_stop_counts_from_the_moment_of_sending(visit: Visit) -> None:
    chat = visit("omar")
    held: list[str | bytes] | None = None

    def slow(socket: WebSocketRoute) -> None:
        nonlocal held
        server = socket.connect_to_server()

        def to_page(frame: str | bytes) -> None:
            if held is None:
                socket.send(frame)
            else:
                held.append(frame)

        def to_server(frame: str | bytes) -> None:
            nonlocal held
            if '"type":"ask"' in str(frame):
                held = []
            server.send(frame)

        socket.on_message(to_server)
        server.on_message(to_page)
        sockets.append(socket)

    sockets: list[WebSocketRoute] = []
    chat.page.route_web_socket("**/ws/chat/", slow)
    chat.page.reload()
    chat.open_on("QB-1054")
    chat.ask("Never mind this question?")
    chat.stop_button.click()  # nothing from the server yet
    expect(chat.answers).to_have_count(0)
    late, held = held or [], None
    for frame in late:
        sockets[-1].send(frame)
    chat.wait_until("stopped")
    assert len(chat.kept_answer("Never mind this question?").text) < 150


def test_a_second_tab_shows_the_same_conversation_as_it_happens(visit: Visit) -> None:
    here = visit("kenji")
    order = here.open_on("QB-1057")
    there = here.another_tab()
    there.open_on(order, fresh=False)

    here.ask("Who is bringing my food?")
    expect(there.questions.last).to_have_text("Who is bringing my food?")
    early = there.wait_for_words(10)
    there.wait_for_words(len(early) + 30)
    assert there.is_streaming()
    # The other tab cannot ask a second question meanwhile, and can stop this one.
    expect(there.send_button).to_be_hidden()
    there.stop_button.click()
    assert there.wait_until("stopped") == here.wait_until("stopped")
    assert here.shown() == here.kept_answer("Who is bringing my food?").text


def test_missing_tokens_are_fetched_and_what_is_shown_is_always_a_beginning(visit: Visit) -> None:
    chat = visit("sofia")
    sent: list[str] = []
    tokens = 0

    def lossy(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def to_server(frame: str | bytes) -> None:
            sent.append(str(frame))
            server.send(frame)

        def to_page(frame: str | bytes) -> None:
            nonlocal tokens
            tokens += '"type":"token"' in str(frame)
            if not ('"type":"token"' in str(frame) and tokens in (3, 4)):
                socket.send(frame)

        socket.on_message(to_server)
        server.on_message(to_page)

    chat.page.route_web_socket("**/ws/chat/", lossy)
    chat.page.reload()
    chat.open_on("QB-1048")
    chat.ask("Is the rider outside?")
    seen = [chat.wait_for_words(n) for n in (1, 40, 80, 120, 160)]
    assert chat.is_streaming()
    final = chat.wait_until("complete")
    assert [final[: len(text)] for text in seen] == seen
    assert any('"type":"resume"' in frame for frame in sent)
    assert final == chat.kept_answer("Is the rider outside?").text


def test_several_orders_are_offered_as_buttons(visit: Visit) -> None:
    chat = visit("zoe")
    chat.open()
    expect(chat.page.locator(".order")).to_be_hidden()
    chat.ask("When does it get here?")
    choices = chat.page.get_by_role("group", name="Which order do you mean?").get_by_role("button")
    expect(choices).to_have_count(2)
    chosen = choices.first.text_content() or ""
    choices.first.click()

    expect(choices).to_have_count(0)
    expect(chat.answers).to_have_count(2)
    assert chat.wait_until("complete")
    expect(chat.page.locator(".order")).to_contain_text(chosen.split(" (")[0])


def test_history_is_there_and_a_new_chat_starts_empty(visit: Visit) -> None:
    chat = visit("amara")
    chat.open_on("QB-1049")
    expect(chat.page.get_by_text("Hi Amara, how can we help?")).to_be_visible()
    chat.page.get_by_role("button", name="When will it arrive?").click()
    shown = chat.wait_until("complete")
    expect(chat.composer).to_be_focused()

    chat.page.reload()
    expect(chat.answer).to_have_text(shown)
    chat.page.get_by_role("button", name="Start a new chat").click()
    expect(chat.page.get_by_text("Hi Amara, how can we help?")).to_be_visible()
    expect(chat.answers).to_have_count(0)
    expect(chat.page.locator(".order")).to_contain_text("QB-1049")


def test_a_reader_who_scrolled_up_is_left_alone(visit: Visit) -> None:
    chat = visit("elena", viewport={"width": 1280, "height": 620})
    chat.open_on("QB-1055")
    chat.ask("Tell me everything about it?")
    chat.wait_until("complete")
    chat.ask("And what comes after that?")
    chat.wait_for_words(20)

    log = chat.page.get_by_role("log")
    log.evaluate("node => { node.scrollTop = 0 }")
    latest = chat.page.get_by_role("button", name="Jump to latest")
    expect(latest).to_be_visible()
    chat.wait_for_words(200)
    assert log.evaluate("node => node.scrollTop") == 0
    latest.click()
    expect(latest).to_be_hidden()
    chat.wait_until("complete")
    left = log.evaluate("node => node.scrollHeight - node.scrollTop - node.clientHeight")
    assert left <= 1


def test_the_page_can_ask_and_listen(visit: Visit) -> None:
    chat = visit("jonas")
    chat.page.evaluate("""() => {
        window.heard = [];
        for (const name of ["open", "close", "answer"]) document.addEventListener(
            `quickbite:${name}`, event => window.heard.push([name, event.detail.status ?? null]));
        document.querySelector("quickbite-chat").setAttribute("order", "QB-1051");
        document.querySelector("quickbite-chat").ask("Did the page send this?");
    }""")
    expect(chat.questions).to_have_text(["Did the page send this?"])
    chat.wait_until("complete")
    chat.page.evaluate("document.querySelector('quickbite-chat').close()")
    assert chat.page.evaluate("window.heard") == [
        ["open", None],
        ["answer", "complete"],
        ["close", None],
    ]
