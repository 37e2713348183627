"""The simulated engine: the same text every time, in the reference GPU host's time."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from inference.engines import Delta, Request
from inference.engines.simulated import (
    PREFILL_S_PER_TOKEN,
    STEP_BASE_S,
    STEP_PER_SEQUENCE_S,
    SimulatedEngine,
    simulated_ids,
)
from inference.errors import EngineDead, RequestRejected
from inference.messages import Sampling
from inference.tokenizer import ChatTokenizer
from tests.inference.virtual_time import in_virtual_time

PROMPT = tuple(range(100, 148))


def request(
    prompt: tuple[int, ...] = PROMPT, generated: tuple[int, ...] = (), max_tokens: int = 150
) -> Request:
    sampling = Sampling(max_tokens=max_tokens)
    return Request(id="r", prompt_ids=prompt, generated=generated, sampling=sampling)


async def collect(engine: SimulatedEngine, asked: Request) -> tuple[list[int], str | None, int]:
    ids: list[int] = []
    last = Delta(ids=())
    async for last in engine.generate(asked):
        ids += last.ids
    return ids, last.finish_reason, last.cached_tokens


def with_engine(tokenizer: ChatTokenizer, work: Any, **more: Any) -> Any:
    async def main() -> Any:
        engine = SimulatedEngine(tokenizer, **more)
        await engine.start()
        try:
            return await work(engine)
        finally:
            await engine.shutdown()
            assert engine.stats().running == 0

    return in_virtual_time(main)


def test_the_text_is_a_function_of_the_prompt(tokenizer: ChatTokenizer) -> None:
    async def twice(engine: SimulatedEngine) -> tuple[Any, Any, Any]:
        return (
            await collect(engine, request()),
            await collect(engine, request()),
            await collect(engine, request(prompt=(*PROMPT, 7))),
        )

    first, second, other = with_engine(tokenizer, twice)
    expected = simulated_ids(PROMPT, tokenizer, 150)
    assert first[0] == second[0] == expected
    assert other[0] != first[0]
    assert "�" not in tokenizer.decode(tokenizer.whole(expected))


@pytest.mark.parametrize("answer_tokens", [150, 40], ids=["cut by the limit", "ends by itself"])
def test_a_continuation_equals_the_whole(tokenizer: ChatTokenizer, answer_tokens: int) -> None:
    async def all_cuts(engine: SimulatedEngine) -> None:
        whole, reason, _ = await collect(engine, request(max_tokens=60))
        assert reason == ("length" if answer_tokens == 150 else "stop")
        for cut in range(1, len(whole)):
            rest = await collect(engine, request(generated=tuple(whole[:cut]), max_tokens=60))
            assert (whole[:cut] + rest[0], rest[1]) == (whole, reason)

    with_engine(tokenizer, all_cuts, answer_tokens=answer_tokens)


def timed(tokenizer: ChatTokenizer, requests: list[Request], **more: Any) -> list[list[float]]:
    """When each token of each request came, all sent together, in seconds."""

    async def work(engine: SimulatedEngine) -> list[list[float]]:
        clock = asyncio.get_running_loop().time
        begin = clock()

        async def one(asked: Request) -> list[float]:
            return [clock() - begin async for _ in engine.generate(asked)]

        return list(await asyncio.gather(*(one(r) for r in requests)))

    return with_engine(tokenizer, work, **more)  # type: ignore[no-any-return]


def prompts(count: int, length: int = 600) -> list[Request]:
    """Prompts that share nothing."""
    return [request(prompt=tuple(range(n, n + length)), max_tokens=150) for n in range(count)]


def test_alone_an_answer_takes_the_reference_time(tokenizer: ChatTokenizer) -> None:
    (times,) = timed(tokenizer, prompts(1))
    step = STEP_BASE_S + STEP_PER_SEQUENCE_S
    assert times[0] == pytest.approx(0.1 + step)  # prefill of 600 tokens, one step
    assert times[-1] == pytest.approx(0.1 + 150 * step)
    assert times[-1] == pytest.approx(1.8, rel=0.02)
    assert len(times) == 150


def test_running_together_slows_each_step_a_little(tokenizer: ChatTokenizer) -> None:
    together = timed(tokenizer, prompts(32))
    step = STEP_BASE_S + 32 * STEP_PER_SEQUENCE_S
    for times in together:
        assert times[-1] == pytest.approx(0.1 + 150 * step)
    assert 32 / together[0][-1] == pytest.approx(10.4, abs=0.4)  # answers a second


def test_a_prefill_does_not_slow_the_others(tokenizer: ChatTokenizer) -> None:
    alone = timed(tokenizer, prompts(1, 12))[0]
    beside = timed(tokenizer, [*prompts(1, 12), request(prompt=tuple(range(3000)))])[0]
    first_s = 3000 * PREFILL_S_PER_TOKEN
    assert [t for t in beside if t < first_s] == pytest.approx([t for t in alone if t < first_s])


def test_only_uncached_tokens_are_prefilled(tokenizer: ChatTokenizer) -> None:
    shared = tuple(range(448))

    async def work(engine: SimulatedEngine) -> list[tuple[float, int]]:
        clock = asyncio.get_running_loop().time
        found = []
        for tail in (600, 1600):
            begin = clock()
            asked = request(prompt=shared + tuple(range(tail, tail + 152)), max_tokens=1)
            async for delta in engine.generate(asked):
                found.append((clock() - begin, delta.cached_tokens))
        return found

    (cold_s, none), (warm_s, cached) = with_engine(tokenizer, work)
    assert (none, cached) == (0, 448)
    assert cold_s - warm_s == pytest.approx(448 * PREFILL_S_PER_TOKEN)


def test_speed_scales_the_time(tokenizer: ChatTokenizer) -> None:
    (slow,), (fast,) = timed(tokenizer, prompts(1)), timed(tokenizer, prompts(1), speed=10)
    assert fast[-1] == pytest.approx(slow[-1] / 10)


@pytest.mark.parametrize("length", [0, 64, 65])
def test_a_prompt_that_does_not_fit_is_rejected(tokenizer: ChatTokenizer, length: int) -> None:
    async def work(engine: SimulatedEngine) -> None:
        with pytest.raises(RequestRejected):
            await collect(engine, request(prompt=tuple(range(length))))
        ids, reason, _ = await collect(engine, request(prompt=tuple(range(60))))
        assert (len(ids), reason) == (4, "length")  # and an answer ends where the room does

    with_engine(tokenizer, work, max_model_len=64)


@pytest.mark.parametrize("after_s", [0.01, 0.5], ids=["prefill", "decode"])
def test_a_cancelled_reader_frees_its_slot(tokenizer: ChatTokenizer, after_s: float) -> None:
    async def work(engine: SimulatedEngine) -> None:
        task = asyncio.create_task(collect(engine, prompts(1)[0]))
        await asyncio.sleep(after_s)
        assert engine.stats().running == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert engine.stats().running == 0

    with_engine(tokenizer, work)


def test_a_closed_generator_frees_its_slot(tokenizer: ChatTokenizer) -> None:
    async def work(engine: SimulatedEngine) -> None:
        async with aclosing(engine.generate(prompts(1)[0])) as deltas:
            await anext(deltas)
            assert engine.stats().running == 1
        assert engine.stats().running == 0
        assert engine.stats().tokens_generated == 1

    with_engine(tokenizer, work)


@pytest.mark.parametrize("after_s", [0.01, 0.5], ids=["prefill", "decode"])
def test_no_reader_outlives_the_engine(tokenizer: ChatTokenizer, after_s: float) -> None:
    async def work(engine: SimulatedEngine) -> None:
        task = asyncio.create_task(collect(engine, prompts(1)[0]))
        await asyncio.sleep(after_s)
        await engine.shutdown()
        async with asyncio.timeout(5):
            with pytest.raises(EngineDead):
                await task
        for call in (engine.check(), collect(engine, request())):
            with pytest.raises(EngineDead):
                await call

    with_engine(tokenizer, work)
