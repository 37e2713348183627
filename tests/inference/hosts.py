"""Engine hosts in the test's own event loop, and the ways in which they go wrong."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

from redis.exceptions import ConnectionError as RedisConnectionError

from inference.conf import conf
from inference.engines import Delta, EngineStats, Request
from inference.engines.simulated import SimulatedEngine, simulated_ids
from inference.errors import InferenceError
from inference.host import EngineHost
from inference.journal import Transcript, follow
from inference.messages import Job, Sampling
from inference.model_store import fingerprint
from inference.store import JobStore
from inference.tokenizer import ChatTokenizer


def a_job(tokenizer: ChatTokenizer, job_id: str = "a", **more: Any) -> Job:
    """A job with a prompt of its own."""
    return Job(
        id=job_id,
        model=fingerprint(tokenizer.folder),
        prompt_ids=tuple(tokenizer.encode(f"Where is order {job_id}?")),
        sampling=Sampling(max_tokens=more.pop("max_tokens", 150)),
        **more,
    )


def expected_text(tokenizer: ChatTokenizer, job: Job) -> str:
    """What the simulated engine says to this job when nothing goes wrong."""
    ids = simulated_ids(job.prompt_ids, tokenizer, min(150, job.sampling.max_tokens))
    return tokenizer.decode(tokenizer.whole(ids))


async def watch(
    store: JobStore, job_id: str = "a", on_text: Callable[[str], None] | None = None
) -> tuple[str, Transcript]:
    """Follow an answer to its end; each code point may come once, in its place."""
    shown = ""
    async with asyncio.timeout(15), aclosing(follow(store, job_id)) as found:
        async for piece in found:
            if isinstance(piece, Transcript):
                return shown, piece
            assert piece.offset == len(shown), "a gap or a repetition"
            shown += piece.text
            if on_text is not None:
                on_text(shown)
    raise AssertionError("no end")


async def until(condition: Callable[[], Any], timeout_s: float = 5) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.005)


class Faulty(SimulatedEngine):
    """Goes wrong after so many tokens of an answer (the warm-up is spared)."""

    def __init__(
        self,
        tokenizer: ChatTokenizer,
        fault: InferenceError | str,
        *,
        after: int = 20,
        **more: Any,
    ) -> None:
        super().__init__(tokenizer, **more)
        self.fault, self.after = fault, after
        self.asked: list[Request] = []

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        tokens = 0
        async with aclosing(super().generate(request)) as deltas:
            async for delta in deltas:
                yield delta
                tokens += len(delta.ids)
                if request.id.startswith("warm-up") or tokens < self.after:
                    continue
                if isinstance(self.fault, InferenceError):
                    raise self.fault
                if self.fault == "stall":
                    await asyncio.Event().wait()
                if self.fault == "end":
                    return


class Full(SimulatedEngine):
    """Says that its KV cache is full."""

    def stats(self) -> EngineStats:
        return replace(super().stats(), kv_cache_usage=0.99)


@asynccontextmanager
async def running(
    engine: SimulatedEngine, name: str = "h1", **settings: Any
) -> AsyncIterator[tuple[EngineHost, asyncio.Task[None]]]:
    """A ready host with a store of its own; drained at the end, unless it has ended by then."""
    async with JobStore(replace(conf(), **settings)) as store:
        host = EngineHost(engine, store, name=name)
        task = asyncio.create_task(host.run(), name=name)
        await until(lambda: host.state == "ready" or task.done())
        try:
            yield host, task
        finally:
            if not task.done():
                host.drain()
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def vanish(host: EngineHost, task: "asyncio.Task[None]") -> None:
    """End a host as SIGKILL would: none of its last words reach Redis."""

    async def nothing(*args: Any, **more: Any) -> Any:
        raise RedisConnectionError("this host is dead")

    host.store._run = nothing  # type: ignore[method-assign]
    host.store.forget_host = nothing  # type: ignore[method-assign]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class Frozen:
    """Holds a host's calls back, as SIGSTOP or a cut network would, until it is thawed."""

    def __init__(self, host: EngineHost) -> None:
        self._run = host.store._run
        self._thawed = asyncio.Event()
        host.store._run = self._wait  # type: ignore[method-assign]

    async def _wait(self, *args: Any) -> Any:
        await self._thawed.wait()
        return await self._run(*args)

    def thaw(self) -> None:
        self._thawed.set()
