"""The admin's first page: how the last day went and what runs now.

Counts come from the database, the hosts from Redis; what is missing is said and breaks nothing.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db.models import Count
from django.http import HttpRequest
from django.utils import timezone

from assistant.models import UNFINISHED, Message
from inference.errors import InferenceError
from inference.models import Generation
from inference.store import HostState, JobStore

WINDOW = timedelta(hours=24)
#: Percentiles are of the newest runs only, so that a busy day costs no more than a quiet one.
RUNS_LOOKED_AT = 10_000
_PATIENCE_S = 1.5


def environment(request: HttpRequest) -> list[str] | None:
    """The label beside the admin's title while no real model answers."""
    return ["Simulated engine", "warning"] if settings.ENGINE == "simulated" else None


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """What this person may see of the numbers, added to the index page's context."""
    since = timezone.now() - WINDOW
    if request.user.has_perm("assistant.view_message"):
        context["answers"] = answers_since(since)
    if request.user.has_perm("inference.view_generation"):
        context["first_token"] = first_token_since(since)
        context["engine"] = engine_now()
    return context


@dataclass(frozen=True, slots=True)
class Share:
    """One row of a breakdown; `percent` of all of them."""

    label: str
    count: int
    percent: int
    value: str


@dataclass(frozen=True, slots=True)
class Answers:
    questions: int
    answers: int
    by_source: tuple[Share, ...]
    by_status: tuple[Share, ...]
    unfinished: int
    #: Seconds since the oldest unfinished answer's question came; None without one.
    oldest_s: int | None


def answers_since(since: datetime) -> Answers:
    """Three queries."""
    counted = list(
        Message.objects.filter(created_at__gte=since)
        .order_by()
        .values_list("author", "source", "status")
        .annotate(n=Count("pk"))
    )
    replies = [row for row in counted if row[0] == Message.Author.ASSISTANT]
    unfinished = Message.objects.filter(status__in=UNFINISHED).order_by("created_at")
    oldest = unfinished.values_list("created_at", flat=True).first()
    return Answers(
        questions=sum(n for author, _, _, n in counted if author == Message.Author.CUSTOMER),
        answers=sum(n for _, _, _, n in replies),
        by_source=_shares(Message.Source, [(source, n) for _, source, _, n in replies]),
        by_status=_shares(Message.Status, [(status, n) for _, _, status, n in replies]),
        unfinished=unfinished.count(),
        oldest_s=int((timezone.now() - oldest).total_seconds()) if oldest else None,
    )


def _shares(kinds: Any, rows: Sequence[tuple[str, int]]) -> tuple[Share, ...]:
    total = sum(n for _, n in rows)
    counts = {kind: sum(n for value, n in rows if value == kind.value) for kind in kinds}
    return tuple(
        Share(str(kind.label), n, round(100 * n / total), kind.value)
        for kind, n in sorted(counts.items(), key=lambda pair: -pair[1])
        if n
    )


@dataclass(frozen=True, slots=True)
class FirstToken:
    """Milliseconds from a job's arrival in Redis to its first shown text."""

    runs: int
    p50: float
    p99: float
    capped: bool


def first_token_since(since: datetime) -> FirstToken | None:
    """Of the newest runs; None when there was none. One query."""
    times = (
        Generation.objects.filter(finished_at__gte=since, first_token_at__isnull=False)
        .exclude(queued_at=None)
        .order_by("-finished_at")
        .values_list("queued_at", "first_token_at")[:RUNS_LOOKED_AT]
    )
    took = sorted(
        (first - queued).total_seconds() * 1000 for queued, first in times if queued and first
    )
    if not took:
        return None
    return FirstToken(
        len(took), percentile(took, 50), percentile(took, 99), len(took) == RUNS_LOOKED_AT
    )


def percentile(ascending: Sequence[float], percent: int) -> float:
    """The nearest rank: the smallest value that at least so many percent do not exceed."""
    rank = -(-len(ascending) * percent // 100)
    return ascending[max(rank, 1) - 1]


@dataclass(frozen=True, slots=True)
class Engine:
    hosts: tuple[HostState, ...] = ()
    waiting: int = 0
    problem: str = ""

    @property
    def ready(self) -> int:
        return sum(host.state == "ready" for host in self.hosts)


def engine_now() -> Engine:
    """Living hosts and the jobs that wait for one."""
    try:
        return async_to_sync(_engine)()
    except TimeoutError:
        return Engine(problem="Redis does not answer, so the hosts are not known.")
    except InferenceError as error:
        return Engine(problem=str(error))
    except Exception as error:
        # Only its kind: an address or a password may stand in its text.
        return Engine(problem=f"Redis cannot be asked ({type(error).__name__}).")


async def _engine() -> Engine:
    async with asyncio.timeout(_PATIENCE_S), JobStore() as jobs:
        hosts = sorted(await jobs.living_hosts(), key=lambda host: host.host)
        waiting = [await jobs.queue_length(model) for model in {h.model for h in hosts if h.model}]
        return Engine(hosts=tuple(hosts), waiting=sum(waiting))
