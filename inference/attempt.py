"""One attempt at one answer: from a lease to its end, whatever happens on the way."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar

from redis.exceptions import RedisError

from inference.engines.base import Engine, Request
from inference.errors import EngineAborted, JournalGap
from inference.filters import TextFilter, Trip, make_filter
from inference.journal import read
from inference.messages import Detail, Lease, Outcome
from inference.store import JobStore
from inference.tokenizer import Detokenizer

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds between two tries while Redis is away: the first and the longest pause.
_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 0.5


@dataclass(slots=True)
class _Answer:
    """All that this answer is so far: its ids, and the text that may be shown."""

    ids: list[int]
    text: str = ""


class JournalWriter:
    """Writes what is new in an answer: the first text at once, later text gathered.

    The writer keeps the whole answer and its own place in it, so that it can send a tail again
    that Redis lost. While Redis is away it goes on trying until the answer's time is over.
    """

    def __init__(self, store: JobStore, lease: Lease, answer: _Answer) -> None:
        self._store, self._lease, self._answer = store, lease, answer
        self._coalesce_s = store.conf.coalesce_s
        self._kept = len(answer.ids)
        self._sent_ids = len(answer.ids)
        self._sent_chars = len(answer.text)
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
            if self._sent_chars:  # until there is text to see, nothing waits
                # Wake at the end of the answer rather than after the pause.
                try:
                    async with asyncio.timeout(self._coalesce_s):
                        await self._closing.wait()
                except TimeoutError:
                    pass
        await self.flush()

    async def begin(self) -> None:
        """Journal that this attempt stands on the ids that it was made with."""
        while True:
            try:
                await insist(self._lease, lambda: self._store.begin(self._lease, self._sent_ids))
                return
            except JournalGap as gap:
                self._step_back(gap)

    async def flush(self) -> None:
        while True:
            ids = self._answer.ids[self._sent_ids :]
            text = self._answer.text[self._sent_chars :]
            if not ids and not text:
                return
            try:
                await insist(self._lease, lambda: self._append(ids, text))  # noqa: B023
            except JournalGap as gap:
                self._step_back(gap)
                await self.begin()
                continue
            self._sent_ids += len(ids)
            self._sent_chars += len(text)

    async def _append(self, ids: list[int], text: str) -> int:
        return await self._store.append(
            self._lease, expected=self._sent_ids, ids=ids, at=self._sent_chars, text=text
        )

    def _step_back(self, gap: JournalGap) -> None:
        """Redis came back without its last second: what is missing is still here.

        The ids begin again where this attempt began: whether Redis lost that entry too, nobody
        can tell.
        """
        logger.info("answer %s is written again: %s", self._lease.job.id, gap)
        self._sent_ids = min(gap.length, self._kept)
        self._sent_chars = gap.chars

    async def finish(self, outcome: Outcome, reason: str, detail: Detail) -> bool:
        """Write what is left and the end; False if the answer was ended by somebody else."""
        while True:
            await self.flush()
            try:
                return await insist(
                    self._lease,
                    lambda: self._store.finish(
                        self._lease.job.id,
                        outcome,
                        reason,
                        lease=self._lease,
                        expected=self._sent_ids,
                        detail=detail,
                    ),
                )
            except JournalGap as gap:
                self._step_back(gap)
                await self.begin()


async def insist(lease: Lease, call: Callable[[], Awaitable[T]]) -> T:
    """Call until Redis answers; raises its error once the answer's time is over."""
    pause = _PAUSE_S
    while True:
        try:
            return await call()
        except RedisError as error:
            if time.monotonic() + pause > lease.ends_at:
                raise
            if pause == _PAUSE_S:
                logger.warning("answer %s waits for Redis: %s", lease.job.id, error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)


async def run_attempt(
    engine: Engine, store: JobStore, lease: Lease, *, host: str, filter_path: str
) -> bool:
    """Generate, filter, journal and finish; False if the answer was ended by somebody else.

    Raises ``LeaseLost`` when the job was taken away, and the engine's errors: the caller decides
    what becomes of the job then.
    """
    job = lease.job
    answer = _Answer(ids=[])
    if lease.length:
        transcript = await insist(lease, lambda: read(store, job.id))
        if transcript.end is not None:
            return False
        answer = _Answer(ids=engine.tokenizer.whole(transcript.ids), text=transcript.text)
    kept = tuple(answer.ids)
    writer = JournalWriter(store, lease, answer)
    if lease.length:
        await writer.begin()
    stream = _Stream(
        answer, make_filter(filter_path, job.filter_context), Detokenizer(engine.tokenizer)
    )
    trip = stream.replay()
    finish_reason, cached = _already_ended(engine, lease, kept), 0
    if trip is None and not finish_reason:
        pump = asyncio.create_task(writer.pump(), name=f"journal-{job.id}")
        try:
            request = Request(
                id=f"{job.id}:{lease.attempt}",
                prompt_ids=job.prompt_ids,
                generated=kept,
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
                else:
                    if not finish_reason:
                        raise EngineAborted("the engine ended an answer without saying why")
            if trip is None and not pump.done():
                trip = stream.close()
            writer.close()
            await pump
        finally:
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)
    elif trip is None:
        trip = stream.close()
    detail = Detail(
        finish_reason=finish_reason,
        host=host,
        keep=trip.keep if trip else None,
        replacement=trip.replacement if trip else "",
        prompt_tokens=len(job.prompt_ids),
        cached_tokens=cached,
    )
    if trip is not None:
        return await writer.finish(Outcome.GUARDED, trip.reason, detail)
    return await writer.finish(Outcome.DONE, "", detail)


class _Stream:
    """Ids in, shown text out; skips what an earlier attempt has shown."""

    def __init__(self, answer: _Answer, text_filter: TextFilter, detokenizer: Detokenizer) -> None:
        self._answer, self._filter, self._detokenizer = answer, text_filter, detokenizer
        self._skip = len(answer.text)

    def replay(self) -> Trip | None:
        """Bring filter and detokenizer to where the earlier attempts were."""
        return self._feed(self._answer.ids)

    def add(self, ids: tuple[int, ...]) -> Trip | None:
        self._answer.ids.extend(ids)
        return self._feed(ids)

    def close(self) -> Trip | None:
        verdict = self._filter.close()
        self._release(verdict.release)
        return verdict.trip

    def _feed(self, ids: list[int] | tuple[int, ...]) -> Trip | None:
        verdict = self._filter.feed(self._detokenizer.feed(ids))
        self._release(verdict.release)
        return verdict.trip

    def _release(self, text: str) -> None:
        skipped = min(self._skip, len(text))
        self._skip -= skipped
        self._answer.text += text[skipped:]


def _already_ended(engine: Engine, lease: Lease, kept: tuple[int, ...]) -> str:
    """The finish reason, if an earlier attempt got to the end but not to the terminal entry."""
    job = lease.job
    if kept and kept[-1] in engine.tokenizer.eos_ids | set(job.sampling.stop_token_ids):
        return "stop"
    room = min(job.sampling.max_tokens, engine.max_model_len - len(job.prompt_ids))
    return "length" if kept and len(kept) >= room else ""
