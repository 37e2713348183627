"""The real engine behind the host's interface: one for the whole module, the last test kills it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

import pytest
import pytest_asyncio
from django.test import override_settings

from inference.engines import Request
from inference.engines.vllm import VllmEngine, _sampling_params
from inference.errors import EngineDead, RequestRejected
from inference.messages import Sampling
from inference.tokenizer import ChatMessage, Detokenizer, load_tokenizer
from tests.engines import descendants, engine_core, engine_model, wait_until_gone

pytestmark = [
    pytest.mark.engine,
    pytest.mark.asyncio(loop_scope="module"),
]

QUESTION = [
    ChatMessage("system", "You answer customers of a food delivery service in short sentences."),
    ChatMessage("user", "Where is my order?"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[VllmEngine]:
    model = engine_model()
    with override_settings(ENGINE_MAX_MODEL_LEN=1024):
        found = VllmEngine(model, load_tokenizer(model))
        await found.start()
    try:
        yield found
    finally:
        await found.shutdown()


def request(engine: VllmEngine, request_id: str = "r", **more: Any) -> Request:
    return Request(
        id=request_id,
        prompt_ids=more.pop("prompt_ids", tuple(engine.tokenizer.render(QUESTION))),
        generated=more.pop("generated", ()),
        priority=more.pop("priority", 0),
        sampling=Sampling(**{"max_tokens": 24, **more}),
    )


async def collect(engine: VllmEngine, asked: Request) -> tuple[list[int], str | None, int]:
    ids: list[int] = []
    reason, cached = None, 0
    async with asyncio.timeout(60):
        async for delta in engine.generate(asked):
            ids += delta.ids
            reason, cached = delta.finish_reason, delta.cached_tokens
    return ids, reason, cached


async def nothing_is_left(engine: VllmEngine) -> None:
    """Neither here nor in the engine core does a request go on."""
    async with asyncio.timeout(10):
        while engine._llm.output_processor.get_num_unfinished_requests():
            await asyncio.sleep(0.02)
    assert engine.stats().running == 0
    # The core's own word, with its next step.
    await collect(engine, request(engine, "after", max_tokens=2))
    async with asyncio.timeout(5):
        while engine._stats.running:
            await asyncio.sleep(0.02)


def detokenized(engine: VllmEngine, ids: Sequence[int]) -> str:
    return Detokenizer(engine.tokenizer).feed(ids)


async def test_it_writes_text(engine: VllmEngine) -> None:
    ids, reason, _ = await collect(engine, request(engine))
    assert 0 < len(ids) <= 24
    assert reason in ("stop", "length")
    text = detokenized(engine, ids)
    assert text == engine.tokenizer.decode(engine.tokenizer.whole(ids))
    assert any(character.isalpha() for character in text)
    assert "Where is my order" not in text  # the prompt is never shown
    assert engine.stats().tokens_generated >= len(ids)


async def test_a_known_prefix_is_not_computed_again(engine: VllmEngine) -> None:
    prompt = tuple(engine.tokenizer.encode("The soup is warm and the bread is fresh. " * 20))
    await collect(engine, request(engine, prompt_ids=prompt, max_tokens=1))
    _, _, cached = await collect(engine, request(engine, prompt_ids=prompt, max_tokens=1))
    assert len(prompt) - 32 <= cached < len(prompt)


async def test_answers_run_together_and_urgent_ones_are_taken(engine: VllmEngine) -> None:
    asked = [request(engine, f"r{n}", priority=n - 4, max_tokens=12) for n in range(8)]
    answers = await asyncio.gather(*(collect(engine, r) for r in asked))
    assert all(0 < len(ids) <= 12 for ids, _, _ in answers)


@pytest.mark.parametrize(("most", "least", "done"), [(24, 0, 9), (24, 24, 9), (24, 12, 20)])
async def test_a_continuation_counts_the_whole_answer(
    engine: VllmEngine, most: int, least: int, done: int
) -> None:
    begun, _, _ = await collect(
        engine, request(engine, max_tokens=done, min_tokens=done, temperature=1.0, seed=7)
    )
    rest = request(engine, generated=tuple(begun), max_tokens=most, min_tokens=least)
    parameters = _sampling_params(rest)
    assert parameters.max_tokens == most - done
    assert parameters.min_tokens == max(0, least - done)
    ids, reason, _ = await collect(engine, rest)
    assert max(1, least - done) <= len(ids) <= most - done
    assert (reason == "length") == (len(ids) == most - done and ids[-1] not in _ends(engine))


def _ends(engine: VllmEngine) -> frozenset[int]:
    return engine.tokenizer.eos_ids


async def test_a_closed_reader_frees_its_slot(engine: VllmEngine) -> None:
    async with aclosing(engine.generate(request(engine, max_tokens=1500, min_tokens=1500))) as some:
        await anext(some)
        assert engine.stats().running == 1
    await nothing_is_left(engine)


@pytest.mark.parametrize("steps", [0, 1, 3, 10, 100])
async def test_a_reader_cancelled_at_any_moment_frees_its_slot(
    engine: VllmEngine, steps: int
) -> None:
    asked = request(engine, f"c{steps}", max_tokens=1500, min_tokens=1500)
    task = asyncio.create_task(collect(engine, asked))
    for _ in range(steps):
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await nothing_is_left(engine)


async def test_a_reader_cancelled_while_its_request_is_added_frees_its_slot(
    engine: VllmEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = engine._llm.engine_core
    add, adding = core.add_request_async, asyncio.Event()

    async def slow(*args: Any) -> None:
        await add(*args)
        adding.set()
        await asyncio.sleep(0.5)

    monkeypatch.setattr(core, "add_request_async", slow)
    task = asyncio.create_task(collect(engine, request(engine, max_tokens=1500, min_tokens=1500)))
    await adding.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    monkeypatch.undo()
    await nothing_is_left(engine)


@pytest.mark.parametrize(
    "bad",
    [
        {"prompt_ids": tuple(range(100, 100 + 1024))},
        {"prompt_ids": (5,) * 5000},
        {"prompt_ids": ()},
        {"prompt_ids": (10**7,)},
        {"temperature": -1.0},
        {"top_p": 2.0},
        {"max_tokens": 0},
        {"generated": tuple(range(100, 124))},  # nothing remains
        {"seed": 2**70},
    ],
    ids=lambda bad: next(iter(bad)),
)
async def test_what_it_cannot_take_is_rejected_and_it_lives_on(
    engine: VllmEngine, bad: dict[str, Any]
) -> None:
    with pytest.raises(RequestRejected):
        await collect(engine, request(engine, **bad))
    await engine.check()
    assert (await collect(engine, request(engine, max_tokens=2)))[0]
    assert engine.stats().running == 0


async def test_an_answer_ends_where_the_models_room_does(engine: VllmEngine) -> None:
    prompt = tuple(engine.tokenizer.encode("soup ")) * 5000
    asked = request(engine, prompt_ids=prompt[: engine.max_model_len - 5], min_tokens=20)
    ids, reason, _ = await collect(engine, asked)
    assert (len(ids), reason) == (5, "length")


async def test_a_dead_core_is_told_at_once_and_leaves_no_process(engine: VllmEngine) -> None:
    """The last one: it ends the module's engine."""
    started = set(descendants(os.getpid()))
    core = engine_core(os.getpid())
    assert core in started
    running = asyncio.create_task(
        collect(engine, request(engine, max_tokens=1500, min_tokens=1500))
    )
    while not engine.stats().tokens_generated or not engine._stats.running:
        await asyncio.sleep(0.02)
    os.kill(core, signal.SIGKILL)
    async with asyncio.timeout(5):
        with pytest.raises(EngineDead):
            await running
        with pytest.raises(EngineDead):
            await engine.check()
        with pytest.raises(EngineDead):
            await collect(engine, request(engine))
    assert engine.stats().running == 0
    await engine.shutdown()
    await engine.shutdown()
    assert not wait_until_gone({core}, 5)
    assert not [c for c in descendants(os.getpid()).values() if "spawn_main" in c]
