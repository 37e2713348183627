"""One attempt at one answer: from a lease to its end, whatever happens on the way."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

from inference.engines.base import Engine, Request
from inference.errors import JournalGap
from inference.filters import TextFilter, Trip, make_filter
from inference.journal import read
from inference.messages import Detail, Lease, Outcome
from inference.store import JobStore
from inference.tokenizer import Detokenizer


@dataclass(slots=True)
class _Answer:
    """All that this answer is so far: its ids, and the text that may be shown."""

    ids: list[int]
    text: str = ""


class JournalWriter:
    """Writes what is new in an answer: the first text at once, later text gathered.

    The writer keeps the whole answer and its own place in it, so that it can send a tail again
    that Redis lost.
    """

    def __init__(self, store: JobStore, lease: Lease, answer: _Answer, coalesce_s: float) -> None:
        self._store, self._lease, self._answer = store, lease, answer
        self._coalesce_s = coalesce_s
        self.sent_ids = len(answer.ids)
        self.sent_chars = len(answer.text)
        self._changed = asyncio.Event()
        self._closing = asyncio.Event()

    def changed(self) -> None:
        self._changed.set()

    def close(self) -> None:
        self._closing.set()
        self._changed.set()

    async def pump(self) -> None:
        """Write until closed; raises ``LeaseLost`` when the job is somebody else's."""
        while not self._closing.is_set():
            await self._changed.wait()
            self._changed.clear()
            await self.flush()
            if self.sent_chars:  # until there is text to see, nothing waits
                # Wake at the end of the answer rather than after the pause.
                try:
                    async with asyncio.timeout(self._coalesce_s):
                        await self._closing.wait()
                except TimeoutError:
                    pass
        await self.flush()

    async def flush(self) -> None:
        ids, text = self._answer.ids[self.sent_ids :], self._answer.text[self.sent_chars :]
        if not ids and not text:
            return
        until_chars = self.sent_chars + len(text)
        self.sent_ids = await self._store.append(
            self._lease, expected=self.sent_ids, ids=ids, at=self.sent_chars, text=text
        )
        self.sent_chars = until_chars


async def run_attempt(
    engine: Engine, store: JobStore, lease: Lease, *, host: str, filter_path: str
) -> bool:
    """Generate, filter, journal and finish; False if the answer was ended by somebody else.

    Raises ``LeaseLost`` when the job was taken away, and the engine's errors: the caller decides
    what becomes of the job then.
    """
    job = lease.job
    released = ""
    kept: list[int] = []
    if lease.length:
        transcript = await read(store, job.id)
        kept, released = engine.tokenizer.whole(transcript.ids), transcript.text
        await store.begin(lease, len(kept))
    answer = _Answer(ids=list(kept), text=released)
    text_filter = make_filter(filter_path, job.filter_context)
    detokenizer = Detokenizer(engine.tokenizer)
    writer = JournalWriter(store, lease, answer, store.conf.coalesce_s)
    stream = _Stream(answer, text_filter, detokenizer, skip=len(released))
    trip = stream.add(kept, new=False)
    finish_reason, cached = _already_ended(engine, lease, kept), 0
    if trip is None and not finish_reason:
        pump = asyncio.create_task(writer.pump())
        try:
            request = Request(
                id=f"{job.id}:{lease.attempt}",
                prompt_ids=job.prompt_ids,
                generated=tuple(kept),
                sampling=job.sampling,
                priority=int(job.priority),
            )
            async with aclosing(engine.generate(request)) as deltas:
                async for delta in deltas:
                    cached, finish_reason = delta.cached_tokens, delta.finish_reason or ""
                    trip = stream.add(delta.ids)
                    writer.changed()
                    if pump.done() or trip is not None:
                        break
            if trip is None and not pump.done():
                trip = stream.close()
            writer.close()
            await pump
        finally:
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)
    elif trip is None:
        trip = stream.close()
    await writer.flush()
    return await _finish(store, lease, writer, trip, finish_reason, cached, host)


class _Stream:
    """Ids in, shown text out; skips what an earlier attempt has shown."""

    def __init__(
        self, answer: _Answer, text_filter: TextFilter, detokenizer: Detokenizer, *, skip: int
    ) -> None:
        self._answer, self._filter, self._detokenizer = answer, text_filter, detokenizer
        self._skip = skip

    def add(self, ids: list[int] | tuple[int, ...], *, new: bool = True) -> Trip | None:
        if new:
            self._answer.ids.extend(ids)
        verdict = self._filter.feed(self._detokenizer.feed(ids))
        self._release(verdict.release)
        return verdict.trip

    def close(self) -> Trip | None:
        verdict = self._filter.close()
        self._release(verdict.release)
        return verdict.trip

    def _release(self, text: str) -> None:
        skipped = min(self._skip, len(text))
        self._skip -= skipped
        self._answer.text += text[skipped:]


def _already_ended(engine: Engine, lease: Lease, kept: list[int]) -> str:
    """The finish reason, if an earlier attempt got to the end but not to the terminal entry."""
    if kept and kept[-1] in engine.tokenizer.eos_ids | set(lease.job.sampling.stop_token_ids):
        return "stop"
    return "length" if len(kept) >= lease.job.sampling.max_tokens else ""


async def _finish(
    store: JobStore,
    lease: Lease,
    writer: JournalWriter,
    trip: Trip | None,
    finish_reason: str,
    cached: int,
    host: str,
) -> bool:
    detail = Detail(
        finish_reason=finish_reason,
        host=host,
        keep=trip.keep if trip else None,
        replacement=trip.replacement if trip else "",
        prompt_tokens=len(lease.job.prompt_ids),
        cached_tokens=cached,
    )
    outcome = Outcome.GUARDED if trip else Outcome.DONE
    while True:
        try:
            return await store.finish(
                lease.job.id,
                outcome,
                trip.reason if trip else "",
                lease=lease,
                expected=writer.sent_ids,
                detail=detail,
            )
        except JournalGap as gap:
            # Redis came back without its last second: what is missing is still here.
            writer.sent_ids = gap.length
            await writer.flush()
