"""What a customer may send as text."""

import pytest

from assistant.errors import EmptyQuestion, NoWords, QuestionTooLong, UnreadableCharacters
from assistant.text import clean_question


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  Where is it?\r\nThanks ", "Where is it?\nThanks"),
        ("Cafe\u0301", "Café"),
        ("a\u200bb \u202eevil\u202c", "ab evil"),
        ("¿Dónde está? 🍕", "¿Dónde está? 🍕"),
        ("أين طلبي؟", "أين طلبي؟"),
        ("👩‍👩‍👧 and 👍🏽", "👩‍👩‍👧 and 👍🏽"),
        ("x" * 2000, "x" * 2000),
        ("42", "42"),
    ],
)
def test_text_is_kept_but_for_its_form(text: str, cleaned: str) -> None:
    assert clean_question(text) == cleaned


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u200b\u2060", "\ufeff"])
def test_nothing_to_answer(text: str) -> None:
    with pytest.raises(EmptyQuestion):
        clean_question(text)


@pytest.mark.parametrize(
    "text", ["a\x00b", "\x07", "a\x1b[31m", "a\x7f", "a\x85b", "\ud800", "x\udfff"]
)
def test_characters_that_no_reader_shows(text: str) -> None:
    with pytest.raises(UnreadableCharacters):
        clean_question(text)


@pytest.mark.parametrize("text", ["👍", "🍕🍕🍕", "???", "❤️", "…!"])
def test_no_words(text: str) -> None:
    with pytest.raises(NoWords):
        clean_question(text)


def test_too_long_says_by_how_much() -> None:
    with pytest.raises(QuestionTooLong, match=r"2,001 characters; 2,000 is the most"):
        clean_question("x" * 2001)
