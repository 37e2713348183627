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
from uuid import uuid4

from redis.exceptions import RedisError

from inference.attempt import run_attempt
from inference.engines.base import Engine, Request
from inference.errors import EngineDead, InferenceError, LeaseLost
from inference.messages import Lease, Outcome, Sampling
from inference.model_store import fingerprint
from inference.store import HostState, JobStore, Partition

logger = logging.getLogger(__name__)

_BEAT_S = 0.5
_CHECK_S = 1.0


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
        self._attempts: dict[str, tuple[Lease, asyncio.Task[None]]] = {}
        self._draining = asyncio.Event()
        self._doorbell = asyncio.Event()
        self._dying = asyncio.Event()
        self._death: EngineDead | None = None
        self._last_progress = time.monotonic()
        self._last_tokens = 0
        self._tokens_per_s = 0.0

    def drain(self) -> None:
        """Stop claiming; finish what can be finished in ``drain_s``, give back the rest."""
        self._draining.set()
        self._doorbell.set()

    async def run(self) -> None:
        beats = asyncio.create_task(self._forever(self._beat, _BEAT_S))
        try:
            await self.engine.start()
            self.model = fingerprint(self.engine.tokenizer.folder)
            await self._warm_up()
            self.state = "ready"
            logger.info("host %s is ready: %s, %s", self.name, self.engine.name, self.model)
            await self._serve()
        finally:
            beats.cancel()
            await asyncio.gather(beats, return_exceptions=True)
            await self._forget()
            await self.engine.shutdown()
        if self._death is not None:
            raise self._death

    async def _serve(self) -> None:
        loops = [
            asyncio.create_task(self._listen()),
            asyncio.create_task(self._forever(self._renew, self.conf.lease_s / 4)),
            asyncio.create_task(self._forever(self._check, _CHECK_S)),
        ]
        claims = asyncio.create_task(self._claim_until_drained())
        dying = asyncio.create_task(self._dying.wait())
        try:
            await asyncio.wait([claims, dying], return_when=asyncio.FIRST_COMPLETED)
            if self._death is None:
                await claims
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
                free = self.conf.max_num_seqs - len(self._attempts)
                if free <= 0 or self._draining.is_set():
                    break
                claimed += await self._claim(partitions[turn % len(partitions)], free)
            if not claimed:
                try:
                    async with asyncio.timeout(self.conf.poll_s):
                        await self._doorbell.wait()
                except TimeoutError:
                    pass

    async def _claim(self, partition: Partition, free: int) -> int:
        try:
            leases = await self.store.claim(
                partition,
                model=self.model,
                host=self.name,
                incarnation=self.incarnation,
                count=free,
            )
        except RedisError as error:
            logger.warning("Redis does not answer, claiming later: %s", error)
            await asyncio.sleep(1)
            return 0
        if leases and not self._attempts:
            self._last_progress = time.monotonic()
        for lease in leases:
            task = asyncio.create_task(self._attempt(lease), name=f"answer-{lease.job.id}")
            self._attempts[lease.job.id] = (lease, task)
        return len(leases)

    async def _listen(self) -> None:
        """Ring the doorbell when a job becomes ready; the poll covers for a lost ring."""
        while True:
            try:
                async with self.store.blocking.pubsub() as pubsub:
                    await pubsub.subscribe(*(p.doorbell for p in self.store.partitions()))
                    async for _ in pubsub.listen():
                        self._doorbell.set()
            except (RedisError, OSError) as error:
                logger.warning("the doorbell is cut off: %s", error)
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
            await self._safely(self.store.release(lease, failed=True, reason=error.code))
            self._engine_died(error)
        except InferenceError as error:
            logger.warning("answer %s failed here: %s: %s", job_id, error.code, error)
            if error.retry:
                await self._safely(self.store.release(lease, failed=True, reason=error.code))
            else:
                reason = f"{error.code}: {error}"
                await self._safely(self.store.finish(job_id, Outcome.FAILED, reason, lease=lease))
        except RedisError as error:
            # Its lease runs out and another host goes on, or the journal takes it up again.
            logger.warning("answer %s lost its journal: %s", job_id, error)
        except Exception:
            logger.exception("answer %s broke", job_id)
            await self._safely(self.store.release(lease, failed=True, reason="host_error"))
        finally:
            self._attempts.pop(job_id, None)
            self._doorbell.set()

    async def _safely(self, call: Awaitable[object]) -> None:
        try:
            await call
        except (RedisError, InferenceError) as error:
            logger.info("a lease could not be given back, it will run out: %s", error)

    # ---- health ------------------------------------------------------------------------------

    async def _forever(self, step: Callable[[], Awaitable[None]], every_s: float) -> None:
        while True:
            try:
                await step()
            except RedisError as error:
                logger.warning("Redis does not answer: %s", error)
            await asyncio.sleep(every_s)

    async def _beat(self) -> None:
        stats = self.engine.stats()
        self._tokens_per_s += 0.3 * (
            (stats.tokens_generated - self._last_tokens) / _BEAT_S - self._tokens_per_s
        )
        if stats.tokens_generated != self._last_tokens:
            self._last_tokens, self._last_progress = stats.tokens_generated, time.monotonic()
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
        held = list(self._attempts.values())
        kept = await asyncio.gather(*(self.store.renew(lease) for lease, _ in held))
        for (_, task), still_ours in zip(held, kept, strict=True):
            if not still_ours:
                task.cancel()  # closes the engine's generator: the slot is free at once

    async def _check(self) -> None:
        """Health means tokens moving: an engine that answers but does not move is dead too."""
        try:
            async with asyncio.timeout(self.conf.stall_s):
                await self.engine.check()
        except TimeoutError:
            self._engine_died(EngineDead("the engine does not answer"))
        except EngineDead as error:
            self._engine_died(error)
        silence = time.monotonic() - self._last_progress
        if self._attempts and silence > self.conf.stall_s:
            self._engine_died(EngineDead(f"answers run, but no token came for {silence:.0f} s"))

    def _engine_died(self, error: EngineDead) -> None:
        if self._death is None:
            logger.error(
                "the engine is dead, giving %d answers back: %s", len(self._attempts), error
            )
            self._death = error
            self._dying.set()

    # ---- the end -----------------------------------------------------------------------------

    async def _finish_running(self) -> None:
        tasks = [task for _, task in self._attempts.values()]
        if tasks:
            logger.info("draining: %d answers may finish in %.0f s", len(tasks), self.conf.drain_s)
            await asyncio.wait(tasks, timeout=self.conf.drain_s)

    async def _give_back_all(self) -> None:
        died = self._death is not None
        held = list(self._attempts.values())
        for _, task in held:
            task.cancel()
        await asyncio.gather(*(task for _, task in held), return_exceptions=True)
        for lease, _ in held:
            reason = "engine_dead" if died else "drained"
            await self._safely(self.store.release(lease, failed=died, reason=reason))

    async def _forget(self) -> None:
        try:
            await self.store.forget_host(self.name)
        except RedisError as error:
            logger.info("Redis is away: %s", error)

    async def _warm_up(self) -> None:
        """Run one short prompt: the first customer does not pay for lazy start-up."""
        prompt = tuple(self.engine.tokenizer.encode("Hello, is anybody there?"))
        request = Request(
            id=f"warm-up-{self.incarnation}",
            prompt_ids=prompt,
            generated=(),
            sampling=Sampling(max_tokens=4),
        )
        async for _ in self.engine.generate(request):
            pass
