"""The wire protocol between widget and web server: JSON text frames over one WebSocket.

A client speaks first with ``open``; every later frame concerns that conversation. Each frame is an
object whose ``type`` names one of the classes below. Identifiers of messages and conversations are
UUIDs; ``seq`` orders the messages of a conversation, ``revision`` its changes.

A streaming answer is followed by offsets that the server issues: ``token.end`` is where the shown
text ends, and a ``token`` whose ``offset`` is not the last ``end`` means that something is missing:
the client sends ``resume`` with its last ``end``. Clients never count characters themselves.
"""

import json
from typing import Annotated, Any

import msgspec

from assistant.errors import (
    BinaryFrame,
    FrameTooLarge,
    InvalidFrame,
    UnknownFrame,
    UnreadableCharacters,
)

#: Larger than any honest frame: 2,000 characters, each escaped as a surrogate pair.
MAX_FRAME_BYTES = 32_768


#: Any identifier that a client may name; longer ones and control characters are nobody's.
Name = Annotated[str, msgspec.Meta(max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$")]
ClientId = Annotated[Name, msgspec.Meta(min_length=1)]
#: A count that every database can hold.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class ClientFrame(msgspec.Struct, tag_field="type"):
    pass


class Open(ClientFrame, tag="open"):
    """Open a chat: an old conversation, one about an order, or the customer's current one.

    ``new`` starts a fresh conversation. After a reconnect ``revision`` is the last one seen (only
    later changes are sent) and ``offsets`` says how far each streaming answer is shown.
    """

    conversation: Name | None = None
    order: Name | None = None
    new: bool = False
    revision: Count | None = None
    offsets: dict[Name, Count] = {}


class Ask(ClientFrame, tag="ask"):
    """A question. The same ``client_id`` again is the same question, never a second one."""

    client_id: ClientId
    text: str
    order: Name | None = None
    no_cache: bool = False


class Choose(ClientFrame, tag="choose"):
    """The order that was meant, after the assistant asked which."""

    client_id: ClientId
    order: Name


class Stop(ClientFrame, tag="stop"):
    message: Name


class Retry(ClientFrame, tag="retry"):
    """Answer the same question again, after a failed or stopped answer."""

    message: Name


class Resume(ClientFrame, tag="resume"):
    """Follow an answer again from ``offset``."""

    message: Name
    offset: Count = 0


class Sync(ClientFrame, tag="sync"):
    """The heartbeat: the newest revision the client has; what changed since comes back."""

    revision: Count


class History(ClientFrame, tag="history"):
    """Older messages, before ``before``."""

    before: Count


ClientFrames = Open | Ask | Choose | Stop | Retry | Resume | Sync | History
_decoder = msgspec.json.Decoder(ClientFrames)


def parse(text: str | None, binary: bytes | None = None) -> ClientFrames:
    """A client's frame; raises ``InvalidFrame`` or one of its kinds, or ``UnreadableCharacters``.

    The error carries the frame's ``client_id`` where one can be read, so that the widget knows
    which message was not taken.
    """
    if text is None:
        raise BinaryFrame
    if len(text) > MAX_FRAME_BYTES:
        raise FrameTooLarge
    try:
        return _decoder.decode(text.encode("utf-8", "strict"))
    except (UnicodeEncodeError, msgspec.DecodeError, RecursionError) as error:
        raise _why(text, error) from error


def _why(text: str, error: Exception) -> InvalidFrame | UnreadableCharacters:
    try:
        # Python's own reader also takes what is no Unicode, such as half an emoji.
        content = json.loads(text)
    except (ValueError, RecursionError):
        return InvalidFrame()
    found: InvalidFrame | UnreadableCharacters = UnreadableCharacters()
    if isinstance(error, msgspec.ValidationError):
        found = UnknownFrame() if "Invalid value" in str(error) else InvalidFrame()
    client_id = content.get("client_id") if isinstance(content, dict) else None
    found.client_id = client_id if isinstance(client_id, str) else None
    return found


# ---- what the server sends ---------------------------------------------------------------------


class Choice(msgspec.Struct, frozen=True):
    """One of several orders that may be meant."""

    order: str
    label: str


class MessageView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message as everyone sees it.

    ``author`` is customer, assistant, agent or system. ``source`` says where the words come from:
    customer, model, cache, agent, system or guard. ``status`` is queued, streaming, complete,
    stopped, guarded or failed. ``end`` is the offset behind ``text``; ``error`` says why an answer
    failed (``note`` in the customer's words); ``answer_to`` is the question's id; ``offered`` says
    that a person was offered.
    """

    id: str
    seq: int
    revision: int
    author: str
    source: str
    status: str
    text: str
    end: int
    created: str  # ISO 8601 with zone
    client_id: str | None = None
    answer_to: str | None = None
    error: str | None = None
    note: str | None = None
    can_retry: bool = False
    offered: bool = False
    choices: tuple[Choice, ...] = ()


class OrderView(msgspec.Struct, frozen=True):
    """The order that the chat is about, for the card on top."""

    number: str
    restaurant: str
    status: str
    status_text: str


class EngineView(msgspec.Struct, frozen=True):
    """What the assistant can do now: ``ready``, ``warming_up`` or ``away``; simulated or not."""

    state: str
    simulated: bool


class ServerFrame(msgspec.Struct, omit_defaults=True, tag_field="type"):
    pass


class Ready(ServerFrame, tag="ready"):
    """The chat is open. ``messages`` are the newest page, or the changes since ``revision``."""

    conversation: str
    revision: int
    holder: str  # assistant, waiting_for_agent, agent, closed
    messages: tuple[MessageView, ...]
    more: bool  # older messages exist
    partial: bool  # only what changed since the client's revision
    customer: str
    engine: EngineView
    max_chars: int
    order: OrderView | None = None


class Ack(ServerFrame, tag="ack"):
    """The question is taken and kept; ``answer`` is where its answer will appear."""

    client_id: str
    question: MessageView
    answer: MessageView | None = None


class Message(ServerFrame, tag="message"):
    """A message is new or has changed: show it as it is here. Also how every answer ends."""

    message: MessageView


class Token(ServerFrame, tag="token"):
    """Text behind the first ``offset`` of an answer; its shown part then ends at ``end``."""

    message: str
    offset: int
    end: int
    text: str


class Changes(ServerFrame, tag="changes"):
    """The answer to ``sync`` (empty when nothing is newer)."""

    revision: int
    messages: tuple[MessageView, ...] = ()
    engine: EngineView | None = None


class Older(ServerFrame, tag="older"):
    messages: tuple[MessageView, ...]
    more: bool


class OrderChanged(ServerFrame, tag="order"):
    """The order on the card has changed, or another one is meant now."""

    order: OrderView | None


class Error(ServerFrame, tag="error"):
    """Nothing was taken. ``text`` is for the customer; ``client_id`` or ``message`` says what."""

    code: str
    text: str
    retry: bool
    client_id: str | None = None
    message: str | None = None


_encoder = msgspec.json.Encoder()


def encode(frame: ServerFrame) -> str:
    return _encoder.encode(frame).decode()


PROTOCOL = "quickbite.v1"


def subject(frame: Any) -> dict[str, str]:
    """What an error about this frame is about."""
    return {
        name: value
        for name in ("client_id", "message")
        if isinstance(value := getattr(frame, name, None), str)
    }
