"""What a web server or a worker asks of inference: start an answer, stop it, see how it fares.

``store()`` is shared by everything that runs on one event loop; a short-lived loop (a Celery task)
opens a ``JobStore`` of its own with ``async with``.
"""

import asyncio
import weakref
from collections.abc import Sequence
from datetime import UTC, datetime

from inference.conf import conf
from inference.messages import Job, Outcome, Terminal
from inference.model_store import fingerprint, resolve
from inference.models import Generation
from inference.store import HostState, JobStore

_stores: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, JobStore]" = (
    weakref.WeakKeyDictionary()
)


def store() -> JobStore:
    """The running event loop's store; connections belong to the loop that opened them."""
    loop = asyncio.get_running_loop()
    if loop not in _stores:
        _stores[loop] = JobStore()
    return _stores[loop]


async def close_store() -> None:
    """Close the running loop's store, if it has one."""
    if found := _stores.pop(asyncio.get_running_loop(), None):
        await found.aclose()


def current_model() -> str:
    """Fingerprint of the model that jobs are for; raises ``ModelNotPrepared``."""
    return fingerprint(resolve(conf().model))


async def dispatch(job: Job, jobs: JobStore | None = None) -> bool:
    """Put a job up for the hosts; False if it was up (or over) already."""
    return await (jobs or store()).create(job)


async def stop(answer_id: str, outcome: Outcome = Outcome.STOPPED, reason: str = "") -> bool:
    """End an answer now, dispatched or not; False if it had ended before."""
    return await store().finish(answer_id, outcome, reason)


async def hosts() -> list[HostState]:
    """Living hosts of the current model or still starting."""
    model = current_model()
    return [h for h in await store().living_hosts() if h.model in (model, "")]


async def announce_prefix(ids: Sequence[int]) -> None:
    """Tell the hosts what every prompt begins with, so that they keep it warm."""
    await store().set_prefix(current_model(), ids)


def record_generation(answer_id: str, end: Terminal, *, model: str, prompt_hash: str) -> Generation:
    """Write what became of a run. Called in the transaction that writes the final text."""
    return Generation.objects.create(
        answer_id=answer_id,
        outcome=end.outcome.value,
        reason=end.reason[:300],
        finish_reason=end.finish_reason,
        model=model,
        prompt_hash=prompt_hash,
        host=end.host,
        attempts=end.attempts,
        queued_at=_time(end.created_us),
        started_at=_time(end.claimed_us),
        first_token_at=_time(end.first_token_us),
        finished_at=_time(end.finished_us),
        prompt_tokens=end.usage.prompt_tokens,
        cached_tokens=end.usage.cached_tokens,
        output_tokens=end.usage.output_tokens,
    )


def _time(microseconds: int) -> datetime | None:
    return datetime.fromtimestamp(microseconds / 1e6, UTC) if microseconds else None
