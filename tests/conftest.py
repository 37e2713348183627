"""Fixtures that every folder uses."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from threading import Barrier

import pytest
import pytest_asyncio
import redis
from channels.layers import get_channel_layer
from django.conf import settings as django_settings
from django.db import connections
from hypothesis import HealthCheck, settings

from assistant.db import pool
from inference import dispatch
from inference.model_store import resolve
from inference.store import JobStore
from inference.tokenizer import ChatTokenizer, load_tokenizer
from tests.services import redis_server
from tests.settings import REDIS_SOCKET

# Two loaded cores say nothing about a property.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    """The pool's threads let go of their connections before the test database is dropped."""
    yield
    together = Barrier(django_settings.DB_POOL_THREADS)

    def close() -> None:
        together.wait(10)  # each thread has one call, so every thread is reached
        connections.close_all()

    for call in [pool().submit(close) for _ in range(django_settings.DB_POOL_THREADS)]:
        call.result()


@pytest.fixture(scope="session")
def redis_socket() -> Iterator[Path]:
    with redis_server(REDIS_SOCKET):
        yield REDIS_SOCKET


@pytest.fixture
def clean_redis(redis_socket: Path) -> Iterator[redis.Redis]:
    with redis.Redis(unix_socket_path=str(redis_socket)) as client:
        client.flushall()
        yield client


@pytest_asyncio.fixture
async def store(clean_redis: redis.Redis) -> AsyncIterator[JobStore]:
    """The running loop's own store on an empty Redis."""
    yield dispatch.store()
    await dispatch.close_store()
    # The channel layer's connections belong to this test's event loop too.
    await get_channel_layer().flush()


@pytest.fixture(scope="session")
def tokenizer() -> ChatTokenizer:
    return load_tokenizer(resolve("simulated"))
