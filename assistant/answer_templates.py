"""An answer's template: text with `{{ placeholders }}` and nothing else. Pure."""

import difflib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from assistant import placeholders
from assistant.errors import InvalidTemplate
from orders.facts import OrderFacts

MAX_CHARS = 1000

_TAG = re.compile(r"\{\{\s*(\w+)\s*\}\}", re.ASCII)
_SYNTAX = re.compile(r"\{%.*?%\}|\{#.*?#\}|\{\{.*?\}\}", re.DOTALL)
_HTML = re.compile(r"<\s*[A-Za-z/!?]|&(?:[A-Za-z][A-Za-z0-9]+|#\w+);")
_ORDER_NUMBER = re.compile(r"\bQB[-\u2010-\u2015\s]?\d+|#\s?\d{4,}", re.IGNORECASE)
_PHONE = re.compile(r"\+?\(?\d(?:[\s().\-/\u2010-\u2015]*\d){6,}")
_DATE = re.compile(r"\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b|\b\d{4}-\d{2}-\d{2}\b")
_LONG_NUMBER = re.compile(r"\d{5,}")
_LINK = re.compile(r"\b(?:https?|ftp)://|\bwww\.|\bjavascript:", re.IGNORECASE)
_SENTENCE_STARTS = re.compile(r"(?:^|[.!?…]\s+|\n\s*)$")


class NoValue(Exception):
    """A placeholder has no value for this order: the answer does not fit it."""

    def __init__(self, placeholder: str, why: str) -> None:
        super().__init__(f"“{placeholder}” has no value: {why}")
        self.placeholder = placeholder


@dataclass(frozen=True)
class Template:
    """A template that has passed `check`; render it as often as you like, in any thread."""

    text: str

    @cached_property
    def _parts(self) -> tuple[tuple[str, str | None], ...]:
        """Literal text, each with the name of the placeholder that follows it."""
        parts, end = [], 0
        for tag in _TAG.finditer(self.text):
            parts.append((self.text[end : tag.start()], tag[1]))
            end = tag.end()
        return (*parts, (self.text[end:], None))

    @property
    def names(self) -> tuple[str, ...]:
        """The placeholders, each once, in order."""
        return tuple(dict.fromkeys(name for _, name in self._parts if name))

    def render(self, facts: OrderFacts | None) -> str:
        """The answer about this order. Raises `NoValue`, also when it would get too long."""
        out = ""
        for literal, name in self._parts:
            out += literal
            if name is None:
                continue
            placeholder = placeholders.BY_NAME.get(name)
            if placeholder is None:
                raise NoValue(name, "there is no such placeholder")
            if facts is None:
                raise NoValue(name, "there is no order")
            value = placeholder.value(facts)
            if not value:
                raise NoValue(name, placeholder.missing or "this order has none")
            starts = placeholder.phrase and _SENTENCE_STARTS.search(out)
            out += value[0].upper() + value[1:] if starts else value
        if len(out) > MAX_CHARS:
            raise NoValue(self.names[-1] if self.names else "", "the answer would get too long")
        return out


def clean(text: str) -> str:
    """Line ends and Unicode in one form, no blanks around it: what is stored."""
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


def check(text: str, names_of_people: Iterable[str] = ()) -> Template:
    """The template of a cleaned text. Raises `InvalidTemplate` with everything wrong with it.

    `names_of_people` are those found in the text (`selectors.people_named_in`).
    """
    problems = [*_form(text), *_personal(text), *_people(names_of_people)]
    if problems:
        raise InvalidTemplate(problems)
    return Template(text)


def _form(text: str) -> Iterable[str]:
    if not text:
        yield "The answer is empty."
    if len(text) > MAX_CHARS:
        yield f"The answer has {len(text):,} characters; {MAX_CHARS:,} is the most."
    if any(unicodedata.category(char) in ("Cc", "Cs", "Co") and char != "\n" for char in text):
        yield "The answer contains control characters."
    for tag in dict.fromkeys(tag[1] for tag in _TAG.finditer(text)):
        if tag not in placeholders.BY_NAME:
            yield f"There is no placeholder “{tag}”{_did_you_mean(tag)}"
    rest = _TAG.sub(" ", text)
    for found in dict.fromkeys(match[0] for match in _SYNTAX.finditer(rest)):
        yield f"“{found[:60]}” is not possible: only placeholders such as {{{{ eta_time }}}} are."
    if re.search(r"[{}]", _SYNTAX.sub(" ", rest)):
        yield "A curly bracket stands alone; a placeholder is written {{ eta_time }}."
    if _HTML.search(rest):
        yield "HTML is not possible: answers are plain text."


def _did_you_mean(name: str) -> str:
    close = difflib.get_close_matches(name, placeholders.BY_NAME, n=1)
    return f"; did you mean “{close[0]}”?" if close else "."


def _personal(text: str) -> Iterable[str]:
    # Full-width digits and @ count as well.
    plain = unicodedata.normalize("NFKC", _TAG.sub(" ", text))
    if "@" in plain:
        yield "It seems to contain an e-mail address; nothing about a person may be stored."
    if found := _ORDER_NUMBER.search(plain):
        yield f"“{found[0]}” looks like an order number; use {{{{ order_number }}}}."
    plain = _DATE.sub(" ", _ORDER_NUMBER.sub(" ", plain))
    if found := _PHONE.search(plain) or _LONG_NUMBER.search(plain):
        yield f"“{found[0]}” looks like a phone number or another number of a person."
    if _LINK.search(plain):
        yield "Links are not possible; name the page, such as “Your orders”."


def _people(names: Iterable[str]) -> Iterable[str]:
    for name in names:
        yield f"“{name}” is the name of a rider or customer; use {{{{ rider_name }}}} for a rider."
