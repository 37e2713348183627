"""An engine with the reference timing and no model, for load and chaos tests.

Timing of the reference GPU host: a prefill of 600 tokens takes 100 ms, scaled by the tokens that
the prefix cache does not hold; it is a latency that holds a slot and does not slow decoding. A
decode step takes 11.05 ms + 0.28 ms × running sequences. The text is a pure function of the prompt
ids, so a test can say what an answer must be, whichever hosts wrote it.
"""

import asyncio
import random
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from django.conf import settings

from inference.conf import conf
from inference.engines.base import Delta, EngineStats, Request
from inference.errors import EngineDead, RequestRejected
from inference.messages import pack_ids
from inference.model_store import resolve
from inference.tokenizer import ChatTokenizer, load_tokenizer

PREFILL_S_PER_TOKEN = 0.100 / 600
STEP_BASE_S = 0.01105
STEP_PER_SEQUENCE_S = 0.00028
#: Prompt blocks that the simulated prefix cache remembers.
_CACHED_BLOCKS = 50_000

_SENTENCES = (
    "This answer comes from the simulated engine, so please do not rely on it.",
    "The kitchen is busy tonight 🍕 and every pan is in use.",
    "A rider pedals across the bridge while the soup stays warm.",
    "Crème brûlée, smørrebrød and phở travel well in the right box.",
    "Nothing here is about your own order; it only shows how words arrive.",
    "Dumplings 🥟 are counted twice before the bag is closed.",
    "The lights turn green, the bell rings, and the door opens.",
    "Two spoons, three napkins and a little patience make a good evening.",
    "Spicy noodles 🌶️ wait next to a quiet bowl of rice.",
    "Somebody waves from the window on the second floor 👋🏽.",
)


def simulated_ids(
    prompt_ids: Sequence[int], tokenizer: ChatTokenizer, max_tokens: int
) -> list[int]:
    """The ids of the answer to a prompt: sentences in an order drawn from the prompt."""
    seed = int.from_bytes(blake2b(pack_ids(prompt_ids), digest_size=8).digest(), "little")
    draw = random.Random(seed)  # noqa: S311  (repeatable on purpose; nothing secret)
    ids: list[int] = []
    while len(ids) < max_tokens:
        ids += tokenizer.encode((" " if ids else "") + draw.choice(_SENTENCES))
    return ids[:max_tokens]


@dataclass(slots=True, eq=False)
class _Sequence:
    ids: list[int]
    at: int
    cached: int
    new: list[int] = field(default_factory=list)
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class SimulatedEngine:
    name = "simulated"

    def __init__(
        self,
        tokenizer: ChatTokenizer,
        *,
        max_model_len: int = 4096,
        answer_tokens: int = 150,
        block_size: int = 32,
        speed: float = 1.0,
    ) -> None:
        self.tokenizer = tokenizer
        self.max_model_len = max_model_len
        self._answer_tokens = answer_tokens
        self._block_size = block_size
        self._speed = speed
        self._blocks: OrderedDict[int, None] = OrderedDict()
        self._decoding: list[_Sequence] = []
        self._open = 0
        self._generated = 0
        self._work = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None

    @classmethod
    def from_settings(cls) -> "SimulatedEngine":
        return cls(
            load_tokenizer(resolve(conf().model)),
            max_model_len=settings.ENGINE_MAX_MODEL_LEN,
            answer_tokens=settings.ENGINE_SIMULATED_ANSWER_TOKENS,
            block_size=settings.ENGINE_BLOCK_SIZE,
            speed=settings.ENGINE_SIMULATED_SPEED,
        )

    async def start(self) -> None:
        self._loop = asyncio.create_task(self._steps(), name="simulated-engine")

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        await self.check()
        total = len(request.prompt_ids) + len(request.generated)
        if not request.prompt_ids or total >= self.max_model_len:
            raise RequestRejected(f"a prompt of {total} tokens; at most {self.max_model_len - 1}")
        ids = self._answer(request)
        cached = self._cache([*request.prompt_ids, *request.generated])
        sequence = _Sequence(ids=ids, at=len(request.generated), cached=cached)
        self._open += 1
        try:
            await asyncio.sleep((total - cached) * PREFILL_S_PER_TOKEN / self._speed)
            await self.check()
            self._decoding.append(sequence)
            self._work.set()
            while True:
                await sequence.wake.wait()
                sequence.wake.clear()
                new, sequence.new = tuple(sequence.new), []
                if sequence not in self._decoding and sequence.at < len(ids):
                    raise EngineDead("the simulated engine stopped")
                ended = sequence.at >= len(ids)
                reason = None
                if ended:
                    reason = "stop" if ids[-1] in self.tokenizer.eos_ids else "length"
                yield Delta(ids=new, finish_reason=reason, cached_tokens=cached)
                if ended:
                    return
        finally:
            self._open -= 1
            if sequence in self._decoding:
                self._decoding.remove(sequence)

    def _answer(self, request: Request) -> list[int]:
        room = self.max_model_len - len(request.prompt_ids)
        limit = min(request.sampling.max_tokens, room)
        ids = simulated_ids(request.prompt_ids, self.tokenizer, min(self._answer_tokens, limit))
        if len(ids) < limit:
            ids.append(min(self.tokenizer.eos_ids))
        if len(request.generated) >= len(ids):
            raise RequestRejected("nothing remains to generate")
        return ids

    async def _steps(self) -> None:
        """One token for every running sequence a step, as continuous batching does."""
        clock = asyncio.get_running_loop().time
        due = clock()
        try:
            while True:
                if not self._decoding:
                    self._work.clear()
                    await self._work.wait()
                    due = clock()
                # Steps are due at fixed times, so that a late wake-up does not slow the engine.
                step = STEP_BASE_S + STEP_PER_SEQUENCE_S * len(self._decoding)
                due = max(due + step / self._speed, clock() - 0.1)
                await asyncio.sleep(max(0.0, due - clock()))
                for sequence in list(self._decoding):
                    sequence.new.append(sequence.ids[sequence.at])
                    sequence.at += 1
                    self._generated += 1
                    if sequence.at >= len(sequence.ids):
                        self._decoding.remove(sequence)
                    sequence.wake.set()
        finally:
            for sequence in self._decoding:
                sequence.wake.set()
            self._decoding.clear()

    def _cache(self, ids: list[int]) -> int:
        """Tokens of the longest known prefix in whole blocks; the rest becomes known."""
        cached, digest, known = 0, 0, True
        # The last token is always computed: its logits choose the first new one.
        for end in range(self._block_size, len(ids), self._block_size):
            digest = hash((digest, tuple(ids[end - self._block_size : end])))
            known = known and digest in self._blocks
            if known:
                cached = end
            self._blocks[digest] = None
            self._blocks.move_to_end(digest)
        while len(self._blocks) > _CACHED_BLOCKS:
            self._blocks.popitem(last=False)
        return cached

    def stats(self) -> EngineStats:
        return EngineStats(running=self._open, tokens_generated=self._generated)

    async def check(self) -> None:
        if self._loop is None or self._loop.done():
            raise EngineDead("the simulated engine does not run")

    async def shutdown(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.cancel()
            await asyncio.gather(loop, return_exceptions=True)
