"""What an answer's row starts as: words that are there already, or a place for the model's."""

from dataclasses import dataclass

from assistant.models import Message, PromptVersion
from orders.selectors import OrderBrief


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The fields of an answer's row, decided before it is written."""

    source: str
    status: str = Message.Status.COMPLETE
    text: str = ""
    choices: tuple[OrderBrief, ...] = ()
    category: str = ""
    offered: bool = False
    #: The prompt in force, for the model; None where it writes nothing or is not prepared.
    version: PromptVersion | None = None


def said(text: str) -> Reply:
    """The assistant's own fixed words."""
    return Reply(source=Message.Source.SYSTEM, text=text)


def ask_which(orders: tuple[OrderBrief, ...]) -> Reply:
    return Reply(
        source=Message.Source.SYSTEM,
        text="You have several orders under way. Which one do you mean?",
        choices=orders,
    )


def fixed(text: str, category: str) -> Reply:
    """A category's fixed words; a person is offered with them."""
    return Reply(source=Message.Source.SYSTEM, text=text, category=category, offered=True)


def from_cache(text: str, category: str) -> Reply:
    """An answer that staff wrote, filled with this order's facts."""
    return Reply(source=Message.Source.CACHE, text=text, category=category)


def by_model(version: PromptVersion | None, category: str = "") -> Reply:
    """The model is to write it."""
    return Reply(
        source=Message.Source.MODEL,
        status=Message.Status.QUEUED,
        version=version,
        category=category,
    )
