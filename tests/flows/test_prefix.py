"""No customer waits for what every prompt begins with."""

import asyncio
from typing import Any

import pytest

from assistant import prompts
from assistant.db import in_db
from assistant.models import PromptVersion
from inference import dispatch
from inference.models import Generation
from inference.store import JobStore
from inference.tokenizer import ChatTokenizer
from orders.models import Customer
from tests.chats import running_host, socket

pytestmark = pytest.mark.django_db(transaction=True)


async def test_the_first_question_finds_the_prefix_in_the_cache(
    maya: Customer, store: JobStore, tokenizer: ChatTokenizer
) -> None:
    ids = await in_db(prompts.prefix_ids)()
    await dispatch.announce_prefix(ids)
    async with running_host(store, tokenizer, speed=20), socket(maya) as chat:
        await chat.open()
        answer = await chat.answer("Where is my order?")
    run = await in_db(Generation.objects.get)(answer_id=answer["id"])
    # Whole blocks of 32; the prompt begins with the very ids that were announced.
    assert run.cached_tokens == len(ids) // 32 * 32
    assert run.prompt_tokens > len(ids)


async def test_a_new_prefix_is_prefilled_while_the_host_runs(
    maya: Customer, store: JobStore, tokenizer: ChatTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference.host._WARM_S", 0.05)
    async with running_host(store, tokenizer, speed=20) as host:
        before = host.engine.stats().tokens_generated
        await dispatch.announce_prefix(await in_db(prompts.prefix_ids)())
        async with asyncio.timeout(5):
            while host.engine.stats().tokens_generated == before:
                await asyncio.sleep(0.02)
        after = host.engine.stats().tokens_generated
        await asyncio.sleep(0.3)
        assert host.engine.stats().tokens_generated == after  # once


def test_the_prefix_is_that_of_the_prompt_in_force(db: Any) -> None:
    ids = prompts.prefix_ids()
    assert len(ids) == PromptVersion.objects.get().tokens
