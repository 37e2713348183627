"""A chat client in Python: what the widget does, for the command line, tests and load.

Signs in by making a session in the database, so it runs where the database is; everything else
goes over the real WebSocket.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import websockets
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore

from orders.models import Customer

_FINAL = ("complete", "stopped", "guarded", "failed")


class Refused(Exception):
    """The server did not take what was sent; ``code`` says why."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


@dataclass(slots=True)
class Answer:
    """What a reader has seen of an answer. Times are milliseconds from the question's sending."""

    message: dict[str, Any]
    text: str = ""
    ttft_ms: float | None = None
    total_ms: float | None = None
    pieces: list[tuple[float, str]] = field(default_factory=list)


def session_cookie(customer: Customer) -> str:
    """A signed-in session of this customer, as a ``Cookie`` header's value."""
    user = customer.user
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.set_expiry(3600)
    session.create()
    return f"{settings.SESSION_COOKIE_NAME}={session.session_key}"


def socket_url(url: str) -> str:
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    return urlunsplit((scheme, parts.netloc, "/ws/chat/", "", ""))


class ChatClient:
    """One open chat. ``open`` first; then ``ask`` as often as you like, one at a time."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        self.socket = socket
        self.ready: dict[str, Any] = {}

    @classmethod
    @asynccontextmanager
    async def connect(cls, url: str, cookie: str) -> AsyncIterator["ChatClient"]:
        """Raises ``OSError`` or ``websockets.WebSocketException`` when nobody answers there."""
        parts = urlsplit(url)
        async with websockets.connect(
            socket_url(url),
            additional_headers={"Cookie": cookie},
            origin=f"{parts.scheme}://{parts.netloc}",  # type: ignore[arg-type]
            open_timeout=10,
            max_size=2**22,
            compression=None,
        ) as socket:
            yield cls(socket)

    async def send(self, **frame: Any) -> None:
        await self.socket.send(json.dumps(frame))

    async def receive(self) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(await self.socket.recv())
        return frame

    async def open(self, **frame: Any) -> dict[str, Any]:
        """The ``ready`` frame; raises ``Refused``."""
        await self.send(type="open", **frame)
        while True:
            found = await self.receive()
            if found["type"] == "error":
                raise Refused(found["code"], found["text"])
            if found["type"] == "ready":
                self.ready = found
                return found

    async def ask(
        self,
        text: str,
        *,
        no_cache: bool = False,
        on_text: Callable[[str], None] | None = None,
        timeout_s: float = 120,
        **more: Any,
    ) -> Answer:
        """Ask and wait for the whole answer; raises ``Refused`` or ``TimeoutError``."""
        client_id = str(uuid4())
        started = time.perf_counter()
        await self.send(type="ask", client_id=client_id, text=text, no_cache=no_cache, **more)
        answer: Answer | None = None
        async with asyncio.timeout(timeout_s):
            while True:
                frame = await self.receive()
                kind = frame["type"]
                if kind == "error" and frame.get("client_id") == client_id:
                    raise Refused(frame["code"], frame["text"])
                if kind == "ack" and frame["client_id"] == client_id:
                    shown = frame.get("answer") or frame["question"]
                    answer = answer or Answer(message=shown)
                    if not frame.get("answer"):
                        return answer  # a person holds the chat
                    answer.message = shown
                elif kind == "token" and answer and frame["message"] == answer.message["id"]:
                    _apply_token(answer, frame, _ms(started))
                    if on_text:
                        on_text(frame["text"])
                elif (
                    kind == "message" and answer and frame["message"]["id"] == answer.message["id"]
                ):
                    answer.message = frame["message"]
                if answer and answer.message["status"] in _FINAL:
                    return _finished(answer, _ms(started))


def _ms(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def _apply_token(answer: Answer, frame: dict[str, Any], now_ms: float) -> None:
    if frame["offset"] != len(answer.text):
        # One socket, one follower: a gap here is a fault worth knowing of.
        raise Refused("gap", f"text from {frame['offset']}, shown {len(answer.text)}")
    answer.text += frame["text"]
    answer.pieces.append((now_ms, frame["text"]))
    if answer.ttft_ms is None and frame["text"].strip():
        answer.ttft_ms = now_ms


def _finished(answer: Answer, now_ms: float) -> Answer:
    answer.total_ms = now_ms
    answer.text = answer.message["text"]
    if answer.ttft_ms is None and answer.text:
        answer.ttft_ms = now_ms
    return answer
