"""Measures the prompt: our own questions about the demo orders, answered by the engine itself."""

import asyncio
import json
from argparse import ArgumentParser
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Max

from assistant import evaluation, prompt_defaults, prompts
from assistant.evaluation_questions import PLAIN_TOPICS, EvaluationQuestion, questions
from assistant.prompts import Exchange, Prefix
from inference.engines import make_engine
from inference.engines.base import Engine, Request
from inference.errors import EngineDead, ModelNotPrepared
from inference.messages import Sampling
from orders.facts import OrderFacts, facts_of
from orders.models import Order, OrderItem, Restaurant, Rider


@dataclass(frozen=True, slots=True)
class Case:
    asked: EvaluationQuestion
    facts: OrderFacts


@dataclass(frozen=True, slots=True)
class Result:
    case: Case
    text: str
    wrong: list[str]
    prompt_tokens: int
    output_tokens: int


class Command(BaseCommand):
    help = "Let the model answer questions about the demo orders and check the answers."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--questions", type=int, help="how many (default: all, once each)")
        parser.add_argument(
            "--half",
            choices=("tuned", "held-out"),
            help="only the questions that the prompt was made with, or only the others",
        )
        parser.add_argument("--show", action="store_true", help="print the right answers too")
        parser.add_argument("--json", action="store_true", help="one JSON object in the last line")

    def handle(self, *args: Any, **options: Any) -> None:
        held_out = None if options["half"] is None else options["half"] == "held-out"
        cases = _cases(questions(held_out=held_out), options["questions"])
        names = _names()
        prefix = prompts.edited_prefix()
        try:
            results = asyncio.run(_run(cases, prefix, names))
        except (EngineDead, ModelNotPrepared) as error:
            raise CommandError(str(error)) from error
        self._report(results, options["show"])
        if options["json"]:
            self.stdout.write(json.dumps(_summary(results), ensure_ascii=False))

    def _report(self, results: list[Result], show: bool) -> None:
        for result in results:
            if result.wrong or show:
                self.stdout.write(_line(result))
        for half in (False, True):
            of_half = [r for r in results if r.case.asked.held_out is half]
            if not of_half:
                continue
            plain = [r for r in of_half if r.case.asked.topic in PLAIN_TOPICS]
            self.stdout.write(
                f"{'held out' if half else 'tuned on':<10} plain questions {_share(plain)}, "
                f"all {_share(of_half)}"
            )
            asked = Counter(r.case.asked.topic for r in of_half)
            right = Counter(r.case.asked.topic for r in of_half if not r.wrong)
            self.stdout.write("  " + "  ".join(f"{t} {right[t]}/{asked[t]}" for t in asked))


def _line(result: Result) -> str:
    asked = result.case.asked
    before = f"{asked.after} … " if asked.after else ""
    why = "; ".join(result.wrong) or "right"
    order = f"{result.case.facts.number} {evaluation.stage_of(result.case.facts.display())}"
    return f"[{asked.topic}] {before}{asked.text} ({order})\n  → {result.text}\n  {why}"


def _share(results: list[Result]) -> str:
    right = sum(not result.wrong for result in results)
    return f"{right}/{len(results)} ({right / len(results):.0%})" if results else "0/0"


def _summary(results: list[Result]) -> dict[str, Any]:
    def accuracy(chosen: list[Result]) -> float | None:
        return round(sum(not r.wrong for r in chosen) / len(chosen), 4) if chosen else None

    return {
        "n": len(results),
        "accuracy": accuracy(results),
        "accuracy_plain": accuracy([r for r in results if r.case.asked.topic in PLAIN_TOPICS]),
        "accuracy_held_out": accuracy([r for r in results if r.case.asked.held_out]),
        "prompt_tokens": round(sum(r.prompt_tokens for r in results) / max(1, len(results))),
        "wrong": [
            {
                "topic": r.case.asked.topic,
                "after": r.case.asked.after,
                "text": r.case.asked.text,
                "order": r.case.facts.number,
                "answer": r.text,
                "why": r.wrong,
            }
            for r in results
            if r.wrong
        ],
    }


def _cases(asked: list[EvaluationQuestion], count: int | None) -> list[Case]:
    """Each question with an order, every other one with an order under way."""
    now = _now()
    rows = Order.objects.with_people().prefetch_related("items").order_by("number")
    every = [facts_of(row, now) for row in rows]
    active = [facts for facts in every if facts.active] or every
    cases = []
    for i in range(len(asked) if count is None else count):
        lap, place = divmod(i, len(asked))
        pool = active if (place + lap) % 2 else every
        cases.append(
            Case(asked[place], pool[(7 * place + 23 * lap + place // len(pool)) % len(pool)])
        )
    return cases


def _now() -> datetime:
    """A minute after the latest event: a demo that was loaded long ago gives the same cases."""
    latest: datetime | None = Order.objects.aggregate(at=Max("status_changed_at"))["at"]
    if latest is None:
        raise CommandError("There are no orders. Load some: manage.py load_demo")
    return latest + timedelta(minutes=1)


def _names() -> frozenset[str]:
    """Names that an answer may use only when its order has them."""
    examples = prompts.edited_prefix().examples
    known = {
        *Restaurant.objects.values_list("name", flat=True),
        *Rider.objects.values_list("first_name", flat=True),
        *OrderItem.objects.values_list("name", flat=True),
    }
    return frozenset(known | evaluation.names_in(facts for _, facts, _ in examples))


async def _run(cases: list[Case], prefix: Prefix, names: frozenset[str]) -> list[Result]:
    engine = make_engine()
    await engine.start()
    tokens = prefix.tokens(engine.tokenizer)
    slots = asyncio.Semaphore(settings.ENGINE_MAX_NUM_SEQS)

    async def one(number: int, case: Case) -> Result:
        history: list[Exchange] = []
        async with slots:
            for turn, question in enumerate(filter(None, (case.asked.after, case.asked.text))):
                messages = prompts.build(
                    prefix, tokens, history, question, prompts.snapshot(case.facts)
                )
                ids = engine.tokenizer.render(messages)
                text, length = await _generate(engine, f"{number}-{turn}", ids)
                history = [Exchange(question, text)]
        wrong = evaluation.wrong(case.asked.topic, text, case.facts.display(), other_names=names)
        return Result(case, text, wrong, len(ids), length)

    try:
        return await asyncio.gather(*(one(i, case) for i, case in enumerate(cases)))
    finally:
        await engine.shutdown()


async def _generate(engine: Engine, request_id: str, ids: list[int]) -> tuple[str, int]:
    sampling = Sampling(
        max_tokens=settings.ASSISTANT_MAX_ANSWER_TOKENS,
        temperature=0.0,
        repetition_penalty=prompt_defaults.REPETITION_PENALTY,
        seed=1,
    )
    request = Request(id=request_id, prompt_ids=tuple(ids), generated=(), sampling=sampling)
    answer: list[int] = []
    async for delta in engine.generate(request):
        answer += delta.ids
    return engine.tokenizer.decode(answer).strip(), len(answer)
