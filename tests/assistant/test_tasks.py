"""Periodic work: once a slot, however many beats."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from assistant.models import PeriodicRun
from assistant.tasks import forget_runs, once_a_slot, sweep_answers

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_two_beats_one_does_the_work() -> None:
    runs: list[int] = []

    @once_a_slot(3600)
    def work() -> None:
        runs.append(1)

    def call(_: int) -> None:
        try:
            work()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(call, range(8)))
    assert runs == [1]
    assert PeriodicRun.objects.get().task == "work"


def test_the_next_slot_works_again(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []

    @once_a_slot(10)
    def work() -> None:
        runs.append(1)

    for now in (1000.0, 1009.9, 1010.0, 1010.1):
        monkeypatch.setattr("assistant.tasks.time.time", lambda now=now: now)
        work()
    assert runs == [1, 1]


def test_old_claims_are_forgotten() -> None:
    PeriodicRun.objects.create(task="old", slot=1)
    PeriodicRun.objects.update(claimed_at=timezone.now() - timedelta(hours=2))
    PeriodicRun.objects.create(task="new", slot=2)
    forget_runs()
    assert set(PeriodicRun.objects.values_list("task", flat=True)) == {"new", "forget_runs"}


def test_the_sweep_waits_for_redis_instead_of_failing(
    settings: Any, clean_redis: Any, caplog: pytest.LogCaptureFixture
) -> None:
    there = settings.INFERENCE_REDIS_URL
    settings.INFERENCE_REDIS_URL = "redis://127.0.0.1:1"
    assert sweep_answers() == 0
    assert "the sweep waits for Redis" in caplog.text
    # With Redis back the next slot's sweep has nothing to wait for.
    caplog.clear()
    settings.INFERENCE_REDIS_URL = there
    PeriodicRun.objects.all().delete()
    assert sweep_answers() == 0
    assert caplog.text == ""
