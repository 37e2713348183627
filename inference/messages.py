"""What travels between web servers, Redis and hosts: frozen, versioned, validated on arrival."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from inference.errors import MalformedEntry

JOB_VERSION = 1


class Outcome(StrEnum):
    """How an answer ended; written once, by whoever calls ``finish`` first."""

    DONE = "done"
    STOPPED = "stopped"  # by the customer
    CLAIMED = "claimed"  # an agent took the conversation over
    GUARDED = "guarded"  # the text filter cut it and put something else in its place
    EXPIRED = "expired"  # the total deadline passed
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How to generate. ``seed`` and temperature 0 make a continuation repeatable."""

    max_tokens: int = 150
    min_tokens: int = 0
    temperature: float = 0.0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    stop_token_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One answer to generate.

    ``id`` is the answer's own id, so that a job can be looked up, stopped or created again by
    anyone who knows the answer. ``priority`` counts seconds of head start: −10 goes before what
    came up to 10 s earlier. Deadlines are seconds from the job's creation, by Redis's clock.
    ``filter_context`` is opaque here and handed to the text filter.
    """

    id: str
    model: str
    prompt_ids: tuple[int, ...]
    sampling: Sampling = field(default_factory=Sampling)
    priority: float = 0.0
    first_token_s: float = 30.0
    total_s: float = 90.0
    filter_context: str = ""
    version: int = JOB_VERSION

    def encode(self) -> bytes:
        return msgspec.msgpack.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> "Job":
        """Raise ``MalformedEntry`` for what this version does not understand."""
        try:
            job = msgspec.msgpack.decode(data, type=cls)
        except msgspec.DecodeError as error:
            raise MalformedEntry(f"a job cannot be read: {error}") from error
        if job.version != JOB_VERSION:
            raise MalformedEntry(f"a job of version {job.version}; this is {JOB_VERSION}")
        return job


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write one job's answer, until the fence rises."""

    job: Job
    fence: int
    attempt: int
    #: Tokens that earlier attempts have journaled.
    length: int
    host: str
    incarnation: str
    #: When the answer's time is over, by this process's ``time.monotonic``.
    ends_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """An attempt starts; of the ids journaled so far the first ``keep`` stand."""

    attempt: int
    keep: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Token ids, and the text released with them (either may be empty).

    ``expected`` tokens and ``at`` code points stand before it.
    """

    attempt: int
    expected: int
    ids: tuple[int, ...]
    at: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """The end of an answer. Times are microseconds since the epoch by Redis's clock, 0 for never.

    A ``guarded`` end keeps the first ``keep`` code points of the released text and puts
    ``replacement`` behind them.
    """

    outcome: Outcome
    reason: str = ""
    finish_reason: str = ""
    host: str = ""
    attempts: int = 0
    keep: int | None = None
    replacement: str = ""
    usage: Usage = field(default_factory=Usage)
    created_us: int = 0
    claimed_us: int = 0
    first_token_us: int = 0
    finished_us: int = 0

    def apply(self, released: str) -> str:
        """The text as a reader ends up seeing it."""
        if self.outcome is not Outcome.GUARDED or self.keep is None:
            return released
        return released[: self.keep] + self.replacement


Entry = Begin | Chunk | Terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """The part of a terminal entry that its writer knows; Redis adds the rest."""

    finish_reason: str = ""
    host: str = ""
    keep: int | None = None
    replacement: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0

    def encode(self) -> bytes:
        return msgspec.json.encode(self)


def pack_ids(ids: Sequence[int]) -> bytes:
    """Token ids as little-endian 32-bit words."""
    words = array("I", ids)
    return words.tobytes()


def unpack_ids(data: bytes) -> tuple[int, ...]:
    words = array("I")
    words.frombytes(data)
    return tuple(words)


def decode_entry(fields: dict[bytes, bytes]) -> Entry:
    """One journal entry from its stream fields; raises ``MalformedEntry``."""
    try:
        match fields[b"type"]:
            case b"begin":
                return Begin(attempt=int(fields[b"attempt"]), keep=int(fields[b"keep"]))
            case b"chunk":
                return Chunk(
                    attempt=int(fields[b"attempt"]),
                    expected=int(fields[b"expected"]),
                    ids=unpack_ids(fields[b"ids"]),
                    at=int(fields[b"at"]),
                    text=fields[b"text"].decode(),
                )
            case b"end":
                return _terminal(fields)
            case other:
                raise MalformedEntry(f"a journal entry of unknown type {other!r}")
    except (KeyError, ValueError, msgspec.DecodeError) as error:
        raise MalformedEntry(f"a journal entry cannot be read: {error!r}") from error


def _terminal(fields: dict[bytes, bytes]) -> Terminal:
    detail = msgspec.json.decode(fields[b"detail"], type=Detail) if fields[b"detail"] else Detail()
    times: dict[str, Any] = {
        name: int(fields[name.encode()] or 0)
        for name in ("created_us", "claimed_us", "first_token_us", "finished_us")
    }
    return Terminal(
        outcome=Outcome(fields[b"outcome"].decode()),
        reason=fields[b"reason"].decode(),
        finish_reason=detail.finish_reason,
        host=detail.host or fields[b"owner"].decode(),
        attempts=int(fields[b"attempts"] or 0),
        keep=detail.keep,
        replacement=detail.replacement,
        usage=Usage(
            prompt_tokens=detail.prompt_tokens,
            cached_tokens=detail.cached_tokens,
            output_tokens=int(fields[b"length"] or 0),
        ),
        **times,
    )
