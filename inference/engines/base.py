"""What a host asks of an engine; the simulated one ships beside the real one."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from inference.messages import Sampling
from inference.tokenizer import ChatTokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One answer to generate, or to go on with.

    ``generated`` are the ids that an earlier attempt has produced; ``sampling`` counts the whole
    answer, so the engine has ``max_tokens − len(generated)`` left.
    """

    id: str
    prompt_ids: tuple[int, ...]
    generated: tuple[int, ...]
    sampling: Sampling
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """New ids, the end-of-sequence token included. ``finish_reason`` is ``stop`` or ``length``."""

    ids: tuple[int, ...]
    finish_reason: str | None = None
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStats:
    running: int = 0  # requests inside the engine, whatever they wait for
    waiting: int = 0  # of them, those that its scheduler has no room for yet
    kv_cache_usage: float = 0.0  # 0…1
    tokens_generated: int = 0  # since the engine started


class Engine(Protocol):
    name: str
    tokenizer: ChatTokenizer
    max_model_len: int  # prompt and answer together

    async def start(self) -> None:
        """Load and warm the model; raises ``ModelNotPrepared`` or ``EngineDead``.

        May be cancelled: nothing it began is left then.
        """
        ...

    def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield deltas as they come, the last with a finish reason.

        Closing the generator frees the slot. Raises ``RequestRejected``, ``EngineBusy``,
        ``EngineAborted`` or ``EngineDead``.
        """
        ...

    def stats(self) -> EngineStats: ...

    async def check(self) -> None:
        """Raise ``EngineDead`` unless the engine's own loop answers; waits while it hangs."""
        ...

    async def shutdown(self) -> None:
        """Stop and free everything, children too. Safe to call twice."""
        ...
