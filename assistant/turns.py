"""The whole way of a question, in the order in which things happen."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from django.db import InterfaceError, OperationalError
from redis.exceptions import RedisError

from assistant import answers, conversations, events, prompts, replies
from assistant.conversations import Question, Seen, Turn
from assistant.db import in_db
from assistant.models import Conversation, Message
from assistant.prepared import prepared
from assistant.replies import Reply
from assistant.text import clean_question
from assistant.understanding import understand
from inference.errors import ModelNotPrepared
from orders.models import Customer

logger = logging.getLogger(__name__)

#: Categories whose questions make sense whichever order is meant.
_ABOUT_NO_ORDER = frozenset(
    {"greeting_thanks", "account_help", "promo_code", "human_agent", "allergy_question"}
)

Taken = Callable[[Turn], Awaitable[None]]


async def take_turn(question: Question, taken: Taken) -> Turn:
    """Keep a customer's question and set its answer going.

    ``taken`` is called once the question is kept: it is answered then, or ended honestly, whatever
    dies meanwhile. Raises an ``AssistantError`` before that, never after. The same ``client_id``
    again changes nothing.
    """
    question = _checked(question)

    # The question and the row of its answer: from here on nothing is lost.
    turn = await in_db(_begin)(question)
    await taken(turn)
    if turn.repeated:
        return turn

    # A person holds the chat, or the answer is there already: no model.
    if turn.answer is not None and turn.answer.unfinished:
        await _answer_with_model(turn.answer)

    await events.messages_changed(question.conversation, turn.messages)
    return turn


async def take_retry(
    customer: Customer, conversation: Conversation, answer_id: str, taken: Taken
) -> Turn:
    """Answer the same question again, after a failed or stopped answer."""
    turn = await in_db(_begin_again)(customer, conversation, answer_id)
    await taken(turn)
    written = [turn.answer] if turn.answer else []
    for answer in written:
        if answer.unfinished:
            await _answer_with_model(answer)
    await events.messages_changed(conversation.public_id, written)
    return turn


def _checked(question: Question) -> Question:
    text = clean_question(question.text)
    try:
        prompts.check_fits(text)
    except ModelNotPrepared as error:
        # The question is worth keeping all the same; its answer will say that nobody is there.
        logger.error("no tokenizer: %s", error)
    return replace(question, text=text)


def _begin(question: Question) -> Turn:
    seen = conversations.look(question)
    if seen.known:
        return seen.known
    reply = None if seen.held else _reply(question, seen)
    return conversations.keep(question, seen, reply)


def _begin_again(customer: Customer, conversation: Conversation, answer_id: str) -> Turn:
    asked, question, seen = conversations.look_again(customer, conversation, answer_id)
    return conversations.keep_retry(asked, seen, _reply(question, seen))


def _reply(question: Question, seen: Seen) -> Reply:
    """What can be said at once is; the rest is the model's."""
    if seen.nobodys_order:
        return replies.said(
            "I can't find an order with this number among yours. Could you check it?"
        )
    meaning = understand(question.text)
    orderless = meaning.category in _ABOUT_NO_ORDER
    if seen.which and not (meaning.sure and orderless):
        return replies.ask_which(seen.which)
    if not question.no_cache:
        language = seen.facts.language if seen.facts else question.customer.language
        if ready := prepared(meaning, seen.facts, language):
            return ready
    return replies.by_model(prompts.version_in_force(), meaning.category)


async def _answer_with_model(answer: Message) -> None:
    try:
        await answers.start(answer)
    except (RedisError, OSError, OperationalError, InterfaceError) as error:
        # The queued row is the outbox: the sweep starts the answer once the service is back.
        logger.warning("answer %s could not be dispatched yet: %s", answer.public_id, error)
