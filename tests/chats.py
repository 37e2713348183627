"""A chat in a test: the ASGI application's own socket, in this process."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from channels.testing import WebsocketCommunicator

from assistant.client import session_cookie
from assistant.db import in_db
from inference.engines.simulated import SimulatedEngine
from inference.host import EngineHost
from inference.store import JobStore
from inference.tokenizer import ChatTokenizer
from orders.models import Customer
from quickbite_support.asgi import application

FINAL = ("complete", "stopped", "guarded", "failed")


class Chat:
    """One socket. ``frames`` keeps all that came; offsets are checked as a widget would."""

    def __init__(self, communicator: WebsocketCommunicator) -> None:
        self.socket = communicator
        self.frames: list[dict[str, Any]] = []
        self.shown: dict[str, str] = {}

    async def send(self, **frame: Any) -> None:
        await self.socket.send_to(text_data=json.dumps(frame))

    async def receive(self, timeout: float = 5) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(await self.socket.receive_from(timeout))
        self.frames.append(frame)
        if frame["type"] == "token":
            shown = self.shown.setdefault(frame["message"], "")
            assert frame["offset"] == len(shown), "a gap or a repetition"
            self.shown[frame["message"]] = shown + frame["text"]
        return frame

    async def until(self, kind: str, timeout: float = 8, **values: Any) -> dict[str, Any]:
        """The next frame of a kind whose fields have these values."""
        async with asyncio.timeout(timeout):
            while True:
                frame = await self.receive(timeout)
                if frame["type"] == kind and values.items() <= frame.items():
                    return frame

    async def open(self, **more: Any) -> dict[str, Any]:
        await self.send(type="open", **more)
        return await self.until("ready")

    async def ask(self, text: str, client_id: str | None = None, **more: Any) -> dict[str, Any]:
        """Ask and return the ``ack`` or ``error`` frame."""
        client_id = client_id or str(uuid4())
        await self.send(type="ask", client_id=client_id, text=text, **more)
        while True:
            frame = await self.receive()
            if frame["type"] in ("ack", "error"):
                return frame

    async def end_of(self, message: str, timeout: float = 10) -> dict[str, Any]:
        """The final message of an answer."""
        for frame in self.frames:
            if (found := _final(frame, message)) is not None:
                return found
        async with asyncio.timeout(timeout):
            while True:
                found = _final(await self.receive(timeout), message)
                if found is not None:
                    return found

    async def answer(self, text: str, **more: Any) -> dict[str, Any]:
        """Ask, and return the answer's final message."""
        ack = await self.ask(text, **more)
        assert ack["type"] == "ack", ack
        if ack["answer"]["status"] in FINAL:
            return dict(ack["answer"])
        return await self.end_of(ack["answer"]["id"])

    async def text_grows(self, message: str) -> str:
        """Wait for some text of an answer that goes on."""
        while not self.shown.get(message):
            await self.receive()
        return self.shown[message]


def _final(frame: dict[str, Any], message: str) -> dict[str, Any] | None:
    if frame["type"] != "message" or frame["message"]["id"] != message:
        return None
    return frame["message"] if frame["message"]["status"] in FINAL else None


@asynccontextmanager
async def socket(customer: Customer | None, **headers: str) -> AsyncIterator[Chat]:
    """A connected socket, signed in as a customer or not at all."""
    cookie = await in_db(session_cookie)(customer) if customer else ""
    sent = {"cookie": cookie, "origin": "http://localhost"} | headers
    communicator = WebsocketCommunicator(
        application, "/ws/chat/", headers=[(k.encode(), v.encode()) for k, v in sent.items()]
    )
    connected, _ = await communicator.connect()
    assert connected
    try:
        yield Chat(communicator)
    finally:
        await communicator.disconnect()


@asynccontextmanager
async def running_host(
    store: JobStore, tokenizer: ChatTokenizer, *, speed: float = 20, **engine: Any
) -> AsyncIterator[EngineHost]:
    """An engine host with the simulated engine on this event loop, ready."""
    host = EngineHost(SimulatedEngine(tokenizer, speed=speed, **engine), store)
    task = asyncio.create_task(host.run())
    try:
        while not any(found.state == "ready" for found in await store.living_hosts()):
            assert not task.done(), task.exception()
            await asyncio.sleep(0.01)
        yield host
    finally:
        host.drain()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
