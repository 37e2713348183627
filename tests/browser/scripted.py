"""A chat server that says what a test wants, in place of the site's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Page, WebSocketRoute

Frame = dict[str, Any]


def message(**changes: Any) -> Frame:
    """A complete answer as the server sends it."""
    row = {
        "id": "a-1", "seq": 2, "revision": 2, "author": "assistant", "source": "model",
        "status": "complete", "text": "It is on the way.", "end": 17,
        "created": "2026-01-01T12:00:00+00:00",
    }  # fmt: skip
    return {**row, **changes}


@dataclass
class ScriptedServer:
    """Opens the chat for everyone; ``on`` says what else to do with a type of frame."""

    page: Page
    ready: Frame = field(default_factory=dict)
    on: dict[str, Callable[[WebSocketRoute, Frame], None]] = field(default_factory=dict)
    sockets: list[WebSocketRoute] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.on = {"open": self.open, "sync": self.sync, **self.on}
        self.page.route_web_socket("**/ws/chat/", self._take)

    def sent(self, kind: str) -> list[Frame]:
        return [frame for frame in self.frames if frame["type"] == kind]

    @property
    def engine(self) -> Frame:
        return self.ready.get("engine", {"state": "ready", "simulated": False})

    def open(self, socket: WebSocketRoute, frame: Frame) -> None:
        say(socket, "ready", **{
            "conversation": "c-1", "revision": 2, "holder": "assistant", "more": False,
            "partial": False, "customer": "Maya", "max_chars": 2000, "messages": [],
            "engine": self.engine, **self.ready,
        })  # fmt: skip

    def sync(self, socket: WebSocketRoute, frame: Frame) -> None:
        say(socket, "changes", revision=frame["revision"], engine=self.engine)

    def _take(self, socket: WebSocketRoute) -> None:
        self.sockets.append(socket)

        def hear(text: str | bytes) -> None:
            frame: Frame = json.loads(text)
            self.frames.append(frame)
            if handle := self.on.get(frame["type"]):
                handle(socket, frame)

        socket.on_message(hear)


def say(socket: WebSocketRoute, kind: str, **content: Any) -> None:
    socket.send(json.dumps({"type": kind, **content}))
