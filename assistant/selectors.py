"""Reading conversations and messages; nothing here writes. Synchronous; callers use ``in_db``."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from assistant.errors import MessageNotFound
from assistant.models import UNFINISHED, Conversation, Message
from inference.models import Generation
from orders import selectors as orders
from orders.models import Customer
from orders.selectors import OrderFacts, Picked

#: So long after a question about an order, "it" still means that order.
_FRESH = timedelta(minutes=30)
#: Changed messages that are sent at once.
_MOST_CHANGES = 300


@dataclass(frozen=True, slots=True)
class Page:
    messages: list[Message]
    more: bool = False


def messages_of(conversation_id: int) -> QuerySet[Message]:
    """A conversation's messages with the questions that they answer."""
    return Message.objects.filter(conversation_id=conversation_id).select_related("answer_to")


def newest(conversation: Conversation) -> Page:
    """The newest page of messages, in order."""
    return _page(messages_of(conversation.pk))


def older(conversation: Conversation, before: int) -> Page:
    return _page(messages_of(conversation.pk).filter(seq__lt=before))


def _page(rows: QuerySet[Message]) -> Page:
    size = settings.ASSISTANT_HISTORY_PAGE
    found = list(rows.order_by("-seq")[: size + 1])
    return Page(found[:size][::-1], more=len(found) > size)


def changes(conversation: Conversation, revision: int) -> tuple[int, list[Message]]:
    """The messages that changed after ``revision``, and the revision that the reader has then.

    At most a few hundred at once; the next call brings the rest.
    """
    seq = Conversation.objects.values_list("seq", flat=True).get(pk=conversation.pk)
    if seq <= revision:
        return seq, []
    changed = messages_of(conversation.pk).filter(revision__gt=revision).order_by("revision")
    rows = list(changed[:_MOST_CHANGES])
    reached = rows[-1].revision if len(rows) == _MOST_CHANGES else seq
    return reached, sorted(rows, key=lambda row: row.seq)


def current_order(conversation: Conversation) -> OrderFacts | None:
    """The order that a question without further words would be about; None if several may be."""
    customer = conversation.customer
    opened_on = order_in_mind(conversation, last_question(conversation))
    picked = orders.pick_order(customer, opened_on=opened_on, text="")
    return orders.order_facts(customer, picked.number) if isinstance(picked, Picked) else None


def last_question(conversation: Conversation) -> Message | None:
    asked = Message.objects.filter(conversation=conversation, author=Message.Author.CUSTOMER)
    return asked.select_related("order").order_by("-seq").first()


def order_in_mind(conversation: Conversation, last: Message | None) -> str | None:
    """The order that this chat is about until another one is named; ``last`` is its question.

    That of the last question, while the question is fresh or the order under way; else the one
    that the chat was opened on. Yesterday's order does not stand in the way of today's.
    """
    if last is not None and last.order is not None:
        fresh = timezone.now() - last.created_at < _FRESH
        if fresh or last.order.is_active:
            return last.order.number
    return conversation.order.number if conversation.order else None


def unfinished_in(conversation: Conversation) -> list[str]:
    """The ids of the conversation's answers that have not ended."""
    rows = Message.objects.filter(conversation=conversation, status__in=UNFINISHED)
    return [str(public_id) for public_id in rows.values_list("public_id", flat=True)]


def own_answer(customer: Customer, conversation: Conversation, message_id: str) -> Message:
    """An answer in this customer's conversation; raises ``MessageNotFound``."""
    try:
        return (
            messages_of(conversation.pk)
            .select_related("order")
            .get(public_id=UUID(message_id), customer=customer, answer_to__isnull=False)
        )
    except (Message.DoesNotExist, ValueError) as error:
        raise MessageNotFound from error


def pending_question(conversation: Conversation) -> Message | None:
    """The question that the assistant answered by asking which order is meant."""
    last = (
        messages_of(conversation.pk)
        .filter(author=Message.Author.ASSISTANT)
        .order_by("-seq")
        .first()
    )
    return last.answer_to if last is not None and last.choices else None


def unfinished_answers(older_than: datetime) -> list[Message]:
    """Answers that should have been dispatched, and perhaps ended, by now; oldest first."""
    rows = Message.objects.filter(status__in=UNFINISHED, created_at__lt=older_than)
    return list(rows.select_related("conversation").order_by("created_at")[:200])


def told_of(answer_id: str) -> dict[str, Any]:
    """What is known of an answer beside its words: facts, category, tokens.

    ``facts`` holds every value that the answer may use, as a reader sees it, with the texts of
    the policies and notes that the model was given.
    """
    answer = Message.objects.select_related("prompt").get(public_id=UUID(answer_id))
    facts = dict(answer.facts["values"]) if answer.facts else {}
    facts["policies"] = list(answer.prompt.policies) if answer.prompt else []
    facts["notes"] = list(answer.facts.get("notes", [])) if answer.facts else []
    run = Generation.objects.filter(answer_id=answer.public_id).first()
    return {
        "facts": facts,
        "category": answer.category or None,
        "escalation": None,
        "tokens": run.output_tokens if run else 0,
    }
