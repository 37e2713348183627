"""Keeps an engine warm: lazy start-up paid for, and the prefix of every prompt in its cache.

Web servers say what every prompt begins with (``dispatch.announce_prefix``); a host prefills it
before it is ready and again when it has changed, so that no customer waits for it.
"""

import logging

from inference.engines.base import Engine, Request
from inference.messages import Sampling, unpack_ids
from inference.store import JobStore

logger = logging.getLogger(__name__)

#: After everything that a customer waits for.
_LAST = 1_000_000


class Warmer:
    """One for each host; ``step`` may be called again and again and seldom has work."""

    def __init__(self, engine: Engine, store: JobStore, incarnation: str) -> None:
        self._engine, self._store, self._incarnation = engine, store, incarnation
        self._warmed = b""

    async def first_words(self) -> None:
        """Run one short prompt: the first customer does not pay for lazy start-up."""
        await self._run("hello", self._hello(), tokens=4)

    def _hello(self) -> tuple[int, ...]:
        return tuple(self._engine.tokenizer.encode("Hello, is anybody there?"))

    async def step(self, model: str) -> bool:
        """Prefill the announced prefix if it is new; did it?

        Raises ``RedisError`` and the engine's errors.
        """
        announced = await self._store.prefix(model)
        if not announced or announced == self._warmed:
            return False
        ids = unpack_ids(announced)
        await self._run("prefix", ids)
        self._warmed = announced
        logger.info("the prefix of every prompt is in the cache: %d tokens", len(ids))
        return True

    async def _run(self, what: str, ids: tuple[int, ...], *, tokens: int = 1) -> None:
        request = Request(
            id=f"warm-{what}-{self._incarnation}",
            prompt_ids=ids,
            generated=(),
            sampling=Sampling(max_tokens=tokens),
            priority=_LAST,
        )
        async for _ in self._engine.generate(request):
            pass
