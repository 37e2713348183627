"""What Celery does for the assistant. A task fetches and calls one function."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from datetime import timedelta
from functools import wraps
from typing import Any

from celery import shared_task
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from redis.exceptions import RedisError

from assistant import answers
from assistant.db import in_db
from assistant.models import PeriodicRun
from assistant.selectors import unfinished_answers
from inference import dispatch

logger = logging.getLogger(__name__)

#: Seconds that a queued row is left to the web server that wrote it.
_UNTOUCHED_S = 1.5
_RUNS_KEPT = timedelta(hours=1)


def once_a_slot(every_s: float) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Run a periodic task once a slot of ``every_s`` seconds, however many beats send it."""

    def decorate(task: Callable[[], Any]) -> Callable[[], Any]:
        @wraps(task)
        def run() -> Any:
            slot = int(time.time() / every_s)
            try:
                with transaction.atomic():
                    PeriodicRun.objects.create(task=task.__name__, slot=slot)
            except IntegrityError:
                return None
            return task()

        return run

    return decorate


@shared_task(name="assistant.sweep_answers")
@once_a_slot(settings.ASSISTANT_SWEEP_S)
def sweep_answers() -> int:
    """Dispatch answers without a job and write ends that nobody read; how many were looked at."""
    return asyncio.run(_alone(sweep()))


async def _alone(work: Coroutine[Any, Any, int]) -> int:
    """Run something on an event loop of its own, and close what it opened there."""
    try:
        return await work
    finally:
        await dispatch.close_store()
        await get_channel_layer().flush()


async def sweep() -> int:
    try:
        await dispatch.store().reap()
        older_than = timezone.now() - timedelta(seconds=_UNTOUCHED_S)
        found = await in_db(unfinished_answers)(older_than)
        for answer in found:
            try:
                await answers.settle(answer)
            except (RedisError, OSError):
                raise
            except Exception:
                # One bad answer must not keep the others waiting.
                logger.exception("answer %s could not be settled", answer.public_id)
        return len(found)
    except (RedisError, OSError) as error:
        logger.warning("the sweep waits for Redis: %s", error)
        return 0


@shared_task(name="assistant.forget_runs")
@once_a_slot(600)
def forget_runs() -> int:
    """Old claims of periodic runs say nothing any more."""
    return PeriodicRun.objects.filter(claimed_at__lt=timezone.now() - _RUNS_KEPT).delete()[0]
