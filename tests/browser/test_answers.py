"""The editor of a cached answer: what a customer would read stands beside it as one types."""

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.live import LiveSite

Contexts = Callable[..., BrowserContext]


def signed_in(contexts: Contexts, site: LiveSite) -> Page:
    page = contexts().new_page()
    page.goto(f"{site.url}/admin/login/?next=/admin/")
    page.fill("input[name=username]", "admin")
    page.fill("input[name=password]", "demo")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site.url}/admin/")
    return page


def test_the_preview_follows_the_text_and_the_order(contexts: Contexts, site: LiveSite) -> None:
    page = signed_in(contexts, site)
    page.goto(f"{site.url}/admin/assistant/cachedanswer/add/")
    text, shown = page.locator("#id_template"), page.locator("#preview-text")
    page.select_option("#id_order_status", "picked_up")
    page.select_option("#id_delivery_state", "on_the_way")
    expect(page.locator("#preview-order option:checked")).to_contain_text("Picked up, on the way")
    text.fill("Your rider is ")
    page.locator("button[data-name=rider_name]").click()
    rider = page.locator("[data-value=rider_name]")
    expect(rider).not_to_have_text("no value")
    expect(text).to_have_value("Your rider is {{ rider_name }}")
    expect(shown).to_have_text(f"Your rider is {rider.inner_text()}")
    text.fill("{{ cancelled_time }}")
    expect(page.locator("#preview-problems")).to_contain_text("has not been cancelled")
    page.select_option("#id_order_status", "cancelled")
    page.select_option("#id_delivery_state", "*")
    expect(page.locator("#preview-problems li")).to_have_count(0)
    expect(shown).to_contain_text(":")
    text.fill("<b>{{ nothing }}</b>")
    expect(page.locator("#preview-problems")).to_contain_text("HTML is not possible")
    expect(page.locator("#preview-problems")).to_contain_text("no placeholder “nothing”")
    expect(page.locator("#preview-count")).to_contain_text("20 of 1000")


def test_without_the_server_the_text_stays(contexts: Contexts, site: LiveSite) -> None:
    page = signed_in(contexts, site)
    page.goto(f"{site.url}/admin/assistant/cachedanswer/add/")
    page.route("**/preview/", lambda route: route.abort())
    page.locator("#id_template").fill("Kept.")
    expect(page.locator("#preview-problems")).to_contain_text("your text is safe")
    expect(page.locator("#id_template")).to_have_value("Kept.")
