"""What a web server does beside answering: load the tokenizer, keep the cached answers up to
date and the hosts' prefix cache warm.

Daphne has no lifespan events, so the work starts with the first scope, which a load balancer's
probe brings soon enough.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from assistant import answer_cache, prompts
from assistant.db import in_db
from inference import dispatch

logger = logging.getLogger(__name__)

ASGIApplication = Callable[[Any, Any, Any], Awaitable[None]]

#: Longest pause, in seconds, before failed start-up work is tried again.
_PAUSE_S = 30.0
#: Seconds between two looks at the prompt in force.
_LOOK_S = 10.0


class Startup:
    """How far this process is: ``tried`` once, ``done`` when everything was there."""

    tried = False
    done = False


class WithStartup:
    """An ASGI application whose background work starts with the first scope."""

    def __init__(self, application: ASGIApplication) -> None:
        self._application = application
        self.started: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self.started is None:
            self.started = asyncio.create_task(_start(), name="startup")
        await self._application(scope, receive, send)


async def _start() -> None:
    answer_cache.start()
    pause = 1.0
    while True:
        try:
            await _keep_prefix_warm()
        except Exception as error:
            # What is missing may come; readyz says what it is, and questions find it themselves.
            logger.warning("start-up work failed, again in %.0f s: %s", pause, error)
            Startup.tried = True
            await asyncio.sleep(pause)
            pause = min(pause * 2, _PAUSE_S)


async def _keep_prefix_warm() -> None:
    """Tell the hosts what every prompt begins with, now and whenever staff have changed it."""
    announced: list[int] = []
    while True:
        ids = await in_db(prompts.prefix_ids)()
        Startup.tried = Startup.done = True
        if ids != announced:
            await dispatch.announce_prefix(ids)
            announced = ids
        await asyncio.sleep(_LOOK_S)
