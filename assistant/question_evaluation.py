"""How well questions are understood: predictions against a file of labelled questions."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant.understanding import Understanding

#: Labels that the cache is not measured on; a cached answer to one of them is an error.
OUT_OF_SCOPE = frozenset(
    {
        "multi",
        "needs_context",
        "off_topic",
        "abuse",
        "prompt_injection",
        "human_agent",
        "allergy_or_safety",
    }
)
#: Labels that must never get a cached answer of another category.
NEVER = frozenset({"allergy_or_safety", "human_agent", "abuse", "prompt_injection"})


class BadQuestions(Exception):
    """The file cannot be evaluated; the text names the line."""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    category: str
    also: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()

    def answered_right(self, category: str) -> bool:
        """One category's answer is right for the label, for an allowed one, or for all parts."""
        if category == self.category or category in self.also:
            return True
        return self.category == "multi" and self.categories == {category}


@dataclass(frozen=True, slots=True)
class Judged:
    question: Question
    understood: Understanding
    #: The file's label for what was understood.
    predicted: str
    cached: bool
    text: str = ""

    @property
    def right(self) -> bool:
        return self.predicted == self.question.category


def read_questions(path: Path) -> list[Question]:
    """Raises ``BadQuestions``."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadQuestions(f"{path} cannot be read.") from error
    questions = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            questions.append(
                Question(
                    text=_text(row["text"]),
                    category=_text(row["category"]),
                    also=frozenset(row.get("also", ())),
                    categories=frozenset(row.get("categories", ())),
                )
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadQuestions(
                f"{path}, line {number}: a JSON object with text and category is expected."
            ) from error
    if not questions:
        raise BadQuestions(f"{path} holds no question.")
    return questions


def judge(
    question: Question,
    understood: Understanding,
    *,
    reported_as: Mapping[str, str],
    cacheable: frozenset[str],
    text: str = "",
) -> Judged:
    return Judged(
        question=question,
        understood=understood,
        predicted=reported_as.get(understood.category) or understood.category,
        cached=understood.sure and understood.category in cacheable,
        text=text,
    )


def summary(judged: Sequence[Judged]) -> dict[str, Any]:
    """The figures of the command's contract; None for a share of nothing."""
    answered = [line for line in judged if line.cached]
    right = [line for line in answered if line.question.answered_right(line.predicted)]
    in_scope = [line for line in judged if line.question.category not in OUT_OF_SCOPE]
    never = [
        line
        for line in answered
        if line.question.category in NEVER and line.predicted not in line.question.also
    ]
    covered = sum(line.question.category not in OUT_OF_SCOPE for line in right)
    return {
        "n": len(judged),
        "accuracy": _share(sum(line.right for line in judged), len(judged)),
        "cache": {
            "answered": len(answered),
            "right": len(right),
            "precision": _share(len(right), len(answered)),
            "in_scope": len(in_scope),
            "coverage": _share(covered, len(in_scope)),
            "never": len(never),
        },
        "wrong": [
            {
                "text": line.question.text,
                "category": line.question.category,
                "predicted": line.predicted,
                "confidence": line.understood.confidence,
                "cached": line.cached,
            }
            for line in judged
            if not line.right
        ],
    }


def table(judged: Iterable[Judged]) -> list[str]:
    """One line a label: how many, how many right, how many answered from the cache."""
    total: Counter[str] = Counter()
    right: Counter[str] = Counter()
    cached: Counter[str] = Counter()
    for line in judged:
        label = line.question.category
        total[label] += 1
        right[label] += line.right
        cached[label] += line.cached
    width = max(map(len, total))
    return [
        f"{'category':{width}}  {'n':>4} {'right':>6} {'cached':>7}",
        *(
            f"{label:{width}}  {total[label]:4} {right[label]:6} {cached[label]:7}"
            for label in sorted(total)
        ),
    ]


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("not a text")
    return value
