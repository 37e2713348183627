"""Tells every socket of a conversation what has changed; only a doorbell, the rows are the truth.

Events carry whole messages and the revision they belong to. A lost one costs a few seconds: the
client's heartbeat compares revisions and reads the rows.
"""

import asyncio
import logging
import time
from collections.abc import Iterable
from typing import Any

import msgspec
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

from assistant.frames import MessageView
from assistant.models import Message
from assistant.presenters import message_view

logger = logging.getLogger(__name__)

#: Seconds that publishing an event may take, and for which it is left alone after a failure.
_PATIENCE_S = 1.0
_SILENCE_S = 3.0


def conversation_group(public_id: object) -> str:
    return f"conversation.{public_id}"


def order_group(order_id: int) -> str:
    return f"order.{order_id}"


async def messages_changed(public_id: object, messages: Iterable[Message]) -> None:
    """Publish rows that were written."""
    for message in messages:
        event = {
            "type": "message.changed",
            "conversation": str(public_id),
            "view": msgspec.msgpack.encode(message_view(message)),
        }
        await _send(conversation_group(public_id), event)


async def order_changed(order_id: int) -> None:
    """Tell the open chats about an order that it is not what it was."""
    await _send(order_group(order_id), {"type": "order.changed"})


class _Silence:
    """After a failure nothing is sent for a while: nobody waits for a doorbell that is broken."""

    until = 0.0


async def _send(group: str, event: dict[str, Any]) -> None:
    if time.monotonic() < _Silence.until:
        return
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await get_channel_layer().group_send(group, event)
    except (RedisError, OSError) as error:
        _Silence.until = time.monotonic() + _SILENCE_S
        logger.info("events are not published for a while, heartbeats make up for it: %s", error)


def view_of(event: dict[str, Any]) -> MessageView:
    return msgspec.msgpack.decode(event["view"], type=MessageView)
