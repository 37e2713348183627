"""Rows as the wire shows them."""

from collections.abc import Iterable

from assistant.frames import Choice, MessageView, OrderView
from assistant.models import Message
from orders.selectors import OrderFacts

#: What a reader is told below an answer that did not end well.
NOTES = {
    "stopped": "You stopped this answer.",
    "claimed": "A colleague has taken over.",
    "no_engine": "The assistant cannot answer right now. You can try again in a moment.",
    "expired": "This answer took too long. Please try again.",
    "empty": "The assistant had nothing to say. Please ask in other words.",
    "failed": "Something went wrong with this answer. Please try again.",
}


def message_view(message: Message) -> MessageView:
    """One message; needs ``answer_to`` loaded (``select_related``) or absent."""
    answer = message.author == Message.Author.ASSISTANT
    failed = message.status in (Message.Status.FAILED, Message.Status.STOPPED)
    return MessageView(
        id=str(message.public_id),
        seq=message.seq,
        revision=message.revision,
        author=message.author,
        source=message.source,
        status=message.status,
        text=message.text,
        end=len(message.text),
        created=message.created_at.isoformat(),
        client_id=message.client_id or None,
        answer_to=str(message.answer_to.public_id) if message.answer_to else None,
        error=message.error or None,
        note=NOTES.get(message.error, NOTES["failed"]) if failed and message.error else None,
        can_retry=answer and failed,
        offered=message.offered,
        choices=tuple(Choice(order=c["order"], label=c["label"]) for c in message.choices),
    )


def message_views(messages: Iterable[Message]) -> tuple[MessageView, ...]:
    return tuple(message_view(message) for message in messages)


def order_view(facts: OrderFacts) -> OrderView:
    return OrderView(
        number=facts.number,
        restaurant=facts.restaurant,
        status=facts.status,
        status_text=facts.status_text,
    )
