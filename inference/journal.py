"""An answer as it grows: read its journal from the start or follow it from an offset.

Offsets count Unicode code points of the released text. The journal is the truth; whoever shows an
answer, now or after a reconnect, on whatever server, follows it.
"""

import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

from inference.errors import MalformedEntry
from inference.messages import Begin, Chunk, Entry, Outcome, Terminal, decode_entry
from inference.store import JobStore

logger = logging.getLogger(__name__)

#: A blocking read returns at least so often, so that a follower notices a lost connection.
_BLOCK_MS = 5_000
_PAGE = 500


@dataclass(slots=True)
class Transcript:
    """The fold of a journal's entries."""

    ids: list[int] = field(default_factory=list)
    text: str = ""
    end: Terminal | None = None

    def apply(self, entry: Entry) -> None:
        """Raise ``MalformedEntry`` for a chunk that leaves a hole."""
        match entry:
            case Begin(keep=keep):
                del self.ids[keep:]
            case Chunk(expected=expected, ids=ids, at=at, text=text):
                if expected > len(self.ids) or at > len(self.text):
                    raise MalformedEntry(
                        f"a chunk at {expected}, {at} behind {len(self.ids)}, {len(self.text)}"
                    )
                # Idempotent: a host that writes its tail again after a lost second repeats it.
                self.ids[expected:] = ids
                self.text = self.text[:at] + text
            case Terminal():
                self.end = entry

    @property
    def final_text(self) -> str:
        return self.end.apply(self.text) if self.end else self.text


@dataclass(frozen=True, slots=True)
class Piece:
    """Text to show behind the first ``offset`` code points."""

    offset: int
    text: str

    @property
    def end(self) -> int:
        return self.offset + len(self.text)


async def read(store: JobStore, job_id: str) -> Transcript:
    """All that is journaled now; an empty transcript if nothing is."""
    transcript, _ = await _read(store, job_id)
    return transcript


async def _read(store: JobStore, job_id: str) -> tuple[Transcript, bytes]:
    key = store.partition_of(job_id).journal(job_id)
    transcript, last = Transcript(), b"0-0"
    while True:
        page = await store.call(store.redis.xrange(key, min=b"(" + last, count=_PAGE))
        last = await _fold(store, job_id, transcript, page) or last
        if transcript.end is not None or len(page) < _PAGE:
            return transcript, last


async def _fold(
    store: JobStore, job_id: str, transcript: Transcript, entries: list[Any]
) -> bytes | None:
    """Add stream entries to the transcript; the id of the last one.

    An answer that cannot be read any further has failed, for every reader alike.
    """
    last = None
    for last, fields in entries:  # noqa: B007  (the last id is used after the loop)
        try:
            transcript.apply(decode_entry(fields))
        except MalformedEntry as error:
            reason = f"malformed: {error}"[:300]
            logger.error("answer %s: %s", job_id, reason)
            await store.finish(job_id, Outcome.FAILED, reason)
            transcript.end = Terminal(outcome=Outcome.FAILED, reason=reason)
            break
    return last


async def follow(
    store: JobStore, job_id: str, offset: int = 0
) -> AsyncGenerator[Piece | Transcript, None]:
    """Yield text behind ``offset`` as it is released, then the whole transcript with its end.

    Waits for an end for as long as there is none: a caller bounds it in time.
    A reader that is ahead of the journal (Redis lost its last second) gets nothing until the
    journal has passed its offset.
    """
    transcript, last = await _read(store, job_id)
    if piece := _piece(transcript, offset):
        offset = piece.end
        yield piece
    key = store.partition_of(job_id).journal(job_id)
    while transcript.end is None:
        found = await store.blocking.xread({key: last}, block=_BLOCK_MS, count=_PAGE)
        for _, entries in found or ():
            last = await _fold(store, job_id, transcript, entries) or last
        if piece := _piece(transcript, offset):
            offset = piece.end
            yield piece
    yield transcript


def _piece(transcript: Transcript, offset: int) -> Piece | None:
    text = transcript.text[offset:]
    return Piece(offset, text) if text else None
