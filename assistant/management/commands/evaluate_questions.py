"""``manage.py evaluate_questions FILE.jsonl``: how well questions are understood, and served."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from assistant import answer_cache, question_evaluation
from assistant.models import Category
from assistant.question_evaluation import Judged
from assistant.understanding import status, understand
from orders.facts import OrderFacts, facts_of
from orders.models import Order


class Command(BaseCommand):
    help = "Judges on labelled questions how well they are understood, and what the cache serves."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help='JSON lines: {"text", "category", "also"?}')
        parser.add_argument("--order", help="the order that answers are filled from")
        parser.add_argument("--out", type=Path, help="write each line's prediction and answer here")
        parser.add_argument("--json", action="store_true", help="the last line is one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if problem := status():
            raise CommandError(f"Understanding is off: {problem}")
        try:
            questions = question_evaluation.read_questions(options["file"])
        except question_evaluation.BadQuestions as error:
            raise CommandError(str(error)) from error
        facts = _facts(options["order"])
        rows = Category.objects.filter(active=True)
        reported_as = {row.slug: row.reported_as for row in rows}
        cacheable = frozenset(row.slug for row in rows if row.may_cache)
        judged = []
        for question in questions:
            understood = understand(question.text, facts=facts)
            judged.append(
                question_evaluation.judge(
                    question,
                    understood,
                    reported_as=reported_as,
                    cacheable=cacheable,
                    text=_served(understood.category, understood.intent, facts)
                    if understood.sure
                    else "",
                )
            )
        if options["out"]:
            options["out"].write_text("".join(map(_line, judged)), "utf-8")
        self._print(judged, as_json=options["json"])

    def _print(self, judged: list[Judged], *, as_json: bool) -> None:
        figures = question_evaluation.summary(judged)
        cache = figures["cache"]
        for line in question_evaluation.table(judged):
            self.stdout.write(line)
        self.stdout.write(
            f"{figures['n']} questions, accuracy {figures['accuracy']}; from the cache "
            f"{cache['answered']}, precision {cache['precision']}, coverage {cache['coverage']}, "
            f"never {cache['never']}."
        )
        if as_json:
            self.stdout.write(json.dumps(figures, ensure_ascii=False))


def _facts(number: str | None) -> OrderFacts | None:
    """Of the order named, else of the latest active one; none in an empty database."""
    orders = Order.objects.with_people().prefetch_related("items")
    if number:
        order = orders.filter(number=number).first()
        if order is None:
            raise CommandError(f"There is no order {number}.")
    else:
        order = orders.active().latest_first().first()
    return facts_of(order, timezone.now()) if order else None


def _served(category: str, intent: str, facts: OrderFacts | None) -> str:
    hit = answer_cache.find(category, intent, facts, "en")
    return hit.text if hit else ""


def _line(judged: Judged) -> str:
    row = {
        "text": judged.question.text,
        "category": judged.question.category,
        "predicted": judged.predicted,
        "intent": judged.understood.intent,
        "confidence": judged.understood.confidence,
        "cached": judged.cached,
        "served": judged.text,
    }
    return json.dumps(row, ensure_ascii=False) + "\n"
