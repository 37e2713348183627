"""The whole way of a question, in the order in which things happen."""

import logging
from dataclasses import replace

from redis.exceptions import RedisError

from assistant import answers, conversations, events, prompts
from assistant.conversations import Question, Turn
from assistant.db import in_db
from assistant.errors import PromptPartTooLong
from assistant.models import Conversation, Message
from assistant.text import clean_question
from inference.errors import ModelNotPrepared
from orders.models import Customer

logger = logging.getLogger(__name__)


async def take_turn(question: Question) -> Turn:
    """Keep a customer's question and set its answer going.

    Raises an ``AssistantError`` when the question is not taken; once it is, it is answered or
    ended honestly, whatever dies meanwhile. The same ``client_id`` again changes nothing.
    """
    question = _checked(question)

    # The question and the row of its answer, in one transaction: from here on nothing is lost.
    turn = await in_db(conversations.begin_turn)(question)
    if turn.repeated:
        return turn
    await events.messages_changed(question.conversation, turn.messages)

    # A person holds the chat, or the assistant has asked back: no model.
    if turn.answer is None or not turn.answer.unfinished:
        return turn

    await _answer_with_model(turn.answer)
    return turn


async def take_retry(customer: Customer, conversation: Conversation, answer_id: str) -> Turn:
    """Answer the same question again, after a failed or stopped answer."""
    turn = await in_db(conversations.begin_retry)(customer, conversation, answer_id)
    answers_now = turn.messages[1:]
    await events.messages_changed(conversation.public_id, answers_now)
    for answer in answers_now:
        if answer.unfinished:
            await _answer_with_model(answer)
    return turn


def _checked(question: Question) -> Question:
    text = clean_question(question.text)
    try:
        prompts.check_fits(text)
    except ModelNotPrepared as error:
        # The question is worth keeping all the same; its answer will say that nobody is there.
        logger.error("no tokenizer: %s", error)
    return replace(question, text=text)


async def _answer_with_model(answer: Message) -> None:
    try:
        await answers.start(answer)
    except (RedisError, OSError) as error:
        # The queued row is the outbox: the sweep starts the answer once Redis is back.
        logger.warning("answer %s could not be dispatched yet: %s", answer.public_id, error)
    except PromptPartTooLong:
        logger.exception("the prompt in force does not fit; answer %s", answer.public_id)
