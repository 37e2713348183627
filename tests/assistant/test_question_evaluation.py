"""The figures of ``evaluate_questions``: what counts as right, answered, never."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.question_evaluation import (
    BadQuestions,
    Question,
    judge,
    read_questions,
    summary,
    table,
)
from assistant.understanding import Understanding

CACHEABLE = frozenset({"order_status", "cancel_order"})
REPORTED_AS = {"safety_incident": "allergy_or_safety", "order_status": ""}


def judged(
    label: str, category: str, *, sure: bool = True, also: str = "", parts: tuple[str, ...] = ()
) -> object:
    question = Question("?", label, frozenset({also} if also else ()), frozenset(parts))
    understood = Understanding(category=category, confidence=0.9, sure=sure)
    return judge(question, understood, reported_as=REPORTED_AS, cacheable=CACHEABLE)


def test_figures() -> None:
    lines = [
        judged("order_status", "order_status"),
        judged("order_status", "order_status", sure=False),
        judged("cancel_order", "order_status"),
        judged("cancel_order", "order_status", also="order_status"),
        judged("human_agent", "cancel_order"),
        judged("abuse", "cancel_order", also="cancel_order"),
        judged("multi", "order_status", also="order_status", parts=("order_status", "abuse")),
        judged("multi", "cancel_order", parts=("cancel_order", "order_status")),
        judged("allergy_or_safety", "safety_incident"),
    ]
    figures = summary(lines)  # type: ignore[arg-type]
    assert figures["n"] == 9
    assert figures["accuracy"] == round(3 / 9, 4)
    assert figures["cache"] == {
        "answered": 7,
        "right": 4,
        "precision": round(4 / 7, 4),
        "in_scope": 4,
        "coverage": 0.5,
        "never": 1,
    }
    assert [line["predicted"] for line in figures["wrong"]].count("cancel_order") == 3


def test_the_table_names_every_label() -> None:
    lines = table([judged("abuse", "abuse", sure=False)])  # type: ignore[list-item]
    assert lines[1].split() == ["abuse", "1", "1", "0"]


def test_nothing_answered_is_no_precision() -> None:
    figures = summary([judged("abuse", "abuse", sure=False)])  # type: ignore[list-item]
    assert figures["cache"]["precision"] is None
    assert figures["cache"]["coverage"] is None


@pytest.mark.parametrize("line", ["{", "[]", '{"text": "x"}', '{"text": "", "category": "abuse"}'])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text('{"text": "hi", "category": "greeting_thanks"}\n' + line + "\n")
    with pytest.raises(BadQuestions, match="line 2"):
        read_questions(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadQuestions, match="cannot be read"):
        read_questions(tmp_path / "none.jsonl")
