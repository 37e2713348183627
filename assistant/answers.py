"""An answer from its job to its final row: started, followed, ended, whoever does it."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from uuid import UUID

from django.db import InterfaceError, OperationalError
from django.utils import timezone
from redis.exceptions import RedisError

import inference.journal
from assistant import conversations, events, prompts
from assistant.db import in_db
from assistant.models import Message
from inference import dispatch
from inference.conf import conf
from inference.errors import ModelNotPrepared
from inference.journal import Piece, Transcript
from inference.messages import Outcome

logger = logging.getLogger(__name__)

#: Seconds beyond the total deadline after which a follower ends an answer itself.
_GRACE_S = 2.0


async def start(answer: Message) -> None:
    """Hand an answer to the engine hosts, or end it honestly when that cannot be.

    Safe to call again: one answer has one job. Raises ``RedisError``, ``OSError`` or
    ``OperationalError`` when Redis or the database is away; the row stays queued then, and the
    sweep starts it later.
    """
    answer_id = str(answer.public_id)
    if not await engine_is_there():
        await dispatch.stop(answer_id, Outcome.FAILED, "no_engine")
        return
    try:
        job = await in_db(prompts.job_for)(answer)
    except (RedisError, OSError, OperationalError, InterfaceError):
        raise
    except Exception:
        # It will not be better the next time, and an answer that never ends blocks its customer.
        logger.exception("the prompt of answer %s cannot be built", answer_id)
        await dispatch.stop(answer_id, Outcome.FAILED, "unbuildable")
        return
    await dispatch.dispatch(job)


async def engine_is_there() -> bool:
    """Is any host alive that serves the current model, or on its way to?"""
    try:
        return bool(await dispatch.hosts())
    except ModelNotPrepared as error:
        logger.error("no model: %s", error)
        return False


async def follow(
    answer_id: UUID, public_id: UUID, offset: int = 0
) -> AsyncGenerator[Piece | Message, None]:
    """Yield text behind ``offset`` as it comes, then the final row.

    The first follower that sees the end writes it; an answer whose deadline has passed without
    one is ended here, so that no reader waits for ever.
    """
    job_id, store = str(answer_id), dispatch.store()
    deadline = asyncio.get_running_loop().time() + conf().total_s + _GRACE_S
    while True:
        try:
            async with aclosing(inference.journal.follow(store, job_id, offset)) as journal:
                while True:
                    async with asyncio.timeout_at(deadline):
                        found = await anext(journal)
                    if isinstance(found, Piece):
                        offset = found.end
                        yield found
                    else:
                        yield await _finalise(answer_id, public_id, found)
                        return
        except TimeoutError:
            await store.finish(job_id, Outcome.EXPIRED, "deadline")
            deadline += _GRACE_S


async def _finalise(answer_id: UUID, public_id: UUID, transcript: Transcript) -> Message:
    row, mine = await in_db(conversations.finalise)(answer_id, transcript)
    if mine:
        await events.messages_changed(public_id, [row])
    return row


async def stop(answer: Message) -> None:
    """The customer has read enough; valid from the moment the question was sent."""
    await dispatch.stop(str(answer.public_id), Outcome.STOPPED, "customer")


async def settle(answer: Message) -> None:
    """What the sweep does with an unfinished answer: start it, end it or write its end."""
    job_id, store = str(answer.public_id), dispatch.store()
    transcript = await inference.journal.read(store, job_id)
    if transcript.end is None and not await store.exists(job_id):
        if (timezone.now() - answer.created_at).total_seconds() > conf().total_s:
            # Whoever asked has long been told that nobody answers; nothing is written now.
            await store.finish(job_id, Outcome.EXPIRED, "deadline")
        else:
            await start(answer)
        transcript = await inference.journal.read(store, job_id)
    if transcript.end is not None:
        await _finalise(answer.public_id, answer.conversation.public_id, transcript)
