"""What becomes of an answer, whatever happens to the hosts that write it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
import redis

from inference import dispatch
from inference.engines.simulated import SimulatedEngine, simulated_ids
from inference.errors import EngineAborted, EngineBusy, EngineDead
from inference.filters import Trip, Verdict
from inference.host import EngineHost
from inference.journal import read
from inference.messages import Detail, Outcome, Terminal
from inference.store import JobStore
from inference.tokenizer import ChatTokenizer
from tests.inference.hosts import (
    Faulty,
    Frozen,
    Full,
    a_job,
    expected_text,
    running,
    until,
    vanish,
    watch,
)

FAST = 20


@pytest_asyncio.fixture
async def host(store: JobStore, tokenizer: ChatTokenizer) -> AsyncIterator[EngineHost]:
    async with running(SimulatedEngine(tokenizer, speed=FAST)) as (found, _):
        yield found


def end_of(result: Any) -> Terminal:
    end = result[1].end
    assert end is not None
    return end  # type: ignore[no-any-return]


# ---- the plain way ---------------------------------------------------------------------------


async def test_an_answer_is_the_engines_text(
    store: JobStore, host: EngineHost, tokenizer: ChatTokenizer
) -> None:
    job = a_job(tokenizer)
    assert await dispatch.dispatch(job)
    shown, transcript = await watch(store)
    assert shown == transcript.final_text == expected_text(tokenizer, job)
    end = transcript.end
    assert end is not None
    assert (end.outcome, end.finish_reason, end.attempts) == (Outcome.DONE, "length", 1)
    assert (end.host, end.usage.output_tokens) == ("h1", 150)
    assert end.usage.prompt_tokens == len(job.prompt_ids)
    await until(lambda: host.engine.stats().running == 0)


async def test_text_comes_as_it_is_made(
    store: JobStore, host: EngineHost, tokenizer: ChatTokenizer
) -> None:
    await dispatch.dispatch(a_job(tokenizer))
    seen: list[str] = []
    await watch(store, on_text=seen.append)
    assert len(seen) >= 2
    assert len(seen[0]) < 40  # the first words wait for nothing


async def test_many_answers_run_together(
    store: JobStore, host: EngineHost, tokenizer: ChatTokenizer
) -> None:
    jobs = [a_job(tokenizer, f"job-{n}") for n in range(20)]
    for job in jobs:
        await dispatch.dispatch(job)
    results = await asyncio.gather(*(watch(store, job.id) for job in jobs))
    assert [shown for shown, _ in results] == [expected_text(tokenizer, job) for job in jobs]


async def test_two_hosts_share_the_work_up_to_their_slots(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    engines = [SimulatedEngine(tokenizer, speed=2) for _ in range(2)]
    async with (
        running(engines[0], "h1", max_num_seqs=2) as (one, _),
        running(engines[1], "h2", max_num_seqs=3) as (two, _),
    ):
        jobs = [a_job(tokenizer, f"job-{n}", max_tokens=40) for n in range(9)]
        for job in jobs:
            await dispatch.dispatch(job)
        most = [0, 0]
        watching = asyncio.gather(*(watch(store, job.id) for job in jobs))
        while not watching.done():
            most = [max(m, e.stats().running) for m, e in zip(most, engines, strict=True)]
            assert len(one._attempts) <= 2
            assert len(two._attempts) <= 3
            await asyncio.sleep(0.005)
        assert most == [2, 3]
        results = await watching
    assert [r[0] for r in results] == [expected_text(tokenizer, job) for job in jobs]
    assert {end_of(r).host for r in results} == {"h1", "h2"}


async def test_a_full_kv_cache_stops_the_claiming(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running(Full(tokenizer, speed=2), max_num_seqs=8, poll_s=0.02) as (host, _):
        await dispatch.dispatch(a_job(tokenizer, "first"))
        await until(lambda: host.engine.stats().running)
        await dispatch.dispatch(a_job(tokenizer, "second"))
        await asyncio.sleep(0.2)
        assert (await read(store, "second")).ids == []
        assert host.engine.stats().running == 1
        await watch(store, "first")
        await watch(store, "second")  # an idle host takes work whatever the figure says


async def test_an_expired_job_is_never_claimed(store: JobStore, tokenizer: ChatTokenizer) -> None:
    await dispatch.dispatch(a_job(tokenizer, "late", total_s=0.05))
    await dispatch.dispatch(a_job(tokenizer, "slow", first_token_s=0.05))
    await asyncio.sleep(0.1)
    engine = Faulty(tokenizer, "nothing", speed=FAST)
    async with running(engine):
        ends = [end_of(await watch(store, job_id)) for job_id in ("late", "slow")]
    assert [(e.outcome, e.attempts) for e in ends] == [(Outcome.EXPIRED, 0)] * 2
    assert ends[1].reason == "first_token_deadline"
    assert engine.stats().tokens_generated == 4  # the warm-up's


async def test_once_there_is_text_only_the_whole_deadline_counts(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running(SimulatedEngine(tokenizer, speed=2)):
        job = a_job(tokenizer, first_token_s=0.4)
        await dispatch.dispatch(job)
        reaping = asyncio.create_task(_reap(store))
        result = await watch(store)
        reaping.cancel()
    assert (result[0], end_of(result).outcome) == (expected_text(tokenizer, job), Outcome.DONE)


async def _reap(store: JobStore) -> None:
    while True:
        await store.reap()
        await asyncio.sleep(0.02)


# ---- hosts die -------------------------------------------------------------------------------


async def test_a_dead_hosts_answer_goes_on_elsewhere(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    job = a_job(tokenizer)
    async with running(SimulatedEngine(tokenizer, speed=2), "h1", lease_s=0.3) as (host, task):
        await dispatch.dispatch(job)
        watching = asyncio.create_task(watch(store))
        await _journaled(store, 40)
        await vanish(host, task)
        async with running(SimulatedEngine(tokenizer, speed=FAST), "h2", lease_s=0.3):
            result = await watching
    assert result[0] == result[1].final_text == expected_text(tokenizer, job)
    assert (end_of(result).outcome, end_of(result).attempts) == (Outcome.DONE, 2)
    assert end_of(result).host == "h2"
    assert len(result[1].ids) == end_of(result).usage.output_tokens == 150


async def _journaled(store: JobStore, tokens: int, job_id: str = "a") -> None:
    async with asyncio.timeout(5):
        while len((await read(store, job_id)).ids) < tokens:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("cut", [1, 2, 3])
async def test_an_answer_cut_inside_a_character_goes_on_at_its_beginning(
    store: JobStore, tokenizer: ChatTokenizer, cut: int
) -> None:
    job = a_job(tokenizer)
    ids = simulated_ids(job.prompt_ids, tokenizer, 150)
    broken = [n for n in range(1, 150) if tokenizer.whole(ids[:n]) != ids[:n]]
    end = broken[min(cut * 2, len(broken) - 1)]
    text = tokenizer.decode(tokenizer.whole(ids[:end]))
    await dispatch.dispatch(job)
    (lease,) = await store.claim(
        store.partition_of("a"), model=job.model, host="h1", incarnation="i1", count=1
    )
    await store.append(lease, expected=0, ids=ids[:end], at=0, text=text)
    await store.release(lease, failed=True, reason="test")
    async with running(SimulatedEngine(tokenizer, speed=FAST), "h2"):
        shown, transcript = await watch(store)
    assert shown == expected_text(tokenizer, job)
    assert transcript.ids == ids
    entries = await store.redis.xrange(store.partition_of("a").journal("a"))
    kept = [int(fields[b"keep"]) for _, fields in entries if fields[b"type"] == b"begin"]
    assert kept == [0, len(tokenizer.whole(ids[:end]))]
    assert kept[1] < end


async def test_a_frozen_hosts_late_words_are_refused(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    job = a_job(tokenizer)
    async with running(SimulatedEngine(tokenizer, speed=2), "h1", lease_s=0.3) as (host, _):
        await dispatch.dispatch(job)
        watching = asyncio.create_task(watch(store))
        await _journaled(store, 30)
        frozen = Frozen(host)
        async with running(SimulatedEngine(tokenizer, speed=2), "h2", lease_s=0.3):
            await _journaled(store, 60)
            frozen.thaw()
            result = await watching
            await until(lambda: not host._attempts)
            assert host.engine.stats().running == 0
    assert result[0] == expected_text(tokenizer, job)
    assert (end_of(result).host, end_of(result).attempts) == ("h2", 2)
    assert len((await read(store, "a")).ids) == 150


async def test_a_frozen_host_whose_work_nobody_took_goes_on(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    job = a_job(tokenizer)
    async with running(SimulatedEngine(tokenizer, speed=2), lease_s=0.2) as (host, _):
        await dispatch.dispatch(job)
        watching = asyncio.create_task(watch(store))
        await _journaled(store, 30)
        frozen = Frozen(host)
        await asyncio.sleep(0.3)
        assert await store.reap() == 1
        assert await store.queue_length(job.model) == 1
        frozen.thaw()
        result = await watching
    assert result[0] == expected_text(tokenizer, job)
    assert (end_of(result).outcome, end_of(result).attempts) == (Outcome.DONE, 1)


async def test_after_the_last_token_the_next_host_needs_no_engine(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    ended = a_job(tokenizer, "ended")
    limit = a_job(tokenizer, "limit")
    room = a_job(tokenizer, "room", max_tokens=4000)
    room_ids = simulated_ids(room.prompt_ids, tokenizer, 64 - len(room.prompt_ids))
    ids = {
        "ended": [*simulated_ids(ended.prompt_ids, tokenizer, 20), min(tokenizer.eos_ids)],
        "limit": simulated_ids(limit.prompt_ids, tokenizer, 150),
        "room": room_ids,
    }
    for job in (ended, limit, room):
        await dispatch.dispatch(job)
        (lease,) = await store.claim(
            store.partition_of(job.id), model=job.model, host="h1", incarnation="i1", count=1
        )
        text = tokenizer.decode(tokenizer.whole(ids[job.id]))
        await store.append(lease, expected=0, ids=ids[job.id], at=0, text=text)
        await store.release(lease, failed=True, reason="test")
    engine = Faulty(tokenizer, "nothing", speed=FAST, max_model_len=64)
    async with running(engine, "h2"):
        for job_id, reason in (("ended", "stop"), ("limit", "length"), ("room", "length")):
            shown, transcript = await watch(store, job_id)
            assert transcript.end is not None
            assert (transcript.end.outcome, transcript.end.finish_reason) == (Outcome.DONE, reason)
            assert shown == tokenizer.decode(tokenizer.whole(ids[job_id]))
        assert engine.stats().tokens_generated == 4  # the warm-up's


# ---- stops and drains ------------------------------------------------------------------------


async def test_a_stopped_answer_frees_its_slot_and_grows_no_more(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running(SimulatedEngine(tokenizer), lease_s=0.4) as (host, _):
        await dispatch.dispatch(a_job(tokenizer))
        watching = asyncio.create_task(watch(store))
        await _journaled(store, 10)
        assert await dispatch.stop("a", reason="customer")
        shown, transcript = await watching
        await until(lambda: host.engine.stats().running == 0, timeout_s=0.4)
        await asyncio.sleep(0.1)
        assert (await read(store, "a")).text == shown == transcript.text
    assert transcript.end is not None
    assert (transcript.end.outcome, transcript.end.reason) == (Outcome.STOPPED, "customer")


async def test_a_drain_lets_answers_finish(store: JobStore, tokenizer: ChatTokenizer) -> None:
    job = a_job(tokenizer)
    async with running(SimulatedEngine(tokenizer, speed=4)) as (host, task):
        await dispatch.dispatch(job)
        await _journaled(store, 10)
        host.drain()
        await dispatch.dispatch(a_job(tokenizer, "b"))
        await until(lambda: host.state == "draining")
        result = await watch(store)
        await task
    assert (result[0], end_of(result).attempts) == (expected_text(tokenizer, job), 1)
    assert (await read(store, "b")).ids == []
    assert await store.living_hosts() == []


async def test_a_drain_hands_over_what_takes_too_long(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    job = a_job(tokenizer)
    async with running(SimulatedEngine(tokenizer, speed=1), "h1", drain_s=0.1) as (host, task):
        await dispatch.dispatch(job)
        watching = asyncio.create_task(watch(store))
        await _journaled(store, 10)
        host.drain()
        await task
        assert await store.redis.hget(store.partition_of("a").job("a"), "failures") == b"0"  # type: ignore[misc]
        async with running(SimulatedEngine(tokenizer, speed=FAST), "h2"):
            result = await watching
    assert result[0] == expected_text(tokenizer, job)
    assert end_of(result).host == "h2"


async def test_a_drain_while_the_engine_starts_ends_at_once(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    class Slow(SimulatedEngine):
        async def start(self) -> None:
            await asyncio.sleep(60)

    host = EngineHost(Slow(tokenizer), store)
    task = asyncio.create_task(host.run())
    await asyncio.sleep(0.05)
    host.drain()
    async with asyncio.timeout(2):
        await task
    assert host.state == "starting"


async def test_a_host_says_how_it_is(store: JobStore, tokenizer: ChatTokenizer) -> None:
    gate = asyncio.Event()

    class Slow(SimulatedEngine):
        async def start(self) -> None:
            await gate.wait()
            await super().start()

    async def states() -> list[tuple[str, str]]:
        return [(h.host, h.state) for h in await store.living_hosts()]

    host = EngineHost(Slow(tokenizer), store, name="h1")
    task = asyncio.create_task(host.run())
    for step, expected in ((None, "starting"), (gate.set, "ready"), (host.drain, "draining")):
        if expected == "draining":
            await dispatch.dispatch(a_job(tokenizer))
            await _journaled(store, 1)
        if step is not None:
            step()
        async with asyncio.timeout(3):
            while await states() != [("h1", expected)]:
                await asyncio.sleep(0.02)
    await dispatch.stop("a")
    await task
    assert await states() == []


# ---- engines die -----------------------------------------------------------------------------


async def test_a_dead_engine_ends_its_host_and_no_answer(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    jobs = [a_job(tokenizer, f"job-{n}") for n in range(3)]
    engine = Faulty(tokenizer, EngineDead("the core is gone"), speed=2)
    async with running(engine, "h1", lease_s=30) as (_, task):  # nothing waits for a lease
        for job in jobs:
            await dispatch.dispatch(job)
        watching = asyncio.gather(*(watch(store, job.id) for job in jobs))
        async with asyncio.timeout(5):
            with pytest.raises(EngineDead):
                await task
        async with running(SimulatedEngine(tokenizer, speed=FAST), "h2"):
            results = await watching
    assert [r[0] for r in results] == [expected_text(tokenizer, job) for job in jobs]
    assert [(end_of(r).host, end_of(r).attempts) for r in results] == [("h2", 2)] * 3


@pytest.mark.parametrize(
    "fault", [EngineAborted("x"), EngineBusy("x"), "end"], ids=["aborted", "busy", "silent end"]
)
async def test_an_abort_that_nobody_asked_for_is_a_failover(
    store: JobStore, tokenizer: ChatTokenizer, fault: Any
) -> None:
    job = a_job(tokenizer)
    async with running(Faulty(tokenizer, fault, speed=2), "h1", lease_s=30) as (host, task):
        await dispatch.dispatch(job)
        watching = asyncio.create_task(watch(store))
        await until(lambda: host.engine.stats().running)
        async with running(SimulatedEngine(tokenizer, speed=FAST), "h2", max_num_seqs=1):
            result = await watching
        assert not task.done()  # the engine lives, so does its host
    assert result[0] == expected_text(tokenizer, job)
    assert (end_of(result).host, end_of(result).attempts) == ("h2", 2)


async def test_with_no_other_host_the_customer_need_not_wait_for_the_deadline(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    async with running(Faulty(tokenizer, EngineAborted("x"), speed=FAST)):
        await dispatch.dispatch(a_job(tokenizer))
        end = end_of(await watch(store))
    assert (end.outcome, end.reason) == (Outcome.FAILED, "engine_aborted: no other host")


async def test_a_rejected_prompt_fails_at_once(store: JobStore, tokenizer: ChatTokenizer) -> None:
    engine = SimulatedEngine(tokenizer, max_model_len=64, speed=FAST)
    # A second host would take what is given back.
    async with running(engine, "h1"), running(SimulatedEngine(tokenizer), "h2", max_num_seqs=0):
        await dispatch.dispatch(replace(a_job(tokenizer), prompt_ids=tuple(range(100))))
        end = end_of(await watch(store))
        assert (end.outcome, end.attempts) == (Outcome.FAILED, 1)
        assert end.reason.startswith("rejected: a prompt of 100 tokens")
        await dispatch.dispatch(a_job(tokenizer, "b"))
        assert end_of(await watch(store, "b")).outcome is Outcome.DONE  # the host goes on


async def test_an_engine_that_moves_no_tokens_is_dead(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    job = a_job(tokenizer)
    engine = Faulty(tokenizer, "stall", speed=2)
    async with running(engine, "h1", stall_s=0.3, lease_s=30) as (_, task):
        await dispatch.dispatch(job)
        watching = asyncio.create_task(watch(store))
        await _journaled(store, 20)
        engine._decoding.clear()  # the scheduler forgot it: nothing comes, nothing fails
        async with asyncio.timeout(3):
            with pytest.raises(EngineDead, match="no token came"):
                await task
        async with running(SimulatedEngine(tokenizer, speed=FAST), "h2"):
            result = await watching
    assert result[0] == expected_text(tokenizer, job)


async def test_an_engine_that_does_not_answer_is_dead(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    class Hung(SimulatedEngine):
        async def check(self) -> None:
            if self._generated > 4:
                await asyncio.Event().wait()

    async with running(Hung(tokenizer, speed=FAST), stall_s=0.3) as (_, task):
        await dispatch.dispatch(a_job(tokenizer, max_tokens=10))
        async with asyncio.timeout(3):
            with pytest.raises(EngineDead, match="does not answer"):
                await task


async def test_an_idle_host_is_not_stuck(store: JobStore, tokenizer: ChatTokenizer) -> None:
    async with running(SimulatedEngine(tokenizer), stall_s=0.1) as (_, task):
        await asyncio.sleep(0.4)
        assert not task.done()


async def test_a_host_whose_steps_break_goes_on(
    store: JobStore, tokenizer: ChatTokenizer, caplog: pytest.LogCaptureFixture
) -> None:
    job = a_job(tokenizer)
    async with running(SimulatedEngine(tokenizer, speed=2), lease_s=0.4) as (host, _):
        await dispatch.dispatch(job)
        await _journaled(store, 5)
        calls = 0
        renew = host.store.renew

        async def broken(*args: Any) -> bool:
            nonlocal calls
            calls += 1
            if calls == 1:
                raise ValueError("unforeseen")
            return await renew(*args)

        host.store.renew = broken  # type: ignore[method-assign]
        assert (await watch(store))[0] == expected_text(tokenizer, job)
    assert calls > 1
    assert "unforeseen" in caplog.text


# ---- filters ---------------------------------------------------------------------------------


class Raising:
    def __init__(self, context: str) -> None:
        self.text = ""

    def feed(self, text: str) -> Verdict:
        self.text += text
        if len(self.text) > 50:
            raise ValueError("the filter is broken")
        return Verdict(text)

    def close(self) -> Verdict:
        return Verdict("")


class Tripping:
    """Shows all but the last five characters; trips over the context's word."""

    def __init__(self, context: str) -> None:
        self.word, self.text, self.shown = context, "", 0

    def feed(self, text: str) -> Verdict:
        self.text += text
        if (at := self.text.find(self.word)) >= 0:
            return Verdict("", Trip("test", min(at, self.shown), "[cut]"))
        release = self.text[self.shown : max(self.shown, len(self.text) - 5)]
        self.shown += len(release)
        return Verdict(release)

    def close(self) -> Verdict:
        return Verdict(self.text[self.shown :])


@pytest.mark.parametrize("path", ["tests.inference.test_host.Raising", "no.such.Filter"])
async def test_a_broken_filter_fails_the_answer_after_its_attempts(
    store: JobStore, tokenizer: ChatTokenizer, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        running(SimulatedEngine(tokenizer, speed=FAST), "h1", text_filter=path),
        running(SimulatedEngine(tokenizer, speed=FAST), "h2", text_filter=path),
        running(SimulatedEngine(tokenizer, speed=FAST), "h3", text_filter=path),
    ):
        await dispatch.dispatch(a_job(tokenizer))
        end = end_of(await watch(store))
    assert (end.outcome, end.attempts) == (Outcome.FAILED, 3)
    assert "host_error" in end.reason
    assert "broke" in caplog.text


async def test_a_tripped_filter_ends_the_answer_with_its_replacement(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    job = a_job(tokenizer, filter_context="the")
    text = expected_text(tokenizer, job)
    path = "tests.inference.test_host.Tripping"
    async with running(SimulatedEngine(tokenizer, speed=5), text_filter=path) as (host, _):
        await dispatch.dispatch(job)
        shown, transcript = await watch(store)
        await until(lambda: host.engine.stats().running == 0)
    end = transcript.end
    assert end is not None
    assert (end.outcome, end.reason, end.replacement) == (Outcome.GUARDED, "test", "[cut]")
    assert end.keep is not None
    assert transcript.final_text == text[: end.keep] + "[cut]"
    assert "the" not in shown
    assert end.usage.output_tokens < 150


async def test_a_trip_survives_the_host_that_saw_it(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    job = a_job(tokenizer, filter_context="the")
    ids = simulated_ids(job.prompt_ids, tokenizer, 150)
    text = expected_text(tokenizer, job)
    at = text.index("the")
    upto = next(n for n in range(150) if len(tokenizer.decode(tokenizer.whole(ids[:n]))) >= at + 3)
    await dispatch.dispatch(job)
    (lease,) = await store.claim(
        store.partition_of("a"), model=job.model, host="h1", incarnation="i1", count=1
    )
    await store.append(lease, expected=0, ids=ids[:upto], at=0, text=text[: max(0, at - 5)])
    await store.release(lease, failed=True, reason="test")
    path = "tests.inference.test_host.Tripping"
    async with running(SimulatedEngine(tokenizer, speed=FAST), "h2", text_filter=path):
        _, transcript = await watch(store)
    assert transcript.end is not None
    assert transcript.end.outcome is Outcome.GUARDED
    assert "the" not in transcript.final_text
    assert transcript.final_text.endswith("[cut]")


async def test_what_a_filter_held_back_is_shown_at_the_end(
    store: JobStore, tokenizer: ChatTokenizer
) -> None:
    job = a_job(tokenizer, filter_context="\x00")
    path = "tests.inference.test_host.Tripping"
    async with running(SimulatedEngine(tokenizer, speed=FAST), text_filter=path):
        await dispatch.dispatch(job)
        assert (await watch(store))[0] == expected_text(tokenizer, job)


# ---- stray writes ----------------------------------------------------------------------------


async def test_a_malformed_journal_fails_the_answer_and_spares_the_host(
    store: JobStore, tokenizer: ChatTokenizer, clean_redis: redis.Redis
) -> None:
    job = a_job(tokenizer)
    await dispatch.dispatch(job)
    p = store.partition_of("a")
    (lease,) = await store.claim(p, model=job.model, host="h1", incarnation="i1", count=1)
    await store.append(lease, expected=0, ids=[1], at=0, text="x")
    clean_redis.xadd(p.journal("a"), {"type": "poem"})
    await store.release(lease, failed=True, reason="test")
    async with running(SimulatedEngine(tokenizer, speed=FAST), "h2"):
        await until(lambda: clean_redis.hget(p.job("a"), "state") == b"finished")
        await dispatch.dispatch(a_job(tokenizer, "b"))
        assert end_of(await watch(store, "b")).outcome is Outcome.DONE
    end = end_of((None, await read(store, "a")))
    assert (end.outcome, end.reason[:9]) == (Outcome.FAILED, "malformed")


async def test_finish_of_a_stale_owner_changes_nothing(
    store: JobStore, host: EngineHost, tokenizer: ChatTokenizer
) -> None:
    await dispatch.dispatch(a_job(tokenizer))
    result = await watch(store)
    assert not await store.finish("a", Outcome.FAILED, "late", detail=Detail())
    assert (await read(store, "a")).end == end_of(result)
