"""Queries off the event loop, in a bounded pool.

Channels' default runs every consumer's query of a process in one thread, so that one slow query
stalls every chat. Here each runs in one of ``DB_POOL_THREADS`` threads, with a connection of the
process's pool and the database's time-outs.
"""

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast

from channels.db import database_sync_to_async
from django.conf import settings

P = ParamSpec("P")
T = TypeVar("T")


@lru_cache(maxsize=1)
def pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(settings.DB_POOL_THREADS, thread_name_prefix="database")


def in_db(function: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """The async twin of a synchronous function that uses the database."""
    twin = database_sync_to_async(function, thread_sensitive=False, executor=pool())
    return cast(Callable[P, Awaitable[T]], twin)
