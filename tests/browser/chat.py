"""The customer's page as the tests use it: what a person does there, and what they see."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect

from tests.browser.live import LiveSite


@dataclass(frozen=True)
class Row:
    """A message as the database has it."""

    author: str
    status: str
    text: str


@dataclass
class Chat:
    page: Page
    site: LiveSite

    # ---- what a customer does -----------------------------------------------------------------

    def sign_in(self, customer: str, password: str = "demo") -> None:
        self.page.goto(self.site.url + "/")
        self.page.get_by_label("User name").fill(customer)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(self.site.url + "/")

    def open_on(self, order: str | None = None, *, fresh: bool = True) -> str:
        """Open the chat with an order's own button (the first order's by default).

        ``fresh`` leaves the conversation of an earlier test behind.
        """
        order = order or self.page.locator("button[data-order]").first.get_attribute("data-order")
        assert order
        self.page.locator(f"button[data-order='{order}']").click()
        self.ready()
        expect(self.page.locator(".order")).to_contain_text(order)
        if fresh and self.questions.count():
            self.page.get_by_role("button", name="Start a new chat").click()
            expect(self.questions).to_have_count(0)
            self.ready()
        return order

    def open(self) -> None:
        self.page.get_by_role("button", name="Open the chat").click()
        self.ready()

    def ready(self) -> None:
        expect(self.state).to_have_text("Online")
        expect(self.page.locator(".loading")).to_be_hidden()

    def write(self, text: str) -> None:
        self.composer.fill(text)

    def ask(self, text: str) -> None:
        self.write(text)
        self.composer.press("Enter")

    def another_tab(self) -> Chat:
        other = Chat(self.page.context.new_page(), self.site)
        other.page.goto(self.site.url + "/")
        return other

    # ---- what a customer sees -----------------------------------------------------------------

    @property
    def composer(self) -> Locator:
        return self.page.get_by_role("textbox", name="Write a message")

    @property
    def state(self) -> Locator:
        return self.page.locator(".line")

    @property
    def notice(self) -> Locator:
        return self.page.locator(".notice")

    @property
    def questions(self) -> Locator:
        return self.page.locator(".row.customer .text")

    @property
    def answers(self) -> Locator:
        return self.page.locator(".row.assistant")

    @property
    def answer(self) -> Locator:
        """The newest answer's words."""
        return self.answers.last.locator(".text")

    @property
    def send_button(self) -> Locator:
        return self.page.get_by_role("button", name="Send", exact=True)

    @property
    def stop_button(self) -> Locator:
        return self.page.get_by_role("button", name="Stop the answer")

    def shown(self) -> str:
        return self.answer.text_content() or ""

    def wait_for_words(self, more_than: int = 0) -> str:
        """Wait until more than so many characters of the newest answer are shown."""
        self.page.wait_for_function(
            """least => {
                const rows = document.querySelector("quickbite-chat").shadowRoot
                    .querySelectorAll(".row.assistant .text");
                return rows.length && rows[rows.length - 1].textContent.length > least;
            }""",
            arg=more_than,
            polling=30,
        )
        return self.shown()

    def is_streaming(self) -> bool:
        return self.answers.last.get_attribute("data-status") == "streaming"

    def wait_until(self, status: str) -> str:
        expect(self.answers.last).to_have_attribute("data-status", status)
        return self.shown()

    # ---- what is true --------------------------------------------------------------------------

    def rows(self, question: str) -> list[Row]:
        """The questions with this text, and the answers to them, as they were kept."""
        return [Row(*found) for found in self._query(
            "SELECT m.author, m.status, m.text FROM assistant_message m"
            " LEFT JOIN assistant_message q ON q.id = m.answer_to_id"
            " WHERE m.text = ? OR q.text = ? ORDER BY m.id", (question, question),
        )]  # fmt: skip

    def kept_answer(self, question: str) -> Row:
        return self.rows(question)[-1]

    def _query(self, sql: str, values: tuple[str, ...]) -> list[tuple[str, str, str]]:
        database = sqlite3.connect(f"file:{self.site.var}/db.sqlite3?mode=ro", uri=True)
        try:
            return database.execute(sql, values).fetchall()
        finally:
            database.close()
