"""What a customer sees when something is wrong: in plain words, and never at the draft's cost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, WebSocketRoute, expect

from tests.browser.chat import Chat
from tests.browser.live import LiveSite

pytestmark = pytest.mark.browser

Visit = Callable[..., Chat]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("   \n ", "Please write your question first."),
        ("🍕🍕🍕", "Please add a few words, so that we know how to help."),
        ("x" * 2001, "Your message has 2,001 characters; 2,000 is the most. Please shorten it."),
        ("bad\x00byte", "Your message has characters that we cannot read."),
        ("half \ud83c emoji", "Your message has characters that we cannot read."),
    ],
    ids=["blank", "emoji only", "too long", "null byte", "lone surrogate"],
)
def test_what_cannot_be_taken_is_said_and_kept(visit: Visit, typed: str, words: str) -> None:
    chat = visit("priya")
    chat.open_on()
    # As typed by a script: a browser's own keyboard cannot type all of these.
    chat.composer.evaluate(
        "(node, codes) => { node.value = String.fromCharCode(...codes);"
        " node.dispatchEvent(new Event('input')) }",
        _code_units(typed),
    )
    chat.composer.press("Enter")

    expect(chat.notice).to_contain_text(words)
    kept = chat.composer.evaluate(
        "node => Array.from(node.value, c => c).join('').split('').map(c => c.charCodeAt(0))"
    )
    assert kept == _code_units(typed)
    expect(chat.questions).to_have_count(0)

    # The same socket takes the next question, and the words of before are gone.
    chat.write("Fine now?")
    expect(chat.notice).to_be_hidden()
    expect(chat.state).to_have_text("Online")


def _code_units(text: str) -> list[int]:
    raw = text.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(raw[at : at + 2], "little") for at in range(0, len(raw), 2)]


def test_the_count_appears_near_the_limit(visit: Visit) -> None:
    chat = visit("priya")
    chat.open_on()
    counter = chat.page.locator(".counter")
    chat.write("x" * 1500)
    expect(counter).to_be_hidden()
    chat.write("x" * 1999 + "🍕")
    expect(counter).to_have_text("2,000 of 2,000 characters")


def test_a_second_question_waits_and_keeps_its_text(visit: Visit) -> None:
    chat = visit("noah")
    chat.open_on()
    chat.ask("What was in the last one?")
    chat.wait_for_words(10)
    chat.ask("And the one before?")
    expect(chat.notice).to_contain_text("We are still answering your last question")
    expect(chat.composer).to_have_value("And the one before?")
    chat.wait_until("complete")
    chat.composer.press("Enter")
    expect(chat.questions).to_have_text(["What was in the last one?", "And the one before?"])
    chat.wait_until("complete")


def test_offline_in_the_middle_of_an_answer(visit: Visit) -> None:
    chat = visit("linh")
    chat.open_on()
    chat.ask("What happened to my delivery?")
    chat.wait_for_words(20)
    chat.page.context.set_offline(True)
    expect(chat.state).to_have_text("You are offline")
    expect(chat.notice).to_contain_text("your text is kept")
    expect(chat.stop_button).to_be_disabled()
    chat.write("typed without a network")
    offline = chat.shown()
    chat.page.wait_for_timeout(700)
    assert chat.shown() == offline

    chat.page.context.set_offline(False)
    expect(chat.state).to_have_text("Online")
    chat.wait_for_words(len(offline) + 20)
    assert chat.wait_until("complete") == chat.kept_answer("What happened to my delivery?").text
    expect(chat.questions).to_have_count(1)
    expect(chat.answers).to_have_count(1)
    expect(chat.composer).to_have_value("typed without a network")


def test_an_answer_that_ended_while_offline_is_there_afterwards(visit: Visit) -> None:
    chat = visit("linh")
    order = chat.open_on()
    other = chat.another_tab()
    other.open_on(order, fresh=False)
    chat.ask("Did it end without me?")
    chat.wait_for_words(20)
    # This tab's network alone: the other one sees the end.
    _refuse_sockets(chat.page)
    chat.page.evaluate("window.dispatchEvent(new Event('offline'))")
    final = other.wait_until("complete")
    assert chat.shown() != final
    chat.page.evaluate("window.blocked = false; window.dispatchEvent(new Event('online'))")
    expect(chat.answer).to_have_text(final)
    expect(chat.answers).to_have_count(1)


def _refuse_sockets(page: Page) -> None:
    page.evaluate("""() => {
        window.blocked = true;
        const Real = window.WebSocket;
        window.WebSocket = class extends Real {
            constructor(...at) {
                if (window.blocked) throw new Error("no network");
                super(...at);
            }
        };
    }""")


@pytest.mark.parametrize("taken", [True, False], ids=["taken", "lost on the way"])
def test_a_question_without_acknowledgement_is_sent_again_but_asked_once(
    visit: Visit, taken: bool
) -> None:
    chat = visit("liam")
    swallowed: list[str] = []

    def deaf_at_first(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        first = not swallowed

        def to_server(frame: str | bytes) -> None:
            if '"type":"ask"' not in str(frame) or swallowed:
                server.send(frame)
                return
            swallowed.append(str(frame))
            if taken:
                server.send(frame)
            socket.close(code=1011)

        socket.on_message(to_server)
        server.on_message(lambda frame: None if first and swallowed else socket.send(frame))

    chat.page.route_web_socket("**/ws/chat/", deaf_at_first)
    chat.page.reload()
    chat.open_on("QB-1060")
    question = f"Was this asked only once, {'taken' if taken else 'lost'}?"
    chat.ask(question)
    expect(chat.questions).to_have_text([question])
    chat.wait_until("complete")
    assert swallowed
    assert [row.author for row in chat.rows(question)] == ["customer", "assistant"]
    expect(chat.questions).to_have_text([question])


def test_a_refusal_beside_a_new_draft_keeps_both(visit: Visit) -> None:
    chat = visit("noah")

    def unavailable(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def to_server(frame: str | bytes) -> None:
            if '"type":"ask"' not in str(frame):
                server.send(frame)
                return
            chat.write("the next thought")
            client_id = str(frame).split('"client_id":"')[1].split('"')[0]
            socket.send(
                '{"type":"error","code":"unavailable","retry":true,'
                f'"client_id":"{client_id}",'
                '"text":"We cannot take your message at this moment."}'
            )

        socket.on_message(to_server)

    chat.page.route_web_socket("**/ws/chat/", unavailable)
    chat.page.reload()
    chat.open_on()
    chat.ask("the first thought")
    refused = chat.page.locator(".row.customer[data-status=refused]")
    expect(refused).to_contain_text("We cannot take your message at this moment.")
    expect(chat.composer).to_have_value("the next thought")
    refused.get_by_role("button", name="Edit").click()
    expect(chat.composer).to_have_value("the first thought\nthe next thought")
    expect(refused).to_have_count(0)


def test_signed_out_elsewhere(visit: Visit) -> None:
    chat = visit("omar")
    chat.open_on("QB-1054")
    other = chat.another_tab()
    other.page.get_by_role("button", name="Sign out").click()
    expect(other.page.get_by_role("button", name="Sign in")).to_be_visible()
    chat.page.bring_to_front()

    chat.ask("Is anybody there still?")
    expect(chat.notice).to_contain_text("You have been signed out. Your text is kept.")
    expect(chat.composer).to_have_value("Is anybody there still?")
    expect(chat.send_button).to_be_disabled()
    expect(chat.questions).to_have_count(0)

    chat.page.get_by_role("link", name="Sign in again").click()
    chat.page.get_by_label("User name").fill("omar")
    chat.page.get_by_label("Password").fill("demo")
    chat.page.get_by_role("button", name="Sign in").click()
    expect(chat.page.get_by_role("dialog")).to_be_visible()
    expect(chat.composer).to_have_value("Is anybody there still?")


def test_the_next_customer_in_the_same_tab_does_not_get_the_draft(visit: Visit) -> None:
    chat = visit("omar")
    chat.open_on("QB-1054")
    chat.write("a private matter")
    chat.page.get_by_role("button", name="Sign out").click()
    chat.sign_in("sofia")
    chat.ready()
    expect(chat.composer).to_have_value("")
    expect(chat.page.locator(".order")).to_contain_text("QB-1048")


def test_without_storage_the_chat_works(
    contexts: Callable[..., BrowserContext], site: LiveSite
) -> None:
    context = contexts()
    context.add_init_script("""
        for (const name of ["sessionStorage", "localStorage"])
            Object.defineProperty(window, name, {
                get() { throw new DOMException("denied", "SecurityError") }
            });
    """)
    chat = Chat(context.new_page(), site)
    broken: list[str] = []
    chat.page.on("pageerror", lambda error: broken.append(str(error)))
    chat.sign_in("kenji")
    chat.open_on("QB-1057")
    chat.ask("Does it work without storage?")
    assert chat.wait_until("complete")
    assert broken == []


def test_no_engine_is_said_honestly_and_can_be_tried_again(visit: Visit, site: LiveSite) -> None:
    chat = visit("sofia")
    chat.open_on("QB-1048")
    site.end("host")
    try:
        chat.page.wait_for_timeout(100)
        chat.page.reload()
        banner = chat.page.locator(".banner.engine")
        expect(banner).to_contain_text("The assistant is away", timeout=30_000)
        chat.ask("Will you tell me the truth?")
        chat.wait_until("failed")
        expect(chat.answers.last).to_contain_text("The assistant cannot answer right now.")
    finally:
        site.start_host()
        site.wait_for_engine()
    expect(banner).to_be_hidden()
    chat.answers.last.get_by_role("button", name="Try again").click()
    assert chat.wait_until("complete")
    assert chat.kept_answer("Will you tell me the truth?").status == "complete"
