"""What the model is told: [system + policies + examples][history][facts, question, facts near it].

The first part is byte-identical for everyone, so that the engine's prefix cache holds it; what
changes from order to order stands at the end, in the customer's own turn.
"""

import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.utils import timezone

from assistant import prompt_defaults
from assistant.errors import PromptPartTooLong, QuestionTooLong
from assistant.models import Message, Policy, PromptExample, PromptVersion, SystemText
from assistant.relevance import topics_of
from inference.conf import conf
from inference.dispatch import current_model
from inference.errors import ModelNotPrepared
from inference.messages import Job, Sampling
from inference.model_store import resolve
from inference.tokenizer import ChatMessage, ChatTokenizer, load_tokenizer
from orders.selectors import OrderFacts

logger = logging.getLogger(__name__)

#: Earlier messages that are looked at for a prompt's history.
_HISTORY_ROWS = 40
#: Tokens that a chat template may put around one message.
_MARKS = 8
#: Sentences that are the same for every order, by the topic of the question that they answer.
_FIXED = (
    ("hello", prompt_defaults.HELLO),
    ("thanks", prompt_defaults.THANKS),
    ("refund", prompt_defaults.REFUNDS),
    ("kitchen", prompt_defaults.KITCHEN),
    ("unknown", prompt_defaults.NOT_KNOWN),
)


@dataclass(frozen=True, slots=True)
class Prefix:
    """System text, policies and examples, in order."""

    system: str
    policies: tuple[str, ...]
    examples: tuple[tuple[str, str, str], ...]  # question, facts, answer

    @property
    def hash(self) -> str:
        content = json.dumps([self.system, self.policies, self.examples], ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()

    def messages(self) -> list[ChatMessage]:
        rules = "\n".join(f"- {policy}" for policy in self.policies)
        system = f"{self.system}\n\n{prompt_defaults.POLICIES_HEADING}\n{rules}"
        found = [ChatMessage("system", system if rules else self.system)]
        for question, facts, answer in self.examples:
            found.append(ChatMessage("user", user_turn(question, facts)))
            found.append(ChatMessage("assistant", answer))
        return found

    def tokens(self, tokenizer: ChatTokenizer) -> int:
        return len(tokenizer.render(self.messages(), answer=False))


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question of before and its answer, without the facts of then."""

    question: str
    answer: str

    def messages(self) -> list[ChatMessage]:
        return [ChatMessage("user", self.question), ChatMessage("assistant", self.answer)]


def user_turn(question: str, facts: str) -> str:
    """A turn of the customer's, with the facts that it is to be answered with."""
    return prompt_defaults.USER_TURN.format(facts=facts, question=question)


def tokenizer() -> ChatTokenizer:
    """The current model's; raises ``ModelNotPrepared``."""
    return load_tokenizer(resolve(conf().model))


def prefix_ids() -> list[int]:
    """What every prompt begins with now; loads tokenizer and prompt where they are not yet."""
    return tokenizer().render(_prefix_of(current_version().hash).messages(), answer=False)


# ---- the prefix ------------------------------------------------------------------------------


def edited_prefix() -> Prefix:
    """The prefix as the admin's rows say it now."""
    system = SystemText.objects.order_by("pk").first()
    return Prefix(
        system=system.text if system else prompt_defaults.SYSTEM,
        policies=tuple(Policy.objects.filter(active=True).values_list("text", flat=True)),
        examples=tuple(
            PromptExample.objects.filter(active=True).values_list("question", "facts", "answer")
        ),
    )


def check_budget(prefix: Prefix) -> int:
    """Its tokens; raises ``PromptPartTooLong`` when they pass the budget."""
    tokens, budget = prefix.tokens(tokenizer()), settings.ASSISTANT_PREFIX_TOKEN_BUDGET
    if tokens > budget:
        raise PromptPartTooLong(
            f"System text, policies and examples together take {tokens:,} tokens; "
            f"{budget:,} is the most. Shorten this one or switch another off."
        )
    return tokens


def publish_prefix() -> PromptVersion:
    """Make the admin's rows the prompt in force; raises ``PromptPartTooLong``."""
    prefix = edited_prefix()
    tokens = check_budget(prefix)
    version, _ = PromptVersion.objects.update_or_create(
        hash=prefix.hash,
        defaults={"current_since": timezone.now()},
        create_defaults={
            "current_since": timezone.now(),
            "system": prefix.system,
            "policies": list(prefix.policies),
            "examples": [list(example) for example in prefix.examples],
            "tokens": tokens,
        },
    )
    return version


def current_version() -> PromptVersion:
    """The prompt in force; the first call of a new deployment makes one."""
    return PromptVersion.objects.order_by("-current_since", "-pk").first() or publish_prefix()


def version_in_force() -> PromptVersion | None:
    """``current_version``, None while the model is missing that a first one is measured with."""
    try:
        return current_version()
    except ModelNotPrepared as error:
        logger.error("no prompt can be published: %s", error)
        return None


def install_defaults() -> None:
    """Rows for the admin to edit, where there are none yet."""
    if not SystemText.objects.exists():
        SystemText.objects.create(text=prompt_defaults.SYSTEM)
    if not Policy.objects.exists():
        Policy.objects.bulk_create(
            Policy(position=10 * i, title=title, text=text)
            for i, (title, text) in enumerate(prompt_defaults.POLICIES, 1)
        )
    if not PromptExample.objects.exists():
        PromptExample.objects.bulk_create(
            PromptExample(position=10 * i, question=question, facts=facts, answer=answer)
            for i, (question, facts, answer) in enumerate(prompt_defaults.EXAMPLES, 1)
        )


@lru_cache(maxsize=4)
def _prefix_of(version_hash: str) -> Prefix:
    version = PromptVersion.objects.get(hash=version_hash)
    return Prefix(
        system=version.system,
        policies=tuple(version.policies),
        examples=tuple((q, f, a) for q, f, a in version.examples),
    )


# ---- facts and question ------------------------------------------------------------------------


def snapshot(facts: OrderFacts) -> dict[str, Any]:
    """What is kept of an order with an answer: the values and the sentences, as they were.

    ``topics`` says what each of the sentences is about.
    """
    statements = facts.statements()
    return {
        "values": facts.display(),
        "sentences": [statement.text for statement in statements],
        "topics": [statement.topic for statement in statements],
    }


def last_turn(
    question: str, kept: dict[str, Any] | None, before: str = "", *, background: bool = True
) -> str:
    """The turn to be answered: the facts that fit the question behind it, the others before it.

    ``kept`` is a ``snapshot``, None for a customer without an order. ``before`` is what the
    customer asked last, for a question that needs it.
    """
    topics = topics_of(question, before)
    fixed = [text for topic, text in _FIXED if topic in topics]
    if kept is None:
        return user_turn(question, _listed(fixed or [prompt_defaults.NO_ORDER]))
    known = list(zip(kept["topics"], kept["sentences"], strict=True))
    shown = {"stage", "eta", *topics} if "stage" in topics else set(topics)
    if "late" in shown and "late" not in kept["topics"]:
        shown.add("stage")  # it never arrived: neither late nor on time
    near = [text for topic, text in known if topic in shown] + fixed
    far = [text for topic, text in known if topic not in shown]
    # Given everything at once, a small model recites it; better that it admits what it cannot tell.
    near = near or [prompt_defaults.NOT_KNOWN]
    behind = prompt_defaults.BACKGROUND.format(facts=_listed(far)) if far and background else ""
    return behind + user_turn(question, _listed(near))


def _listed(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def check_fits(text: str) -> None:
    """Raise ``QuestionTooLong`` for a question that leaves no room for the rest of the prompt."""
    room = settings.ENGINE_MAX_MODEL_LEN - settings.ASSISTANT_MAX_ANSWER_TOKENS
    room -= settings.ASSISTANT_PREFIX_TOKEN_BUDGET + 600  # facts and marks
    tokens = tokenizer().count(text)
    if tokens > room:
        raise QuestionTooLong(len(text), int(len(text) * room / tokens))


def messages_for(answer: Message) -> list[ChatMessage]:
    """The whole prompt of an answer as messages; raises ``PromptPartTooLong``."""
    return _fitting(answer)[0]


def _fitting(answer: Message) -> tuple[list[ChatMessage], list[int]]:
    """The prompt of an answer as messages and as ids.

    What is too much goes: the oldest history first, then the facts that the question does not
    ask for. Raises ``PromptPartTooLong`` when the rest does not fit either.
    """
    question = answer.answer_to
    if question is None:
        raise ValueError("this message answers nothing")
    version = answer.prompt or current_version()
    prefix, history = _prefix_of(version.hash), _history(question)
    room = settings.ENGINE_MAX_MODEL_LEN - settings.ASSISTANT_MAX_ANSWER_TOKENS
    for background in (True, False):
        messages = build(
            prefix, version.tokens, history, question.text, answer.facts, background=background
        )
        ids = tokenizer().render(messages)
        if len(ids) <= room:
            return messages, ids
    raise PromptPartTooLong(f"a prompt of {len(ids)} tokens; {room} is the most")


def build(
    prefix: Prefix,
    prefix_tokens: int,
    history: Sequence[Exchange],
    question: str,
    kept: dict[str, Any] | None,
    *,
    background: bool = True,
) -> list[ChatMessage]:
    """The prompt from its parts; ``history`` holds the exchanges before it, newest first."""
    before = history[0].question if history else ""
    last = ChatMessage("user", last_turn(question, kept, before, background=background))
    taken = prefix_tokens + tokenizer().count(last.content) + _MARKS
    room = settings.ENGINE_MAX_MODEL_LEN - settings.ASSISTANT_MAX_ANSWER_TOKENS - taken
    budget = min(settings.ASSISTANT_HISTORY_TOKEN_BUDGET, room)
    return [*prefix.messages(), *_within(history, budget), last]


def _within(history: Sequence[Exchange], budget: int) -> list[ChatMessage]:
    """The newest exchanges that fit into ``budget`` tokens, in the order of the conversation."""
    kept: list[ChatMessage] = []
    for exchange in history:
        messages = exchange.messages()
        budget -= sum(tokenizer().count(m.content) + _MARKS for m in messages)
        if budget < 0:
            break
        kept[:0] = messages
    return kept


def _history(question: Message) -> list[Exchange]:
    """Question-and-answer pairs before the question, newest first."""
    rows = (
        Message.objects.filter(
            conversation_id=question.conversation_id,
            seq__lt=question.seq,
            author__in=(Message.Author.CUSTOMER, Message.Author.ASSISTANT, Message.Author.AGENT),
            status__in=(Message.Status.COMPLETE, Message.Status.STOPPED, Message.Status.GUARDED),
        )
        .exclude(text="")
        .order_by("-seq")[:_HISTORY_ROWS]
    )
    return _exchanges(rows)


def _exchanges(rows: Iterable[Message]) -> list[Exchange]:
    """Question-and-answer pairs, newest first; a question without an answer is left out."""
    pairs: list[Exchange] = []
    answer: list[str] = []
    for row in rows:
        if row.author != Message.Author.CUSTOMER:
            answer.insert(0, row.text)
        elif answer:
            pairs.append(Exchange(row.text, "\n".join(answer)))
            answer = []
    return pairs


def job_for(answer: Message) -> Job:
    """The job that writes this answer, the same however often it is built.

    Raises ``PromptPartTooLong`` or ``ModelNotPrepared``.
    """
    return Job(
        id=str(answer.public_id),
        model=current_model(),
        prompt_ids=tuple(_fitting(answer)[1]),
        sampling=Sampling(
            max_tokens=settings.ASSISTANT_MAX_ANSWER_TOKENS,
            temperature=0.0,
            repetition_penalty=prompt_defaults.REPETITION_PENALTY,
            seed=answer.seq,
        ),
        first_token_s=conf().first_token_s,
        total_s=conf().total_s,
        filter_context=json.dumps(answer.facts or {}, ensure_ascii=False),
    )
