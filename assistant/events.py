"""Tells every socket of a conversation what has changed; only a doorbell, the rows are the truth.

Events carry whole messages and the revision they belong to. A lost one costs a few seconds: the
client's heartbeat compares revisions and reads the rows.
"""

import logging
from collections.abc import Iterable
from typing import Any

import msgspec
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

from assistant.frames import MessageView
from assistant.models import Message
from assistant.presenters import message_view

logger = logging.getLogger(__name__)


def conversation_group(public_id: object) -> str:
    return f"conversation.{public_id}"


def order_group(order_id: int) -> str:
    return f"order.{order_id}"


async def messages_changed(public_id: object, messages: Iterable[Message]) -> None:
    """Publish rows that were written."""
    for message in messages:
        view = msgspec.msgpack.encode(message_view(message))
        await _send(conversation_group(public_id), {"type": "message.changed", "view": view})


async def order_changed(order_id: int) -> None:
    """Tell the open chats about an order that it is not what it was."""
    await _send(order_group(order_id), {"type": "order.changed"})


async def _send(group: str, event: dict[str, Any]) -> None:
    try:
        await get_channel_layer().group_send(group, event)
    except (RedisError, OSError) as error:
        # By design harmless, and frequent while Redis is away.
        logger.debug("an event could not be published, heartbeats make up for it: %s", error)


def view_of(event: dict[str, Any]) -> MessageView:
    return msgspec.msgpack.decode(event["view"], type=MessageView)
