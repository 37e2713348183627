"""Jobs under fenced leases: who may write, who decides, what comes back."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
import redis
from redis.exceptions import ConnectionError as RedisConnectionError

from inference.errors import JournalGap, LeaseLost
from inference.journal import read
from inference.messages import Detail, Job, Outcome, Sampling
from inference.store import HostState, JobStore, Partition

P = Partition(0)


def a_job(job_id: str = "a", **more: object) -> Job:
    return Job(id=job_id, model="m", prompt_ids=(1, 2, 3), sampling=Sampling(), **more)  # type: ignore[arg-type]


async def claim(store: JobStore, host: str = "h1", count: int = 1, model: str = "m") -> list:
    return await store.claim(P, model=model, host=host, incarnation=f"i-{host}", count=count)


async def claim_one(store: JobStore, host: str = "h1"):
    (lease,) = await claim(store, host)
    return lease


async def test_a_job_is_created_once(store: JobStore) -> None:
    assert await store.create(a_job())
    assert not await store.create(a_job())
    assert await store.queue_length("m") == 1


async def test_a_claimed_job_is_the_job_that_was_created(store: JobStore) -> None:
    job = a_job(filter_context='{"x": "ü"}', priority=-3.0)
    await store.create(job)
    lease = await claim_one(store)
    assert lease.job == job
    assert (lease.attempt, lease.length) == (1, 0)
    assert await claim(store, "h2") == []


async def test_a_host_claims_only_its_own_models_jobs(store: JobStore) -> None:
    await store.create(a_job())
    assert await claim(store, model="another") == []


async def test_the_urgent_go_first_and_waiting_makes_up_for_it(store: JobStore) -> None:
    await store.create(a_job("old", priority=0))
    await store.create(a_job("urgent", priority=-10))
    await store.create(a_job("later", priority=0))
    assert [lease.job.id for lease in await claim(store, count=9)] == ["urgent", "old", "later"]


def lose_the_next_reply(store: JobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next script runs, and the connection breaks before its reply arrives."""
    run = store._run

    async def once(*args: Any) -> Any:
        monkeypatch.setattr(store, "_run", run)
        await run(*args)
        raise RedisConnectionError("the connection broke")

    monkeypatch.setattr(store, "_run", once)


async def test_a_claim_whose_reply_was_lost_brings_its_jobs_the_next_time(
    store: JobStore, clean_redis: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    for job_id in ("a", "b", "c"):
        await store.create(a_job(job_id))
    lose_the_next_reply(store, monkeypatch)
    with pytest.raises(RedisConnectionError):
        await claim(store, count=2)
    taken = [lease.job.id for lease in await claim(store, count=2)]
    assert taken == ["a", "b"]
    (third,) = await claim(store, count=2)  # heard of: the next claim is a new one
    assert (third.job.id, third.attempt) == ("c", 1)
    assert clean_redis.xlen(P.journal("a")) == 1  # it has begun once


@pytest.mark.parametrize("reaped", [False, True])
async def test_a_lost_claim_whose_lease_ran_out_does_not_shut_the_only_host_out(
    store: JobStore, monkeypatch: pytest.MonkeyPatch, reaped: bool
) -> None:
    store.conf = replace(store.conf, lease_s=0.1, max_retries=1)
    await store.create(a_job())
    lose_the_next_reply(store, monkeypatch)
    with pytest.raises(RedisConnectionError):
        await claim(store)
    await asyncio.sleep(0.15)
    if reaped:
        assert await store.reap() == 1
    lease = await claim_one(store)
    assert lease.attempt == 1
    assert await store.append(lease, expected=0, ids=[7], at=0, text="a") == 1
    # It has not used up an attempt: one failure may still follow.
    await store.release(lease, failed=True, reason="test")
    assert len(await claim(store, "h2")) == 1


async def test_a_lost_claim_takes_nothing_from_another_host(
    store: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.conf = replace(store.conf, lease_s=0.1)
    await store.create(a_job())
    lose_the_next_reply(store, monkeypatch)
    with pytest.raises(RedisConnectionError):
        await claim(store)
    await asyncio.sleep(0.15)
    theirs = await claim_one(store, "h2")
    assert await claim(store) == []
    assert await store.append(theirs, expected=0, ids=[7], at=0, text="a") == 1


async def test_appending_twice_writes_once(store: JobStore) -> None:
    await store.create(a_job())
    lease = await claim_one(store)
    for _ in range(2):
        assert await store.append(lease, expected=0, ids=[7, 8], at=0, text="hé") == 2
    for _ in range(2):  # text without a token, as at the end of a filter that held back
        assert await store.append(lease, expected=2, ids=[], at=2, text="llo") == 2
    transcript = await read(store, "a")
    assert (transcript.ids, transcript.text) == ([7, 8], "héllo")


async def test_a_gap_says_what_the_journal_holds(store: JobStore) -> None:
    await store.create(a_job())
    lease = await claim_one(store)
    await store.append(lease, expected=0, ids=[7], at=0, text="a")
    with pytest.raises(JournalGap) as gap:
        await store.append(lease, expected=5, ids=[9], at=1, text="b")
    assert gap.value.length == 1


async def test_a_stale_owner_can_do_nothing(store: JobStore, clean_redis: redis.Redis) -> None:
    await store.create(a_job())
    stale = await claim_one(store)
    await store.release(stale, failed=True, reason="test")
    fresh = await claim_one(store, "h2")
    assert fresh.fence > stale.fence
    assert fresh.attempt == 2
    with pytest.raises(LeaseLost):
        await store.append(stale, expected=0, ids=[1], at=0, text="late")
    with pytest.raises(LeaseLost):
        await store.finish("a", Outcome.DONE, lease=stale)
    assert not await store.renew(stale)
    assert not await store.release(stale, failed=True, reason="late")
    assert (await read(store, "a")).text == ""
    assert await store.append(fresh, expected=0, ids=[1], at=0, text="new") == 1


async def test_the_incarnation_that_failed_does_not_get_the_job_back(store: JobStore) -> None:
    await store.create(a_job())
    await store.release(await claim_one(store), failed=True, reason="test")
    assert await claim(store, "h1") == []
    assert len(await claim(store, "h2")) == 1


async def test_a_drained_job_may_come_back_and_costs_no_attempt(store: JobStore) -> None:
    await store.create(a_job())
    for _ in range(9):
        await store.release(await claim_one(store), failed=False, reason="drained")
    assert len(await claim(store, "h1")) == 1


async def test_after_two_further_attempts_the_answer_fails(store: JobStore) -> None:
    await store.create(a_job())
    for host in ("h1", "h2", "h3"):
        await store.release(await claim_one(store, host), failed=True, reason="engine_dead")
    end = (await read(store, "a")).end
    assert end is not None
    assert (end.outcome, end.reason) == (Outcome.FAILED, "out_of_attempts: engine_dead")
    assert end.attempts == 3
    assert await claim(store, "h4") == []


async def test_a_silent_hosts_job_goes_to_another(store: JobStore) -> None:
    store.conf = replace(store.conf, lease_s=0.2)
    await store.create(a_job())
    silent = await claim_one(store)
    await asyncio.sleep(0.1)
    assert await store.renew(silent)
    await asyncio.sleep(0.15)
    assert await claim(store, "h2") == []  # renewed: still its own
    await asyncio.sleep(0.1)
    taken = await claim_one(store, "h2")
    assert taken.attempt == 2
    assert not await store.renew(silent)


async def test_finish_has_one_winner(store: JobStore) -> None:
    await store.create(a_job())
    lease = await claim_one(store)
    results = await asyncio.gather(
        store.finish("a", Outcome.STOPPED, "customer"),
        store.finish("a", Outcome.CLAIMED, "agent"),
        store.finish("a", Outcome.EXPIRED, "deadline"),
        store.finish("a", Outcome.DONE, lease=lease, expected=0),
    )
    assert sorted(results) == [False, False, False, True]
    entries = await store.redis.xrange(P.journal("a"))
    assert sum(fields[b"type"] == b"end" for _, fields in entries) == 1
    with pytest.raises(LeaseLost):
        await store.append(lease, expected=0, ids=[1], at=0, text="late")


async def test_a_host_finishes_only_a_whole_journal(store: JobStore) -> None:
    await store.create(a_job())
    lease = await claim_one(store)
    with pytest.raises(JournalGap):
        await store.finish("a", Outcome.DONE, lease=lease, expected=3)
    assert (await read(store, "a")).end is None


async def test_an_answer_can_be_stopped_before_it_was_dispatched(store: JobStore) -> None:
    assert await store.finish("a", Outcome.STOPPED, "customer")
    assert not await store.create(a_job())
    assert await claim(store) == []
    end = (await read(store, "a")).end
    assert end is not None
    assert end.outcome is Outcome.STOPPED


async def test_past_its_deadline_an_answer_ends_with_no_host_at_all(store: JobStore) -> None:
    await store.create(a_job(total_s=0.05))
    await asyncio.sleep(0.1)
    assert await store.reap() == 1
    end = (await read(store, "a")).end
    assert end is not None
    assert end.outcome is Outcome.EXPIRED
    assert await claim(store) == []


async def test_a_terminal_entry_tells_the_answers_story(store: JobStore) -> None:
    await store.create(a_job())
    lease = await claim_one(store)
    await store.append(lease, expected=0, ids=[7, 8], at=0, text="hi")
    detail = Detail(finish_reason="stop", host="h1", prompt_tokens=3, cached_tokens=2)
    assert await store.finish("a", Outcome.DONE, lease=lease, expected=2, detail=detail)
    end = (await read(store, "a")).end
    assert end is not None
    assert (end.host, end.finish_reason, end.attempts) == ("h1", "stop", 1)
    assert (end.usage.prompt_tokens, end.usage.cached_tokens, end.usage.output_tokens) == (3, 2, 2)
    assert 0 < end.created_us <= end.claimed_us <= end.first_token_us <= end.finished_us


async def test_a_job_that_cannot_be_read_fails_instead_of_going_round(
    store: JobStore, clean_redis: redis.Redis
) -> None:
    await store.create(a_job())
    clean_redis.hset(P.job("a"), "payload", b"\xc1 no job at all")
    assert await claim(store) == []
    end = (await read(store, "a")).end
    assert end is not None
    assert end.outcome is Outcome.FAILED
    assert end.reason.startswith("malformed")


async def test_a_job_of_a_newer_version_waits_for_a_host_that_knows_it(store: JobStore) -> None:
    await store.create(a_job(version=99))
    assert await claim(store) == []
    assert (await read(store, "a")).end is None
    assert await store.finish("a", Outcome.STOPPED, "customer")


async def test_hosts_that_went_silent_are_not_living(store: JobStore) -> None:
    state = HostState(host="h1", incarnation="i", engine="simulated", model="m", state="ready")
    await store.beat(state)
    assert await store.living_hosts() == [state]
    store.conf = replace(store.conf, host_silence_s=0.05)
    await asyncio.sleep(0.1)
    assert await store.living_hosts() == []


async def test_partitions_share_a_slot_and_spread_the_jobs(store: JobStore) -> None:
    store.conf = replace(store.conf, partitions=4)
    used = set()
    for n in range(40):
        p = store.partition_of(f"job-{n}")
        used.add(p.index)
        tags = {
            key[key.index("{") : key.index("}")] for key in (p.job("x"), p.ready("m"), p.leases)
        }
        assert len(tags) == 1
    assert used == {0, 1, 2, 3}
