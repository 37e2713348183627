from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.browser.chat import Chat
from tests.browser.live import LiveSite
from tests.services import unavailable

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A page that a test answers itself comes from no address, so this check cannot judge it.
    "--disable-features=LocalNetworkAccessChecks",
)


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    """A running site with demo data; its engine writes an answer in about three seconds."""
    pace = {"ENGINE_SIMULATED_SPEED": "0.4", "ENGINE_SIMULATED_ANSWER_TOKENS": "100"}
    live = LiveSite(tmp_path_factory.mktemp("site"), pace)
    try:
        live.start()
        yield live
    finally:
        live.stop()


# Playwright keeps an event loop running in this thread, which async tests elsewhere would meet:
# it ends with the module.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=15_000)
    with sync_playwright() as playwright:
        program = _chromium() or playwright.chromium.executable_path
        if not Path(program).exists():
            unavailable("browser", "Chromium is not installed")
        chromium = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        yield chromium
        chromium.close()


def _chromium() -> str | None:
    """The system's Chromium; without one the browser that Playwright has downloaded is used."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture
def contexts(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    made: list[BrowserContext] = []

    def make(**options: object) -> BrowserContext:
        options = {"viewport": {"width": 1280, "height": 800}, **options}
        made.append(browser.new_context(**options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for context in made:
        context.close()


@pytest.fixture
def visit(site: LiveSite, contexts: Callable[..., BrowserContext]) -> Callable[..., Chat]:
    """``visit("maya")``: the orders page in a new browser, signed in."""

    def make(
        customer: str, *, before: Callable[[BrowserContext], None] | None = None, **options: object
    ) -> Chat:
        context = contexts(**options)
        if before:
            before(context)
        chat = Chat(context.new_page(), site)
        chat.sign_in(customer)
        return chat

    return make
