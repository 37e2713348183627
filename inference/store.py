"""The jobs in Redis: every change is one fenced Lua call on the keys of one partition."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from typing import Any, TypeVar
from zlib import crc32

import msgspec
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from inference.conf import Conf, conf
from inference.errors import JournalGap, LeaseLost, MalformedEntry
from inference.messages import JOB_VERSION, Detail, Job, Lease, Outcome, pack_ids

logger = logging.getLogger(__name__)

T = TypeVar("T")

_LUA = Path(__file__).parent / "lua"
_US = 1_000_000
#: Seconds that one command may take.
_CALL_S = 5.0
#: A host whose last word is older than this is forgotten altogether.
_FORGET_HOST_S = 120


@lru_cache
def _source(name: str) -> str:
    return (_LUA / "prelude.lua").read_text() + "\n" + (_LUA / f"{name}.lua").read_text()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """What a host says of itself with every heartbeat."""

    host: str
    incarnation: str
    engine: str
    model: str
    state: str  # starting, ready, draining
    running: int = 0
    waiting: int = 0
    slots: int = 0
    kv_cache_usage: float = 0.0
    tokens_per_s: float = 0.0


def _queue(model: str, version: int = JOB_VERSION) -> str:
    """Hosts of two versions may run side by side: each sees only the jobs that it can read."""
    return f"v{version}:{model}"


@dataclass(frozen=True, slots=True)
class Partition:
    """The key names of one partition; one hash tag, so one slot of a Redis Cluster."""

    index: int

    @property
    def prefix(self) -> str:
        return f"qb:{{p{self.index}}}:"

    def job(self, job_id: str) -> str:
        return f"{self.prefix}job:{job_id}"

    def journal(self, job_id: str) -> str:
        return f"{self.prefix}journal:{job_id}"

    def ready(self, model: str) -> str:
        return f"{self.prefix}ready:{_queue(model)}"

    @property
    def leases(self) -> str:
        return f"{self.prefix}leases"

    @property
    def doorbell(self) -> str:
        """A pub/sub channel that rings when a job becomes ready."""
        return f"{self.prefix}jobs"


class JobStore:
    """Jobs, leases and hosts. One for each event loop; close it with ``async with`` or ``aclose``.

    Raises ``redis.exceptions.RedisError`` when Redis is away.
    """

    BEATS = "qb:{hosts}:beats"
    STATES = "qb:{hosts}:states"
    PREFIX = "qb:prefix:"

    def __init__(self, config: Conf | None = None) -> None:
        self.conf = config or conf()
        self.redis: Redis = Redis.from_url(
            self.conf.redis_url,
            socket_connect_timeout=2,
            # With a time-out redis-py sends inside ``asyncio.wait_for``, which on Python 3.11
            # sometimes swallows a cancellation (cpython#86296): ``call`` bounds the time instead.
            socket_timeout=None,
            health_check_interval=30,
            # Every script may safely run twice.
            retry=Retry(ExponentialBackoff(cap=0.2, base=0.02), 2),
            retry_on_error=[RedisConnectionError, RedisTimeoutError],
        )
        # A blocking read waits as long as nothing is written: its own connections, no time-out. A
        # reader bears with a Redis that restarts (about three seconds of tries).
        self.blocking: Redis = Redis.from_url(
            self.conf.redis_url,
            socket_connect_timeout=2,
            socket_timeout=None,
            health_check_interval=0,
            retry=Retry(ExponentialBackoff(cap=0.5, base=0.05), 8),
            retry_on_error=[RedisConnectionError],
        )
        self._scripts: dict[str, Any] = {}
        #: Claims that may have run without our hearing of it, by their ready set and claimer.
        self._unheard: dict[tuple[str, str], str] = {}

    async def __aenter__(self) -> "JobStore":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self.redis.aclose()
        await self.blocking.aclose()

    def partition_of(self, job_id: str) -> Partition:
        return Partition(crc32(job_id.encode()) % self.conf.partitions)

    def partitions(self) -> list[Partition]:
        return [Partition(index) for index in range(self.conf.partitions)]

    async def _run(self, name: str, keys: Sequence[str], args: Sequence[Any]) -> Any:
        script = self._scripts.get(name)
        if script is None:
            script = self._scripts[name] = self.redis.register_script(_source(name))
        return await self.call(script(keys=keys, args=args))

    async def call(self, command: Awaitable[T]) -> T:
        """Await a command of ``redis`` for a few seconds at most."""
        try:
            async with asyncio.timeout(_CALL_S):
                return await command
        except TimeoutError:
            raise RedisTimeoutError(f"no answer in {_CALL_S:.0f} s") from None

    # ---- what web servers and workers call --------------------------------------------------

    async def create(self, job: Job) -> bool:
        """Put the job up for the hosts; False if it is known already (or finished)."""
        p = self.partition_of(job.id)
        queue = _queue(job.model, job.version)
        args = [p.prefix, job.id, job.encode(), queue, int(job.priority * _US)]
        args += [int(job.first_token_s * _US), int(job.total_s * _US), self.conf.journal_ttl_s]
        return bool(await self._run("create", [p.job(job.id)], args))

    async def finish(
        self,
        job_id: str,
        outcome: Outcome,
        reason: str = "",
        *,
        lease: Lease | None = None,
        expected: int | None = None,
        detail: Detail | None = None,
    ) -> bool:
        """Decide how the answer ends; False if that was decided before.

        With ``lease`` the caller must still own the job (else ``LeaseLost``), and with
        ``expected`` the journal must hold that many tokens (else ``JournalGap``).
        """
        p = self.partition_of(job_id)
        more: list[Any] = [-1 if expected is None else expected, outcome.value, reason]
        more += [detail.encode() if detail else b"", self.conf.journal_ttl_s]
        if lease is None:
            anyone = [p.prefix, job_id, -1, 0, "", "", 0]
            status, *held = await self._run("finish", [p.job(job_id)], anyone + more)
        else:
            status, *held = await self._held("finish", [p.job(job_id)], lease, more)
        if status == b"finished":
            return False
        _check(status, *held)
        return True

    async def exists(self, job_id: str) -> bool:
        return bool(await self.call(self.redis.exists(self.partition_of(job_id).job(job_id))))

    async def reap(self) -> int:
        """Give expired leases back and end what passed its deadline; how many were found."""
        found = 0
        for p in self.partitions():
            args = [p.prefix, self.conf.max_retries, self.conf.journal_ttl_s]
            found += int(await self._run("reap", [p.leases], args))
        return found

    async def queue_length(self, model: str) -> int:
        counts = [await self.call(self.redis.zcard(p.ready(model))) for p in self.partitions()]
        return sum(counts)

    async def living_hosts(self) -> list[HostState]:
        """Hosts heard of in the last ``host_silence_s`` seconds, by Redis's clock."""
        silence_us = int(self.conf.host_silence_s * _US)
        states = await self._run("living", [self.BEATS, self.STATES], [silence_us])
        return [msgspec.json.decode(state, type=HostState) for state in states if state]

    async def set_prefix(self, model: str, ids: Sequence[int]) -> None:
        """What every prompt of this model begins with, for hosts to keep warm."""
        await self.call(self.redis.set(f"{self.PREFIX}{model}", pack_ids(ids)))

    # ---- what hosts call --------------------------------------------------------------------

    async def beat(self, state: HostState) -> None:
        args = [state.host, msgspec.json.encode(state), _FORGET_HOST_S * _US]
        await self._run("beat", [self.BEATS, self.STATES], args)

    async def prefix(self, model: str) -> bytes:
        """The packed ids that ``set_prefix`` left, empty if none."""
        found: bytes | None = await self.call(self.redis.get(f"{self.PREFIX}{model}"))
        return found or b""

    async def forget_host(self, host: str) -> None:
        await self.call(self.redis.zrem(self.BEATS, host))
        await self.call(self.redis.hdel(self.STATES, host))  # type: ignore[arg-type]

    async def claim(
        self, partition: Partition, *, model: str, host: str, incarnation: str, count: int
    ) -> list[Lease]:
        """Take up to ``count`` ready jobs of this model, most urgent first.

        After a claim whose reply was lost, the next one brings what that one took: those jobs wait
        for this host and nobody else knows of them.
        """
        ready = partition.ready(model)
        nonce = self._unheard.setdefault((ready, incarnation), token_hex(8))
        args = [partition.prefix, host, incarnation, self._lease_us, count]
        args += [self.conf.max_retries, self.conf.journal_ttl_s, nonce]
        leases = []
        found = await self._run("claim", [ready], args)
        del self._unheard[ready, incarnation]
        now = time.monotonic()
        for job_id, fence, attempt, length, payload, remaining_us in found:
            try:
                job = Job.decode(payload)
            except MalformedEntry as error:
                # Whoever made it speaks another version; no host of ours will ever read it.
                await self.finish(job_id.decode(), Outcome.FAILED, f"malformed: {error}")
                continue
            leases.append(
                Lease(
                    job=job,
                    fence=int(fence),
                    attempt=int(attempt),
                    length=int(length),
                    host=host,
                    incarnation=incarnation,
                    ends_at=now + int(remaining_us) / _US,
                )
            )
        return leases

    # These raise ``LeaseLost``, and ``JournalGap`` where they say what the journal must hold. A job
    # that nobody else has claimed is still the caller's, even when its lease has run out or Redis
    # came back without it.

    async def begin(self, lease: Lease, keep: int) -> None:
        """A later attempt starts from the first ``keep`` journaled ids."""
        _check(*await self._held("begin", self._keys(lease), lease, [keep]))

    async def append(
        self, lease: Lease, *, expected: int, ids: Sequence[int], at: int, text: str
    ) -> int:
        """Journal tokens and text, and renew the lease; the number of tokens journaled then."""
        more = [expected, len(ids), pack_ids(ids), at, len(text), text]
        status, length, chars = await self._held("append", self._keys(lease), lease, more)
        _check(status, length, chars)
        return int(length)

    async def renew(self, lease: Lease) -> bool:
        """Keep the job; False if it is lost."""
        status, *_ = await self._held("renew", self._keys(lease)[:1], lease, [])
        return bool(status == b"ok")

    async def release(self, lease: Lease, *, failed: bool, reason: str) -> bool:
        """Give the job back for another host; a failure counts against its attempts."""
        args = self._lease_args(lease)
        args += [int(failed), reason, self.conf.max_retries, self.conf.journal_ttl_s]
        status, *_ = await self._run("release", self._keys(lease)[:1], args)
        return bool(status == b"ok")

    def _keys(self, lease: Lease) -> list[str]:
        p = self.partition_of(lease.job.id)
        return [p.job(lease.job.id), p.journal(lease.job.id)]

    def _lease_args(self, lease: Lease) -> list[Any]:
        prefix = self.partition_of(lease.job.id).prefix
        args: list[Any] = [prefix, lease.job.id, lease.fence, lease.attempt]
        return [*args, lease.host, lease.incarnation, self._lease_us]

    async def _held(
        self, name: str, keys: Sequence[str], lease: Lease, more: Sequence[Any]
    ) -> tuple[bytes, int, int]:
        """Run a script for a lease; a job that Redis has forgotten is put up again first."""
        args = [*self._lease_args(lease), *more]
        found = await self._run(name, keys, args)
        if found[0] == b"gone" and time.monotonic() < lease.ends_at:
            await self._restore(lease)
            found = await self._run(name, keys, args)
        status, length, chars = found
        return status, int(length), int(chars)

    async def _restore(self, lease: Lease) -> None:
        job = lease.job
        remaining_s = lease.ends_at - time.monotonic()
        args = [*self._lease_args(lease), job.encode(), _queue(job.model, job.version)]
        args += [int((job.total_s - remaining_s) * _US), int(remaining_s * _US)]
        args.append(self.conf.journal_ttl_s)
        if await self._run("restore", self._keys(lease), args):
            logger.warning("Redis had forgotten the answer %s: it goes on", job.id)

    @property
    def _lease_us(self) -> int:
        return int(self.conf.lease_s * _US)


def _check(status: bytes, length: int, chars: int) -> None:
    if status == b"ok":
        return
    if status == b"gap":
        raise JournalGap(int(length), int(chars))
    raise LeaseLost(status.decode())
