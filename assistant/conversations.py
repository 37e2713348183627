"""The one module that writes conversations and messages. Synchronous; callers use ``in_db``.

Every change begins by raising the conversation's ``seq``, on the condition that its ``epoch`` is
still the one that the writer has seen: zero rows means that somebody else holds it now.
"""

from dataclasses import dataclass, field
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
from assistant.models import UNFINISHED, Conversation, Message, PromptVersion
from assistant.selectors import messages_of, order_in_mind, own_answer, pending_question
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


@dataclass(slots=True)
class _Reply:
    """The answer row's fields, decided before the transaction."""

    source: str = Message.Source.MODEL
    status: str = Message.Status.QUEUED
    text: str = ""
    choices: list[dict[str, str]] = field(default_factory=list)
    order_id: int | None = None
    facts: OrderFacts | None = None
    version: PromptVersion | None = None


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


def begin_turn(question: Question) -> Turn:
    """Keep a question and the row of its answer, in one transaction.

    A ``client_id`` seen before gives the rows of then. The answer is ``queued`` when the model
    must write it, complete when there is a question back, None when a person holds the chat.
    Raises ``AnswerInProgress``, ``ConversationNotFound`` or ``OrderNotFound``.
    """
    conversation = (
        Conversation.objects.filter(customer=question.customer, public_id=question.conversation)
        .select_related("order")
        .first()
    )
    if conversation is None:
        raise ConversationNotFound
    if known := _known(conversation, question.client_id):
        return known
    reply = _reply(question, conversation) if conversation.holder in _ASSISTANTS else None
    try:
        return _write_turn(question, conversation, reply)
    except IntegrityError:
        # Two at once: the same question from another socket, or another question.
        if known := _known(conversation, question.client_id):
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


def _reply(question: Question, conversation: Conversation) -> _Reply:
    """Which order is meant, and its facts; else the question which."""
    opened_on = question.order or order_in_mind(conversation)
    try:
        picked = orders.pick_order(question.customer, opened_on=opened_on, text=question.text)
    except OrderError:
        if question.order:
            raise OrderNotFound from None
        return _Reply(
            source=Message.Source.SYSTEM,
            status=Message.Status.COMPLETE,
            text="I can't find an order with this number among yours. Could you check it?",
        )
    if picked is None:
        return _Reply(version=prompts.version_in_force())
    if isinstance(picked, Ambiguous):
        return _Reply(
            source=Message.Source.SYSTEM,
            status=Message.Status.COMPLETE,
            text="You have several orders under way. Which one do you mean?",
            choices=[{"order": o.number, "label": _label(o)} for o in picked.orders],
        )
    facts = orders.order_facts(question.customer, picked.number)
    return _Reply(order_id=picked.order.order_id, facts=facts, version=prompts.version_in_force())


def _label(order: OrderBrief) -> str:
    return f"{order.restaurant} ({order.number})"


@transaction.atomic
def _write_turn(question: Question, conversation: Conversation, reply: _Reply | None) -> Turn:
    rows = 1 if reply is None else 2
    seq, epoch = _raise_seq(conversation, rows)
    asked = Message.objects.create(
        conversation=conversation,
        customer=question.customer,
        order_id=reply.order_id if reply else conversation.order_id,
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
    return Turn(question=asked, answer=_write_answer(meant or asked, reply, seq, epoch))


def _write_answer(question: Message, reply: _Reply, seq: int, epoch: int) -> Message:
    complete = reply.status == Message.Status.COMPLETE
    return Message.objects.create(
        public_id=uuid4(),
        conversation_id=question.conversation_id,
        customer_id=question.customer_id,
        order_id=reply.order_id,
        answer_to=question,
        seq=seq,
        revision=seq,
        epoch=epoch,
        author=Message.Author.ASSISTANT,
        source=reply.source,
        status=reply.status,
        text=reply.text,
        choices=reply.choices,
        facts=prompts.snapshot(reply.facts) if reply.facts else None,
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


def begin_retry(customer: Customer, conversation: Conversation, answer_id: str) -> Turn:
    """A new answer to the question of a failed or stopped one.

    Raises ``MessageNotFound``, ``NothingToRetry``, ``AnswerInProgress`` or ``ConversationMoved``.
    """
    answer = own_answer(customer, conversation, answer_id)
    question = answer.answer_to
    if question is None or answer.status not in (Message.Status.FAILED, Message.Status.STOPPED):
        raise NothingToRetry
    # Read anew: a person may hold it by now, and the model never talks over one.
    conversation = Conversation.objects.select_related("order").get(pk=conversation.pk)
    if conversation.holder not in _ASSISTANTS:
        raise ConversationMoved
    asked = Question(
        customer=customer,
        conversation=conversation.public_id,
        client_id=question.client_id,
        text=question.text,
        order=answer.order.number if answer.order else None,
        no_cache=question.no_cache,
    )
    reply = _reply(asked, conversation)
    try:
        with transaction.atomic():
            seq, epoch = _raise_seq(conversation, 1)
            return Turn(question=question, answer=_write_answer(question, reply, seq, epoch))
    except IntegrityError:
        _refuse_second_answer(customer)
        raise


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
