"""The pages around the chat, and the chat for everyone: phone, keyboard, screen reader."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.chat import Chat
from tests.browser.live import LiveSite

pytestmark = pytest.mark.browser

Visit = Callable[..., Chat]
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
    "reduced_motion": "reduce",
}


def test_a_wrong_password_is_said_in_plain_words(
    contexts: Callable[..., BrowserContext], site: LiveSite
) -> None:
    page = contexts().new_page()
    page.goto(site.url + "/")
    page.get_by_label("User name").fill("maya")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("do not match")
    expect(page.get_by_label("User name")).to_have_value("maya")


def test_orders_with_what_a_customer_looks_for(visit: Visit) -> None:
    page = visit("maya").page
    expect(page.get_by_role("heading", name="Your orders")).to_be_visible()
    card = page.locator("#QB-1047")
    expect(card.get_by_role("heading", name="Bella Napoli")).to_be_visible()
    expect(card).to_contain_text("On the way")
    expect(card).to_contain_text("$30.24")
    expect(card).to_contain_text("2 × Margherita")
    expect(card.locator("[aria-current=step]")).to_have_text("On the way")
    # Somebody else's order is not among them.
    expect(page.locator("#QB-1060")).to_have_count(0)


def test_a_card_follows_its_order(visit: Visit, site: LiveSite) -> None:
    chat = visit("sofia")
    chat.open_on("QB-1048")
    expect(chat.page.locator(".order")).to_contain_text("At your address")
    chat.page.locator("quickbite-chat").evaluate("node => node.close()")
    site.manage(
        "shell", "-v", "0", "-c",
        "from orders.models import Order; from orders.signals import order_changed;"
        "row = Order.objects.get(number='QB-1048'); row.delivery_state = 'nearby'; row.save();"
        "order_changed.send(Order, order_id=row.pk)",
    )  # fmt: skip
    chat.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(chat.page.locator("#QB-1048 .chip")).to_have_text("Almost there")
    chat.open()
    expect(chat.page.locator(".order")).to_contain_text("Almost there")


def test_staff_without_orders_are_shown_the_way(visit: Visit) -> None:
    page = visit("editor").page
    page.get_by_role("link", name="Open the staff pages").click()
    expect(page).to_have_url(f"{page.url.split('/admin')[0]}/admin/")


def test_the_focus_goes_back_to_the_card_that_opened_the_chat(visit: Visit) -> None:
    chat = visit("zoe")
    chat.open_on("QB-1052")
    chat.page.keyboard.press("Escape")
    expect(chat.page.locator("button[data-order='QB-1052']")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_cut_off(visit: Visit, scheme: str) -> None:
    chat = visit("jonas", **PHONE, color_scheme=scheme)
    assert _overflow(chat.page) == 0
    chat.open_on("QB-1051")
    box = chat.page.get_by_role("dialog").bounding_box()
    assert box == {"x": 0, "y": 0, "width": 390, "height": 844}
    assert _overflow(chat.page) == 0
    chat.ask("W" * 300)
    chat.wait_until("complete")
    inside = chat.page.get_by_role("log").evaluate("node => node.scrollWidth - node.clientWidth")
    assert inside == 0
    small = chat.page.locator("quickbite-chat").evaluate("""node =>
        [...node.shadowRoot.querySelectorAll("button, a, textarea")]
            .map(each => [each.className, each.getBoundingClientRect()])
            .filter(([, box]) => box.width && (box.width < 44 || box.height < 44))
            .map(([name]) => name)""")
    assert small == []


def _overflow(page: Page) -> int:
    found: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return max(0, found)


def test_at_a_zoom_of_400_percent_the_chat_still_works(visit: Visit) -> None:
    """What 1280 × 1024 at a zoom of 400 % leaves: 320 × 256."""
    chat = visit("maya", viewport={"width": 320, "height": 256})
    assert _overflow(chat.page) == 0
    chat.page.locator("quickbite-chat").evaluate("node => node.open()")
    chat.ready()
    chat.ask("Still readable like this?")
    chat.wait_until("complete")
    box = chat.page.get_by_role("log").bounding_box()
    assert box
    assert box["height"] >= 88


def test_with_the_keyboard_alone(visit: Visit) -> None:
    chat = visit("elena")
    page, keys = chat.page, chat.page.keyboard
    launcher = page.get_by_role("button", name="Open the chat")
    for _ in range(40):
        keys.press("Tab")
        if launcher.evaluate("node => node.matches(':focus')"):
            break
    keys.press("Enter")
    chat.ready()
    expect(chat.composer).to_be_focused()
    keys.type("Which one of these")
    keys.press("Shift+Enter")
    keys.type("comes first?")
    expect(chat.composer).to_have_value("Which one of these\ncomes first?")
    keys.press("Enter")
    expect(chat.questions.last).to_have_text("Which one of these\ncomes first?")
    expect(chat.composer).to_be_focused()

    # Three orders are under way: the choices come before the composer.
    choices = page.get_by_role("group", name="Which order do you mean?").get_by_role("button")
    expect(choices).to_have_count(3)
    keys.press("Shift+Tab")
    expect(choices.last).to_be_focused()
    keys.press("Enter")
    expect(chat.stop_button).to_be_visible()
    expect(chat.composer).to_be_focused()
    keys.press("Tab")
    expect(chat.stop_button).to_be_focused()
    keys.press("Enter")
    chat.wait_until("stopped")
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(launcher).to_be_focused()


def test_on_a_phone_the_focus_stays_in_the_chat(visit: Visit) -> None:
    chat = visit("maya", **PHONE)
    chat.open_on("QB-1047")
    dialog = chat.page.get_by_role("dialog")
    expect(dialog).to_be_focused()
    for key in ["Tab"] * 12 + ["Shift+Tab"] * 12:
        chat.page.keyboard.press(key)
        expect(dialog.locator(":focus")).to_have_count(1)


def test_a_screen_reader_hears_an_answer_once_and_whole(visit: Visit) -> None:
    chat = visit("amara")
    chat.open_on("QB-1059")
    chat.page.evaluate("""() => {
        window.heard = [];
        const root = document.querySelector("quickbite-chat").shadowRoot;
        for (const live of root.querySelectorAll("[aria-live=polite], [role=status], [role=alert]"))
            new MutationObserver(() => live.textContent && window.heard.push(live.textContent))
                .observe(live, { childList: true, characterData: true, subtree: true });
    }""")
    expect(chat.page.get_by_role("log")).to_have_attribute("aria-live", "off")
    chat.ask("What does the restaurant do now?")
    shown = chat.wait_until("complete")
    chat.page.wait_for_timeout(300)
    assert chat.page.evaluate("window.heard") == [f"Assistant: {shown}"]


def test_under_a_strict_content_policy(visit: Visit, site: LiveSite) -> None:
    chat = visit("maya")
    broken: list[str] = []
    chat.page.on("console", lambda said: broken.append(said.text) if said.type == "error" else None)
    chat.page.on("pageerror", lambda error: broken.append(str(error)))

    def strict(route: Route) -> None:
        answer = route.fetch()
        policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        policy += " connect-src 'self'; form-action 'self'; require-trusted-types-for 'script'"
        headers = {**answer.headers, "content-security-policy": policy}
        route.fulfill(response=answer, headers=headers)

    chat.page.route(site.url + "/", strict)
    chat.page.reload()
    chat.open_on("QB-1047")
    launcher = chat.page.locator(".launcher")
    assert launcher.evaluate("node => getComputedStyle(node).backgroundColor") == "rgb(194, 65, 12)"
    chat.ask("Does policy allow an answer?")
    chat.wait_until("complete")
    assert broken == []


def test_markup_in_a_message_stays_text(visit: Visit) -> None:
    chat = visit("omar")
    chat.open_on("QB-1054")
    question = "<img src=x onerror=document.title='owned'> <b>bold</b>?"
    chat.ask(question)
    expect(chat.questions.last).to_have_text(question)
    chat.wait_until("complete")
    chat.page.reload()
    expect(chat.questions.last).to_have_text(question)
    assert chat.page.locator("quickbite-chat .row img, quickbite-chat .row b").count() == 0
    assert "owned" not in chat.page.title()
