"""Redis goes away in the middle of an answer and comes back, with or without its memory."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from inference.conf import conf
from inference.engines.simulated import SimulatedEngine
from inference.journal import read
from inference.messages import Outcome
from inference.store import JobStore
from inference.tokenizer import ChatTokenizer
from tests.inference.hosts import a_job, expected_text, running, until, watch
from tests.services import redis_server
from tests.settings import VAR


class PrivateRedis:
    """A Redis of the test's own, which it may kill."""

    def __init__(self, stack: ExitStack) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="r", dir=VAR))
        self.url = f"unix://{self.folder / 'redis.sock'}"
        self._stack = stack
        self.start()

    def start(self) -> None:
        server = redis_server(self.folder / "redis.sock", "--appendonly", "yes")
        self.process = self._stack.enter_context(server)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def forget(self) -> None:
        for file in self.folder.rglob("*.aof*"):
            file.unlink()


@pytest.fixture
def server() -> Iterator[PrivateRedis]:
    with ExitStack() as stack:
        yield PrivateRedis(stack)


@pytest_asyncio.fixture
async def reader(server: PrivateRedis) -> AsyncIterator[JobStore]:
    async with JobStore(replace(conf(), redis_url=server.url)) as found:
        yield found


async def restart(server: PrivateRedis, away_s: float, meanwhile: Callable[[], None]) -> None:
    server.kill()
    meanwhile()
    await asyncio.sleep(away_s)
    await asyncio.to_thread(server.start)


@pytest.mark.parametrize("remembers", [True, False], ids=["with its memory", "with nothing"])
@pytest.mark.parametrize("lease_s", [0.3, 5.0], ids=["leases ran out", "leases hold"])
async def test_a_running_answer_bears_with_it(
    server: PrivateRedis,
    reader: JobStore,
    tokenizer: ChatTokenizer,
    remembers: bool,
    lease_s: float,
) -> None:
    job = a_job(tokenizer)
    engine = SimulatedEngine(tokenizer, speed=0.8)
    async with running(engine, redis_url=server.url, lease_s=lease_s) as (host, task):
        await reader.create(job)
        watching = asyncio.create_task(watch(reader))
        async with asyncio.timeout(5):
            while len((await read(reader, "a")).ids) < 20:
                await asyncio.sleep(0.01)
        await restart(server, 1.0, (lambda: None) if remembers else server.forget)
        shown, transcript = await watching
        assert not task.done()
        assert shown == transcript.final_text == expected_text(tokenizer, job)
        assert transcript.end is not None
        assert (transcript.end.outcome, transcript.end.attempts) == (Outcome.DONE, 1)
        again = await read(reader, "a")
        assert (again.text, len(again.ids)) == (shown, 150)
        # The host is whole again: it takes new work at once, and it says so.
        other = a_job(tokenizer, "b", max_tokens=5)
        await reader.create(other)
        assert (await watch(reader, "b"))[0] == expected_text(tokenizer, other)
        await until(lambda: not host._attempts)
        async with asyncio.timeout(3):
            while not await reader.living_hosts():
                await asyncio.sleep(0.05)


async def test_an_answer_that_ended_meanwhile_is_written_when_redis_is_back(
    server: PrivateRedis, reader: JobStore, tokenizer: ChatTokenizer
) -> None:
    job = a_job(tokenizer)
    # Stalled is not what this host is: its engine has nothing to do.
    settings = {"redis_url": server.url, "stall_s": 0.3}
    async with running(SimulatedEngine(tokenizer, speed=3), **settings) as (host, task):
        await reader.create(job)
        await until(lambda: host.engine.stats().tokens_generated > 30)
        await restart(server, 1.5, lambda: None)
        shown, _ = await watch(reader)
        assert not task.done()
    assert shown == expected_text(tokenizer, job)


async def test_a_host_that_drains_without_redis_ends_soon(
    server: PrivateRedis, reader: JobStore, tokenizer: ChatTokenizer
) -> None:
    engine = SimulatedEngine(tokenizer, speed=0.5)
    async with running(engine, redis_url=server.url, drain_s=0.1) as (host, task):
        await reader.create(a_job(tokenizer))
        await until(lambda: host.engine.stats().running)
        server.kill()
        begun = time.monotonic()
        host.drain()
        await asyncio.wait_for(task, 10)
        assert time.monotonic() - begun < 5


async def test_redis_that_is_full_costs_no_answer(
    server: PrivateRedis, reader: JobStore, tokenizer: ChatTokenizer
) -> None:
    job = a_job(tokenizer)
    async with running(SimulatedEngine(tokenizer, speed=2), redis_url=server.url) as (host, task):
        await reader.create(job)
        await until(lambda: host.engine.stats().tokens_generated > 30)
        await reader.redis.config_set("maxmemory", "1mb")
        await asyncio.sleep(0.5)
        await reader.redis.config_set("maxmemory", "0")
        shown, transcript = await watch(reader)
        assert not task.done()
    assert shown == expected_text(tokenizer, job)
    assert transcript.end is not None
    assert transcript.end.outcome is Outcome.DONE
