"""An answer from its job to its final row: started, followed, ended, whoever does it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from uuid import UUID

import inference.journal
from assistant import conversations, events, prompts
from assistant.db import in_db
from assistant.models import Message
from inference import dispatch
from inference.conf import conf
from inference.errors import ModelNotPrepared
from inference.journal import Piece
from inference.messages import Outcome

logger = logging.getLogger(__name__)

#: Seconds beyond the total deadline after which a follower ends an answer itself.
_GRACE_S = 2.0


async def start(answer: Message) -> None:
    """Hand an answer to the engine hosts, or end it honestly when there are none.

    Safe to call again: one answer has one job. Raises ``RedisError`` when Redis is away; the row
    stays queued then and the sweep starts it later.
    """
    if not await engine_is_there():
        await dispatch.stop(str(answer.public_id), Outcome.FAILED, "no_engine")
        return
    job = await in_db(prompts.job_for)(answer)
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
) -> AsyncIterator[Piece | Message]:
    """Yield text behind ``offset`` as it comes, then the final row.

    The first follower that sees the end writes it; an answer whose deadline has passed without
    one is ended here, so that no reader waits for ever.
    """
    job_id, store = str(answer_id), dispatch.store()
    deadline = asyncio.get_running_loop().time() + conf().total_s + _GRACE_S
    while True:
        try:
            async with asyncio.timeout_at(deadline):
                async for found in inference.journal.follow(store, job_id, offset):
                    if isinstance(found, Piece):
                        offset = found.end
                        yield found
                    else:
                        row, mine = await in_db(conversations.finalise)(answer_id, found)
                        if mine:
                            await events.messages_changed(public_id, [row])
                        yield row
                        return
        except TimeoutError:
            await store.finish(job_id, Outcome.EXPIRED, "deadline")
            deadline += _GRACE_S


async def stop(answer: Message) -> None:
    """The customer has read enough; valid from the moment the question was sent."""
    await dispatch.stop(str(answer.public_id), Outcome.STOPPED, "customer")


async def settle(answer: Message) -> None:
    """What the sweep does with an unfinished answer: start it, end it or write its end."""
    job_id = str(answer.public_id)
    transcript = await inference.journal.read(dispatch.store(), job_id)
    if transcript.end is None and not await dispatch.store().exists(job_id):
        await start(answer)
        transcript = await inference.journal.read(dispatch.store(), job_id)
    if transcript.end is not None:
        row, mine = await in_db(conversations.finalise)(answer.public_id, transcript)
        if mine:
            await events.messages_changed(answer.conversation.public_id, [row])
