"""An edit in one process is served by another within a second, with and without Redis's word."""

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from assistant import cached_answers
from assistant.cached_answers import Place
from assistant.models import CachedAnswer, Category
from tests.services import redis_server

ROOT = Path(__file__).resolve().parents[2]
SLUG = "rain"


class Reader:
    """What the other process serves now, line by line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._lines: queue.Queue[str] = queue.Queue()
        self._output = process.stdout
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._output or ():
            self._lines.put(line.strip())

    def next(self, timeout: float) -> str:
        return self._lines.get(timeout=timeout)

    def silent(self, seconds: float) -> bool:
        try:
            self.next(seconds)
        except queue.Empty:
            return True
        return False


def database_url() -> str:
    """Of the test database that this process is connected to."""
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{values['NAME']}"
    where = f"{values['HOST'] or '127.0.0.1'}:{values['PORT'] or 5432}"
    return f"postgres://{values['USER']}:{values['PASSWORD']}@{where}/{values['NAME']}"


@contextmanager
def reader(**environment: str) -> Iterator[Reader]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.assistant.answer_reader", SLUG],
        cwd=ROOT,
        env={
            **os.environ,
            "DATABASE_URL": database_url(),
            "ANSWER_CACHE_CHECK_S": "0.5",
            **environment,
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Reader(process)
    finally:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


@pytest.fixture
def answer(transactional_db: Any) -> CachedAnswer:
    category, _ = Category.objects.update_or_create(
        slug=SLUG, defaults={"title": "Rain", "may_cache": True, "active": True}
    )
    row = cached_answers.create(Place(category=category), "Before.", author=None)
    cached_answers.publish(row, author=None)
    return row


def edit(answer: CachedAnswer, text: str) -> float:
    cached_answers.save(answer, text, author=None)
    cached_answers.publish(answer, author=None)
    return time.monotonic()


def test_an_edit_is_served_by_another_process_within_a_second(
    answer: CachedAnswer, clean_redis: Any
) -> None:
    """By the message alone: the version is looked at too seldom here."""
    with reader(ANSWER_CACHE_CHECK_S="60") as other:
        assert other.next(20) == "Before."
        # Loaded does not mean listening yet.
        while not clean_redis.pubsub_numsub("qb:answer-cache")[0][1]:
            time.sleep(0.02)
        for text in ("After.", "And again."):
            at = edit(answer, text)
            assert other.next(5) == text
            assert time.monotonic() - at < 1
        cached_answers.retire(answer, author=None)
        assert other.next(1) == "-"


def test_a_lost_message_costs_less_than_a_second(answer: CachedAnswer, tmp_path: Path) -> None:
    """The other process hears nothing: there is no Redis at all."""
    nowhere = f"unix://{tmp_path}/nowhere.sock"
    with reader(CACHE_REDIS_URL=nowhere) as other:
        assert other.next(20) == "Before."
        at = edit(answer, "After.")
        assert other.next(5) == "After."
        assert time.monotonic() - at < 1


def test_redis_may_come_and_go(answer: CachedAnswer, tmp_path: Path, settings: Any) -> None:
    socket = tmp_path / "r.sock"
    settings.CACHE_REDIS_URL = f"unix://{socket}"
    with reader(CACHE_REDIS_URL=settings.CACHE_REDIS_URL) as other:
        assert other.next(20) == "Before."
        for text in ("With it.", "With it again."):
            with redis_server(socket):
                edit(answer, text)
                assert other.next(1) == text
            edit(answer, f"After: {text}")
            assert other.next(1.5) == f"After: {text}"
        assert other.silent(0.3)
