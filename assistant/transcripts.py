"""A conversation as staff read it: each message with its engine run and what the model was told."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assistant.models import Message
from inference.models import Generation

_SHAPES = {
    Message.Status.QUEUED: "○",
    Message.Status.STREAMING: "◔",
    Message.Status.COMPLETE: "✓",
    Message.Status.STOPPED: "■",
    Message.Status.GUARDED: "▲",
    Message.Status.FAILED: "✕",
}
TONES = {
    Message.Status.QUEUED: "info",
    Message.Status.STREAMING: "info",
    Message.Status.COMPLETE: "success",
    Message.Status.STOPPED: "info",
    Message.Status.GUARDED: "warning",
    Message.Status.FAILED: "danger",
}


def status_text(message: Message) -> str:
    """Shape and word of a message's status."""
    return f"{_SHAPES[Message.Status(message.status)]} {message.get_status_display()}"


@dataclass(frozen=True, slots=True)
class Line:
    """One message of a transcript."""

    message: Message
    run: Generation | None
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    values: str

    @property
    def status(self) -> str:
        return status_text(self.message)

    @property
    def tone(self) -> str:
        return TONES[Message.Status(self.message.status)]

    @property
    def told(self) -> bool:
        return bool(self.sentences or self.notes or self.values)


def lines(messages: Sequence[Message]) -> list[Line]:
    """The transcript of these messages. One query more, for the engine's runs."""
    ids = [m.public_id for m in messages if m.author == Message.Author.ASSISTANT]
    runs = Generation.objects.in_bulk(ids, field_name="answer_id")
    return [_line(message, runs.get(message.public_id)) for message in messages]


def _line(message: Message, run: Generation | None) -> Line:
    facts: dict[str, Any] = message.facts if isinstance(message.facts, dict) else {}
    values = facts.get("values")
    return Line(
        message=message,
        run=run,
        sentences=tuple(str(s) for s in facts.get("sentences") or ()),
        notes=tuple(str(n) for n in facts.get("notes") or ()),
        values=json.dumps(values, ensure_ascii=False, indent=2) if values else "",
    )
