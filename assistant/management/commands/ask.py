"""Asks a question as a customer would, over the real WebSocket."""

import asyncio
import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import websockets
from django.core.management.base import BaseCommand, CommandError

from assistant.client import Answer, ChatClient, Refused, session_cookie
from assistant.db import in_db
from assistant.selectors import told_of
from orders.models import Customer
from orders.selectors import latest_active_number

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    customer: str
    order: str | None


class Command(BaseCommand):
    help = "Ask the assistant a question as a demo customer, or each question of a file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("text", nargs="?", help="the question")
        parser.add_argument("--customer", help="user name (default: the first demo customer)")
        parser.add_argument("--order", help="order number (default: the latest active one)")
        parser.add_argument("--url", default=DEFAULT_URL, help="address of a web server")
        parser.add_argument("--no-cache", action="store_true", help="let the model answer")
        parser.add_argument("--json", action="store_true", help="one JSON object in the last line")
        parser.add_argument("--file", type=Path, help='lines of {"text", "customer"?, "order"?}')
        parser.add_argument("--concurrency", type=int, default=1, help="questions at once")

    def handle(self, *args: Any, **options: Any) -> None:
        if (options["text"] is None) == (options["file"] is None):
            raise CommandError("Give a question, or --file with questions.")
        if options["concurrency"] < 1:
            raise CommandError("--concurrency is at least 1.")
        try:
            if options["file"]:
                asyncio.run(self._ask_file(options))
            else:
                asyncio.run(self._ask_one(options))
        except (OSError, websockets.WebSocketException, TimeoutError) as error:
            raise CommandError(
                f"No answer from {options['url']}: {error or type(error).__name__}. "
                "Is it running (make run)?"
            ) from error

    async def _ask_one(self, options: dict[str, Any]) -> None:
        name = options["customer"] or (await in_db(_customer_names)())[0]
        line = Line(options["text"], name, options["order"])
        show = None if options["json"] else self._print_text
        result = await _ask(line, options["url"], options["no_cache"], show)
        if options["json"]:
            self.stdout.write(json.dumps(result, ensure_ascii=False))
        else:
            self._print_table(result)

    def _print_text(self, text: str) -> None:
        self.stdout.write(text, ending="")
        self.stdout.flush()

    def _print_table(self, result: dict[str, Any]) -> None:
        self.stdout.write("")
        if result["text"] and result["ttft_ms"] is None:
            self.stdout.write(result["text"])
        if result["error"]:
            self.stdout.write(f"error      {result['error']}")
        for key in ("source", "ttft_ms", "total_ms", "tokens", "conversation"):
            self.stdout.write(f"{key:<12} {result[key]}")

    async def _ask_file(self, options: dict[str, Any]) -> None:
        """One result a line, in the file's order; no customer has two questions in flight."""
        lines = list(_lines(options["file"], await in_db(_customer_names)()))
        slots = asyncio.Semaphore(options["concurrency"])
        turns: dict[str, asyncio.Lock] = {line.customer: asyncio.Lock() for line in lines}

        async def one(line: Line) -> dict[str, Any]:
            async with turns[line.customer], slots:
                return await _ask(line, options["url"], options["no_cache"])

        tasks = [asyncio.create_task(one(line)) for line in lines]
        try:
            for task in tasks:
                self.stdout.write(json.dumps(await task, ensure_ascii=False))
        finally:
            for task in tasks:
                task.cancel()


async def _ask(line: Line, url: str, no_cache: bool, on_text: Any = None) -> dict[str, Any]:
    """Ask in a conversation of its own; a refusal is a result too."""
    result: dict[str, Any] = dict.fromkeys(
        [
            "text",
            "source",
            "category",
            "escalation",
            "error",
            "facts",
            "ttft_ms",
            "total_ms",
            "conversation",
            "message",
        ]
    )
    result |= {"asked": line.text, "text": "", "offered": False, "tokens": 0}
    customer = await in_db(_customer)(line.customer)
    order = line.order or await in_db(latest_active_number)(customer)
    cookie = await in_db(session_cookie)(customer)
    async with ChatClient.connect(url, cookie) as chat:
        try:
            opened = await chat.open(new=True, order=order)
            result["conversation"] = opened["conversation"]
            answer = await chat.ask(line.text, no_cache=no_cache, on_text=on_text)
        except Refused as refusal:
            return result | {"error": refusal.code, "text": refusal.text}
    return result | _shown(answer) | await in_db(told_of)(answer.message["id"])


def _shown(answer: Answer) -> dict[str, Any]:
    message = answer.message
    return {
        "text": answer.text,
        "source": message["source"],
        "error": message.get("error"),
        "offered": message.get("offered", False),
        "ttft_ms": None if answer.ttft_ms is None else round(answer.ttft_ms, 1),
        "total_ms": None if answer.total_ms is None else round(answer.total_ms, 1),
        "message": message["id"],
    }


def _customer(name: str) -> Customer:
    try:
        return Customer.objects.select_related("user").get(user__username=name)
    except Customer.DoesNotExist:
        raise CommandError(f"There is no customer {name!r}.") from None


def _customer_names() -> list[str]:
    names = list(Customer.objects.order_by("pk").values_list("user__username", flat=True))
    if not names:
        raise CommandError("There are no customers. Load some: manage.py load_demo")
    return names


def _lines(path: Path, names: list[str]) -> Iterator[Line]:
    """The file's questions; those without a customer rotate over all. Raises ``CommandError``."""
    rotation = cycle(names)
    try:
        stream = sys.stdin if str(path) == "-" else path.open(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    with stream:
        for number, content in enumerate(stream, 1):
            if not content.strip():
                continue
            try:
                line = json.loads(content)
                text, customer = line["text"], line.get("customer")
                if not isinstance(text, str):
                    raise TypeError("text is no string")
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise CommandError(f"{path}, line {number}: {error!r}") from error
            yield Line(text, customer or next(rotation), line.get("order"))
