"""The categories and example questions that a new deployment starts with, from ``data/``."""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.db import transaction

from assistant.models import Category, ExampleQuestion, Intent

_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class ShippedExample:
    text: str
    category: str
    intent: str = ""
    source: str = ""


@cache
def shipped_categories() -> tuple[dict[str, Any], ...]:
    return tuple(tomllib.loads((_DATA / "categories.toml").read_text("utf-8"))["categories"])


def shipped_examples() -> Iterator[ShippedExample]:
    with (_DATA / "examples.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield ShippedExample(
                text=row["text"],
                category=row["category"],
                intent=row.get("intent", ""),
                source=row["source"],
            )


@transaction.atomic
def install_categories() -> int:
    """Write the shipped categories and sub-intents where there are none; how many categories."""
    if Category.objects.exists():
        return 0
    shipped = shipped_categories()
    rows = Category.objects.bulk_create(
        Category(
            slug=entry["slug"],
            title=entry["title"],
            may_cache=entry.get("may_cache", False),
            escalates=entry.get("escalates", False),
            fixed_reply=entry.get("fixed_reply", ""),
            reported_as=entry.get("reported_as", ""),
        )
        for entry in shipped
    )
    Intent.objects.bulk_create(
        Intent(category=row, slug=slug, title=title)
        for row, entry in zip(rows, shipped, strict=True)
        for slug, title in entry.get("intents", {}).items()
    )
    return len(rows)


@transaction.atomic
def install_examples() -> int:
    """Write the shipped examples where there are none; how many. A second or two.

    Those of categories that the deployment does not have are left out.
    """
    if ExampleQuestion.objects.exists():
        return 0
    categories = {row.slug: row for row in Category.objects.all()}
    intents = {(row.category_id, row.slug): row for row in Intent.objects.all()}
    rows = [
        ExampleQuestion(
            text=example.text,
            category=categories[example.category],
            intent=intents.get((categories[example.category].pk, example.intent)),
            source=example.source,
        )
        for example in shipped_examples()
        if example.category in categories
    ]
    ExampleQuestion.objects.bulk_create(rows, batch_size=2000)
    return len(rows)
