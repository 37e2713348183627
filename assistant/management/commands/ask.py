"""Asks a question as a customer would, over the real WebSocket."""

import asyncio
import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import msgspec
import websockets
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from assistant.client import Answer, ChatClient, Refused, session_cookie
from assistant.db import in_db
from assistant.selectors import told_of
from orders.models import Customer
from orders.selectors import latest_active_number

DEFAULT_URL = "http://127.0.0.1:8000"
#: Seconds for a whole question, from connecting to the answer's end.
DEFAULT_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    customer: str
    order: str | None


class _FileLine(msgspec.Struct):
    text: str
    customer: str | None = None
    order: str | None = None


class UnknownCustomer(Exception):
    """Nobody has this user name."""


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
        parser.add_argument(
            "--timeout", type=float, default=DEFAULT_TIMEOUT_S, help="seconds for one question"
        )

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
        except UnknownCustomer as error:
            raise CommandError(f"There is no customer {str(error)!r}.") from error
        except BrokenPipeError:
            raise  # whoever read our output has gone (`ask … | head`); the server is not to blame
        except (OSError, websockets.WebSocketException) as error:  # TimeoutError is an OSError
            raise _no_answer(options["url"], str(error) or type(error).__name__) from error

    async def _ask_one(self, options: dict[str, Any]) -> None:
        name = options["customer"] or (await in_db(_customer_names)())[0]
        line = Line(options["text"], name, options["order"])
        show = None if options["json"] else self._print_text
        result = await _ask(line, options, show)
        if options["json"]:
            self.stdout.write(_json(result))
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
        """One result a line, in the file's order; no customer has two questions in flight.

        What goes wrong with one question is that line's result, and the others are asked.
        """
        lines = list(_lines(options["file"], await in_db(_customer_names)()))
        slots = asyncio.Semaphore(options["concurrency"])
        turns: dict[str, asyncio.Lock] = {line.customer: asyncio.Lock() for line in lines}

        async def one(line: Line) -> dict[str, Any]:
            async with turns[line.customer], slots:
                return await _ask_anyhow(line, options)

        tasks = [asyncio.create_task(one(line)) for line in lines]
        try:
            for task in tasks:
                self.stdout.write(_json(await task))
        finally:
            for task in tasks:
                task.cancel()
        if tasks and all(task.result()["error"] == "connection" for task in tasks):
            raise _no_answer(options["url"], "no connection for any of the questions")


async def _ask_anyhow(line: Line, options: dict[str, Any]) -> dict[str, Any]:
    """The result of one line; ``error`` says what kept the question from being answered."""
    try:
        return await _ask(line, options)
    except UnknownCustomer:
        return _result(line, error="unknown_customer")
    except TimeoutError:
        return _result(line, error="timeout")
    except (OSError, websockets.WebSocketException):
        return _result(line, error="connection")
    except DatabaseError:
        return _result(line, error="database")


async def _ask(
    line: Line, options: dict[str, Any], on_text: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Ask in a conversation of its own; a refusal is a result too.

    Raises ``UnknownCustomer``, ``TimeoutError``, ``OSError`` or ``WebSocketException``.
    """
    found: dict[str, Any] = {}
    customer = await in_db(_customer)(line.customer)
    order = line.order or await in_db(latest_active_number)(customer)
    cookie = await in_db(session_cookie)(customer)
    async with (
        asyncio.timeout(options["timeout"]),
        ChatClient.connect(options["url"], cookie) as chat,
    ):
        try:
            opened = await chat.open(new=True, order=order)
            found["conversation"] = opened["conversation"]
            answer = await chat.ask(
                line.text,
                no_cache=options["no_cache"],
                on_text=on_text,
                timeout_s=options["timeout"],
            )
        except Refused as refusal:
            return _result(line, **found, error=refusal.code, text=refusal.text)
    told = await in_db(told_of)(answer.message["id"])
    return _result(line, **(found | _shown(answer) | told))


def _result(line: Line, **found: Any) -> dict[str, Any]:
    """Every field of a result, with what was found out."""
    unknown = ["source", "category", "escalation", "error", "facts", "ttft_ms", "total_ms"]
    result = dict.fromkeys([*unknown, "conversation", "message"])
    return result | {"asked": line.text, "text": "", "offered": False, "tokens": 0} | found


def _json(result: dict[str, Any]) -> str:
    text = json.dumps(result, ensure_ascii=False)
    # Half of a surrogate pair, as JSON may hold it, has no bytes of its own.
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(result)
    return text


def _no_answer(url: str, why: str) -> CommandError:
    return CommandError(
        f"No answer from {url}: {why}. Is it running there (make run)? --url names another address."
    )


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
        raise UnknownCustomer(name) from None


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
        with stream:
            contents = stream.readlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise CommandError(f"{path} cannot be read: {why}.") from error
    for number, content in enumerate(contents, 1):
        if not content.strip():
            continue
        try:
            line = msgspec.convert(json.loads(content), _FileLine)
        except (ValueError, RecursionError) as error:  # what msgspec raises is a ValueError
            raise CommandError(f"{path}, line {number}: {error}") from error
        yield Line(line.text, line.customer or next(rotation), line.order)
