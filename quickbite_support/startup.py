"""What a web server does before its first answer: load the tokenizer, touch its services.

Daphne has no lifespan events, so the work starts with the first scope, which a load balancer's
probe brings soon enough.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from assistant import prompts
from assistant.db import in_db

logger = logging.getLogger(__name__)

ASGIApplication = Callable[[Any, Any, Any], Awaitable[None]]


class WithStartup:
    """An ASGI application whose background work starts with the first scope."""

    def __init__(self, application: ASGIApplication) -> None:
        self._application = application
        self._started: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._started is None:
            self._started = asyncio.create_task(_start(), name="startup")
        await self._application(scope, receive, send)


async def _start() -> None:
    try:
        await in_db(prompts.warm_up)()
    except Exception as error:
        logger.warning("start-up work failed, the first question does it again: %s", error)
