"""A GPU host: claims jobs while it has free slots, runs them on its engine, gives back the rest.

Everything a host owns it holds under leases: if this process dies, freezes or is cut off, its jobs
go to another host when their leases run out.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from redis.exceptions import RedisError

from inference.attempt import run_attempt
from inference.engines.base import Engine
from inference.errors import EngineDead, InferenceError, LeaseLost
from inference.messages import Lease, Outcome
from inference.model_store import fingerprint
from inference.store import HostState, JobStore, Partition
from inference.warming import Warmer

logger = logging.getLogger(__name__)

_BEAT_S = 0.5
_CHECK_S = 1.0
#: Seconds between two looks for a new prefix.
_WARM_S = 2.0
#: A first request may compile kernels; an engine that needs longer is stuck.
_WARM_UP_S = 180.0
#: Above this share of the KV cache a host with running answers takes no more: a full cache makes
#: the engine push one answer out to serve another.
_KV_CACHE_FULL = 0.95
#: Seconds that a host which is about to end waits for Redis.
_LAST_WORD_S = 3.0
#: Seconds between two log lines that say the same trouble.
_REMIND_S = 10.0


class EngineHost:
    """One engine and the answers that run on it.

    ``run`` returns after a drain and raises ``EngineDead`` when the engine cannot go on, after
    the leases were given back; the process must end then.
    """

    def __init__(self, engine: Engine, store: JobStore, *, name: str | None = None) -> None:
        self.engine, self.store, self.conf = engine, store, store.conf
        # An incarnation is one life of one process: a restarted host is a new one, so that a job
        # that failed here may come back after the restart.
        self.incarnation = uuid4().hex[:12]
        self.name = name or f"{socket.gethostname()}-{os.getpid()}"
        self.state = "starting"
        self.model = ""
        self._attempts: dict[asyncio.Task[None], Lease] = {}
        self._draining = asyncio.Event()
        self._doorbell = asyncio.Event()
        self._dying = asyncio.Event()
        self._death: EngineDead | None = None
        self._progress = (0, 0.0)  # tokens generated, and when that was last a new number
        self._beaten_tokens = 0
        self._tokens_per_s = 0.0
        self._complained = 0.0
        self._warmer = Warmer(engine, store, self.incarnation)

    def drain(self) -> None:
        """Stop claiming; finish what can be finished in ``drain_s``, give back the rest."""
        self._draining.set()
        self._doorbell.set()

    async def run(self) -> None:
        beats = asyncio.create_task(self._forever(self._beat, _BEAT_S), name="beats")
        try:
            if await self._start():
                await self._serve()
        finally:
            beats.cancel()
            await asyncio.gather(beats, return_exceptions=True)
            await self._forget()
            await self.engine.shutdown()
        if self._death is not None:
            raise self._death

    async def _start(self) -> bool:
        """Load and warm the engine; False if the host is to stop before it is ready."""
        starting = asyncio.create_task(self._load(), name="start")
        drained = asyncio.create_task(self._draining.wait())
        try:
            await asyncio.wait({starting, drained}, return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                return False
            await starting
        finally:
            for task in (starting, drained):
                task.cancel()
            await asyncio.gather(starting, drained, return_exceptions=True)
        self.state = "ready"
        await self._safely(self._beat())  # at once: somebody may wait for it
        logger.info("host %s is ready: %s, %s", self.name, self.engine.name, self.model)
        return True

    async def _load(self) -> None:
        await self.engine.start()
        self.model = fingerprint(self.engine.tokenizer.folder)
        try:
            async with asyncio.timeout(_WARM_UP_S):
                await self._warmer.first_words()
                await self._try_to_warm_prefix()
        except TimeoutError:
            raise EngineDead(f"the engine gave no token in {_WARM_UP_S:.0f} s") from None

    async def _try_to_warm_prefix(self) -> None:
        try:
            await self._warm_prefix()
        except (RedisError, OSError) as error:
            self._complain(error)  # it comes later

    async def _warm_prefix(self) -> None:
        await self._warmer.step(self.model)

    async def _serve(self) -> None:
        check_s = min(_CHECK_S, self.conf.stall_s / 4)
        loops = [
            asyncio.create_task(self._listen(), name="doorbell"),
            asyncio.create_task(self._forever(self._renew, self.conf.lease_s / 4), name="renew"),
            asyncio.create_task(self._forever(self._check, check_s), name="check"),
            asyncio.create_task(self._forever(self._warm_prefix, _WARM_S), name="prefix"),
        ]
        claims = asyncio.create_task(self._claim_until_drained(), name="claims")
        dying = asyncio.create_task(self._dying.wait())
        try:
            await asyncio.wait({claims, dying}, return_when=asyncio.FIRST_COMPLETED)
            # What a claim under way brings is known before everything is given back.
            self.drain()
            await asyncio.wait({claims}, timeout=_LAST_WORD_S)
            if claims.done():
                claims.result()
            if self._death is None:
                self.state = "draining"
                await self._finish_running()
        finally:
            claims.cancel()
            await self._give_back_all()
            for loop in (dying, *loops):
                loop.cancel()
            await asyncio.gather(claims, dying, *loops, return_exceptions=True)

    # ---- claiming ----------------------------------------------------------------------------

    async def _claim_until_drained(self) -> None:
        partitions = self.store.partitions()
        turn = int.from_bytes(os.urandom(2), "little")
        while not self._draining.is_set():
            self._doorbell.clear()
            claimed = 0
            for _ in partitions:
                turn += 1
                room = self._room()
                if room <= 0 or self._draining.is_set():
                    break
                claimed += await self._claim(partitions[turn % len(partitions)], room)
            if not claimed:
                await self._rest(self._doorbell, self.conf.poll_s)

    def _room(self) -> int:
        """Answers that may be taken on now."""
        if self._attempts and self.engine.stats().kv_cache_usage > _KV_CACHE_FULL:
            return 0
        return self.conf.max_num_seqs - len(self._attempts)

    async def _claim(self, partition: Partition, room: int) -> int:
        try:
            leases = await self.store.claim(
                partition,
                model=self.model,
                host=self.name,
                incarnation=self.incarnation,
                count=room,
            )
        except (RedisError, OSError) as error:
            self._complain(error)
            await self._rest(self._draining, 0.5)
            return 0
        for lease in leases:
            task = asyncio.create_task(self._attempt(lease), name=f"answer-{lease.job.id}")
            self._attempts[task] = lease
            task.add_done_callback(self._ended)
        return len(leases)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._attempts.pop(task, None)
        self._doorbell.set()

    async def _listen(self) -> None:
        """Ring the doorbell when a job becomes ready; the poll covers for a lost ring."""
        while True:
            try:
                async with self.store.blocking.pubsub() as pubsub:
                    await pubsub.subscribe(*(p.doorbell for p in self.store.partitions()))
                    async for _ in pubsub.listen():
                        self._doorbell.set()
            except (RedisError, OSError) as error:
                self._complain(error)
            except Exception:
                logger.exception("the doorbell broke")
            await asyncio.sleep(1)

    # ---- one answer --------------------------------------------------------------------------

    async def _attempt(self, lease: Lease) -> None:
        job_id = lease.job.id
        try:
            await run_attempt(
                self.engine,
                self.store,
                lease,
                host=self.name,
                filter_path=self.conf.text_filter,
            )
        except LeaseLost as error:
            logger.info("answer %s is not ours any more: %s", job_id, error)
        except EngineDead as error:
            self._engine_died(error)
            await self._safely(self.store.release(lease, failed=True, reason=error.code))
        except InferenceError as error:
            logger.warning("answer %s failed here: %s: %s", job_id, error.code, error)
            if error.retry:
                await self._hand_on(lease, error.code)
            else:
                await self._fail(lease, f"{error.code}: {error}")
        except RedisError as error:
            logger.warning("answer %s has no journal: %s", job_id, error)
        except Exception:
            logger.exception("answer %s broke", job_id)
            await self._hand_on(lease, "host_error")

    async def _hand_on(self, lease: Lease, reason: str) -> None:
        """Another host is to go on. Where there is none, the customer learns it now and not at the
        deadline: this process may not have the job again.
        """
        others = True
        try:
            living = await self.store.living_hosts()
            others = any(
                h.incarnation != self.incarnation
                and h.state != "draining"
                and h.model in (self.model, "")
                for h in living
            )
        except RedisError as error:
            self._complain(error)
        if others:
            await self._safely(self.store.release(lease, failed=True, reason=reason))
        else:
            await self._fail(lease, f"{reason}: no other host")

    async def _fail(self, lease: Lease, reason: str) -> None:
        reason = reason[:300]
        await self._safely(self.store.finish(lease.job.id, Outcome.FAILED, reason, lease=lease))

    async def _safely(self, call: Awaitable[object]) -> None:
        try:
            await call
        except (RedisError, InferenceError) as error:
            logger.info("a lease could not be given back, it will run out: %s", error)

    # ---- health ------------------------------------------------------------------------------

    async def _forever(self, step: Callable[[], Awaitable[None]], every_s: float) -> None:
        """Without these steps a host is dead to all others, so no error may end them."""
        while True:
            try:
                await step()
            except (RedisError, OSError) as error:
                self._complain(error)
            except Exception:
                logger.exception("%s broke, going on", step.__name__)
            await asyncio.sleep(every_s)

    def _complain(self, error: Exception) -> None:
        if time.monotonic() - self._complained > _REMIND_S:
            self._complained = time.monotonic()
            logger.warning("Redis does not answer: %s", error)

    async def _beat(self) -> None:
        stats = self.engine.stats()
        rate = (stats.tokens_generated - self._beaten_tokens) / _BEAT_S
        self._beaten_tokens = stats.tokens_generated
        self._tokens_per_s += 0.3 * (rate - self._tokens_per_s)
        await self.store.beat(
            HostState(
                host=self.name,
                incarnation=self.incarnation,
                engine=self.engine.name,
                model=self.model,
                state=self.state,
                running=len(self._attempts),
                waiting=stats.waiting,
                slots=self.conf.max_num_seqs,
                kv_cache_usage=round(stats.kv_cache_usage, 4),
                tokens_per_s=round(self._tokens_per_s, 1),
            )
        )

    async def _renew(self) -> None:
        held = list(self._attempts.items())
        results = await asyncio.gather(
            *(self.store.renew(lease) for _, lease in held), return_exceptions=True
        )
        for (task, _), kept in zip(held, results, strict=True):
            if kept is False:
                task.cancel()  # closes the engine's generator: the slot is free at once
        for error in results:
            if isinstance(error, BaseException):
                raise error

    async def _check(self) -> None:
        """Health means tokens moving: an engine that answers but does not move is dead too."""
        try:
            async with asyncio.timeout(self.conf.stall_s):
                await self.engine.check()
        except TimeoutError:
            self._engine_died(EngineDead("the engine does not answer"))
        except EngineDead as error:
            self._engine_died(error)
        stats, now = self.engine.stats(), time.monotonic()
        if not stats.running or stats.tokens_generated != self._progress[0]:
            self._progress = (stats.tokens_generated, now)
        elif now - self._progress[1] > self.conf.stall_s:
            silence = now - self._progress[1]
            self._engine_died(EngineDead(f"answers run, but no token came for {silence:.0f} s"))

    def _engine_died(self, error: EngineDead) -> None:
        if self._death is None:
            logger.error(
                "the engine is dead, giving %d answers back: %s", len(self._attempts), error
            )
            self._death = error
            self._dying.set()

    # ---- the end -----------------------------------------------------------------------------

    async def _rest(self, until: asyncio.Event, at_most_s: float) -> None:
        try:
            async with asyncio.timeout(at_most_s):
                await until.wait()
        except TimeoutError:
            pass

    async def _finish_running(self) -> None:
        if self._attempts:
            logger.info(
                "draining: %d answers may finish in %.0f s", len(self._attempts), self.conf.drain_s
            )
            dying: asyncio.Task[Any] = asyncio.create_task(self._dying.wait())
            ended: asyncio.Task[Any] = asyncio.create_task(asyncio.wait(list(self._attempts)))
            try:
                await asyncio.wait(
                    [ended, dying], timeout=self.conf.drain_s, return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                ended.cancel()
                dying.cancel()

    async def _give_back_all(self) -> None:
        died = self._death is not None
        held = dict(self._attempts)
        for task in held:
            task.cancel()
        await asyncio.gather(*held, return_exceptions=True)
        reason = "engine_dead" if died else "drained"
        releases = (
            self._safely(self.store.release(lease, failed=died, reason=reason))
            for lease in held.values()
        )
        try:
            async with asyncio.timeout(_LAST_WORD_S):
                await asyncio.gather(*releases)
        except TimeoutError:
            logger.info("Redis hangs: the leases will run out")

    async def _forget(self) -> None:
        try:
            async with asyncio.timeout(_LAST_WORD_S):
                await self.store.forget_host(self.name)
        except (RedisError, OSError) as error:  # TimeoutError is an OSError
            logger.info("Redis is away: %s", error)
