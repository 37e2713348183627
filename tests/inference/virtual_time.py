"""An event loop whose clock jumps to the next timer: hours pass in milliseconds, exactly."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    _now = 0.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self._now = max(self._now, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def in_virtual_time(work: Callable[[], Awaitable[T]]) -> T:
    """Run a coroutine function to its end; it may use no sockets, threads or processes."""

    async def main() -> Any:
        return await work()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main())
