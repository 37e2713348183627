"""The one module that writes conversations and messages. Synchronous; callers use ``in_db``.

Every change begins by raising the conversation's ``seq``, on the condition that its ``epoch`` is
still the one that the writer has seen: zero rows means that somebody else holds it now.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from assistant import prompts
from assistant.errors import (
    AnswerInProgress,
    ConversationMoved,
    ConversationNotFound,
    NothingToRetry,
    OrderNotFound,
)
from assistant.models import UNFINISHED, Conversation, Message
from assistant.replies import Reply
from assistant.selectors import (
    last_question,
    messages_of,
    order_in_mind,
    own_answer,
    pending_question,
)
from inference.dispatch import record_generation
from inference.journal import Transcript
from inference.messages import Outcome
from orders import selectors as orders
from orders.errors import OrderError
from orders.models import Customer, Order
from orders.selectors import Ambiguous, OrderBrief, OrderFacts

#: Holders whose chats the assistant answers; a closed one opens with the next question.
_ASSISTANTS = (Conversation.Holder.ASSISTANT, Conversation.Holder.CLOSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a customer sends, already cleaned. ``order`` is one they named by a choice."""

    customer: Customer
    conversation: UUID
    client_id: str
    text: str
    order: str | None = None
    #: The customer says which order the question before was about: that question is answered.
    choosing: bool = False
    no_cache: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A question and where its answer will be; ``repeated`` if both were there before."""

    question: Message
    answer: Message | None
    repeated: bool = False

    @property
    def messages(self) -> list[Message]:
        return [self.question, *([self.answer] if self.answer else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known before a question is answered.

    ``known`` is the turn that the same question began before; ``held`` says that a person holds
    the chat; ``which`` are the orders that may be meant; ``before`` is the last question.
    """

    conversation: Conversation
    known: Turn | None = None
    held: bool = False
    nobodys_order: bool = False
    which: tuple[OrderBrief, ...] = ()
    facts: OrderFacts | None = None
    before: str = ""


def open_conversation(
    customer: Customer, *, conversation: str | None, order: str | None, new: bool = False
) -> Conversation:
    """The conversation asked for, the newest about this order, or the newest of all.

    Raises ``ConversationNotFound`` or ``OrderNotFound``, for other people's too.
    """
    mine = Conversation.objects.filter(customer=customer).select_related("order")
    if conversation:
        try:
            return mine.get(public_id=UUID(conversation))
        except (Conversation.DoesNotExist, ValueError) as error:
            raise ConversationNotFound from error
    row = _own_order(customer, order) if order else None
    found = None if new else mine.filter(order=row).first()
    return found or Conversation.objects.create(customer=customer, order=row)


def _own_order(customer: Customer, number: str) -> Order:
    row = Order.objects.for_customer(customer).filter(number=orders.normal_number(number)).first()
    if row is None:
        raise OrderNotFound
    return row


# ---- a turn ------------------------------------------------------------------------------------


def look(question: Question) -> Seen:
    """What there is to know before a question is answered, read once so that it fits together.

    Raises ``ConversationNotFound``, or ``OrderNotFound`` for an order named by a choice.
    """
    conversation = (
        Conversation.objects.filter(customer=question.customer, public_id=question.conversation)
        .select_related("order")
        .first()
    )
    if conversation is None:
        raise ConversationNotFound
    known = _known(conversation, question.client_id)
    if known or conversation.holder not in _ASSISTANTS:
        return Seen(conversation=conversation, known=known, held=known is None)
    return _look_at_orders(question, conversation)


def _look_at_orders(question: Question, conversation: Conversation) -> Seen:
    last = last_question(conversation)
    before = last.text if last else ""
    opened_on = question.order or order_in_mind(conversation, last)
    try:
        picked = orders.pick_order(question.customer, opened_on=opened_on, text=question.text)
    except OrderError:
        if question.order:
            raise OrderNotFound from None
        return Seen(conversation=conversation, before=before, nobodys_order=True)
    if isinstance(picked, Ambiguous):
        return Seen(conversation=conversation, before=before, which=picked.orders)
    facts = orders.order_facts(question.customer, picked.number) if picked else None
    return Seen(conversation=conversation, before=before, facts=facts)


def keep(question: Question, seen: Seen, reply: Reply | None) -> Turn:
    """Keep a question and the row of its answer, in one transaction.

    Without a reply a person answers. Raises ``AnswerInProgress`` or ``ConversationMoved``.
    """
    try:
        return _write_turn(question, seen, reply)
    except IntegrityError:
        # Two at once: the same question from another socket, or another question.
        if known := _known(seen.conversation, question.client_id):
            return known
        _refuse_second_answer(question.customer)
        raise


def _known(conversation: Conversation, client_id: str) -> Turn | None:
    question = messages_of(conversation.pk).filter(client_id=client_id).first()
    if question is None:
        return None
    # The two are written together; what stands behind a question that an agent held is not its own.
    answers = messages_of(conversation.pk).filter(author=Message.Author.ASSISTANT)
    answer = answers.filter(seq=question.seq + 1).first()
    return Turn(question=question, answer=answer, repeated=True)


def _refuse_second_answer(customer: Customer) -> None:
    """Raise ``AnswerInProgress`` if that is what the database refused."""
    if Message.objects.filter(customer=customer, status__in=UNFINISHED).exists():
        raise AnswerInProgress from None


@transaction.atomic
def _write_turn(question: Question, seen: Seen, reply: Reply | None) -> Turn:
    conversation, rows = seen.conversation, 1 if reply is None else 2
    seq, epoch = _raise_seq(conversation, rows)
    asked = Message.objects.create(
        conversation=conversation,
        customer=question.customer,
        order_id=seen.facts.order_id if seen.facts else None,
        seq=seq - rows + 1,
        revision=seq - rows + 1,
        epoch=epoch,
        author=Message.Author.CUSTOMER,
        source=Message.Source.CUSTOMER,
        text=question.text,
        client_id=question.client_id,
        no_cache=question.no_cache,
    )
    if reply is None:
        return Turn(question=asked, answer=None)
    meant = pending_question(conversation) if question.choosing else None
    return Turn(question=asked, answer=_write_answer(meant or asked, seen, reply, seq, epoch))


def _write_answer(question: Message, seen: Seen, reply: Reply, seq: int, epoch: int) -> Message:
    complete = reply.status == Message.Status.COMPLETE
    return Message.objects.create(
        public_id=uuid4(),
        conversation_id=question.conversation_id,
        customer_id=question.customer_id,
        order_id=seen.facts.order_id if seen.facts else None,
        answer_to=question,
        seq=seq,
        revision=seq,
        epoch=epoch,
        author=Message.Author.ASSISTANT,
        source=reply.source,
        status=reply.status,
        text=reply.text,
        choices=[{"order": o.number, "label": o.label} for o in reply.choices],
        category=reply.category,
        offered=reply.offered,
        facts=prompts.snapshot(seen.facts) if seen.facts else None,
        prompt=reply.version,
        no_cache=question.no_cache,
        finished_at=timezone.now() if complete else None,
    )


def _raise_seq(conversation: Conversation, by: int) -> tuple[int, int]:
    """Count ``by`` changes; the seq and epoch then. Raises ``ConversationMoved``.

    A closed conversation opens again, which is a change of hands.
    """
    rows = Conversation.objects.filter(pk=conversation.pk, epoch=conversation.epoch)
    changed: dict[str, Any] = {"seq": F("seq") + by, "last_activity_at": timezone.now()}
    if conversation.holder == Conversation.Holder.CLOSED:
        changed |= {"holder": Conversation.Holder.ASSISTANT, "epoch": F("epoch") + 1}
    if rows.update(**changed) == 0:
        raise ConversationMoved
    return Conversation.objects.values_list("seq", "epoch").get(pk=conversation.pk)


def look_again(
    customer: Customer, conversation: Conversation, answer_id: str
) -> tuple[Message, Question, Seen]:
    """A failed or stopped answer's question, and what there is to know about it now.

    Raises ``MessageNotFound``, ``NothingToRetry``, or ``ConversationMoved`` while a person holds
    the chat.
    """
    answer = own_answer(customer, conversation, answer_id)
    asked = answer.answer_to
    if asked is None or answer.status not in (Message.Status.FAILED, Message.Status.STOPPED):
        raise NothingToRetry
    conversation = Conversation.objects.select_related("order").get(pk=conversation.pk)
    if conversation.holder not in _ASSISTANTS:
        raise ConversationMoved
    question = Question(
        customer=customer,
        conversation=conversation.public_id,
        client_id=asked.client_id,
        text=asked.text,
        order=answer.order.number if answer.order else None,
        no_cache=asked.no_cache,
    )
    return asked, question, _look_at_orders(question, conversation)


def keep_retry(asked: Message, seen: Seen, reply: Reply) -> Turn:
    """A new answer to a question; raises ``AnswerInProgress`` or ``ConversationMoved``."""
    try:
        with transaction.atomic():
            seq, epoch = _raise_seq(seen.conversation, 1)
            answer = _write_answer(asked, seen, reply, seq, epoch)
    except IntegrityError:
        _refuse_second_answer(seen.conversation.customer)
        raise
    return Turn(question=asked, answer=answer)


# ---- the end of an answer ----------------------------------------------------------------------

_STATUS = {
    Outcome.DONE: Message.Status.COMPLETE,
    Outcome.STOPPED: Message.Status.STOPPED,
    Outcome.CLAIMED: Message.Status.STOPPED,
    Outcome.GUARDED: Message.Status.GUARDED,
    Outcome.EXPIRED: Message.Status.FAILED,
    Outcome.FAILED: Message.Status.FAILED,
}


def finalise(answer_id: UUID, transcript: Transcript) -> tuple[Message, bool]:
    """Write an answer's final text and its ``Generation``; the row, and whether this call did it.

    Whoever reads the terminal entry may call this; one does it. An answer whose conversation has
    changed hands meanwhile keeps what was shown and counts as stopped.
    """
    if transcript.end is None:
        raise ValueError("this answer has not ended yet")
    end, text = transcript.end, transcript.final_text.strip()
    status, error = _STATUS[end.outcome], ""
    if end.outcome is not Outcome.DONE and end.outcome is not Outcome.GUARDED:
        error = "no_engine" if end.reason == "no_engine" else end.outcome.value
    elif not text:
        status, error = Message.Status.FAILED, "empty"
    with transaction.atomic():
        answer = Message.objects.select_related("answer_to", "prompt").get(public_id=answer_id)
        if answer.status not in UNFINISHED:
            return answer, False
        Conversation.objects.filter(pk=answer.conversation_id).update(seq=F("seq") + 1)
        seq, epoch = Conversation.objects.values_list("seq", "epoch").get(pk=answer.conversation_id)
        if epoch != answer.epoch and status != Message.Status.FAILED:
            status, error = Message.Status.STOPPED, Outcome.CLAIMED.value
        answer.status, answer.error, answer.text = status, error, text
        answer.revision, answer.finished_at = seq, _finished_at(end.finished_us)
        if end.outcome is Outcome.GUARDED:
            answer.source, answer.offered = Message.Source.GUARD, True
        changed = Message.objects.filter(pk=answer.pk, status__in=UNFINISHED).update(
            status=answer.status,
            error=answer.error,
            text=answer.text,
            revision=answer.revision,
            finished_at=answer.finished_at,
            source=answer.source,
            offered=answer.offered,
        )
        if changed:
            record_generation(
                str(answer_id),
                end,
                model=settings.QUICKBITE_MODEL,
                prompt_hash=answer.prompt.hash if answer.prompt else "",
            )
    if not changed:
        answer.refresh_from_db()
    return answer, bool(changed)


def _finished_at(microseconds: int) -> datetime:
    if not microseconds:
        return timezone.now()
    return datetime.fromtimestamp(microseconds / 1e6, tz=timezone.get_default_timezone())
