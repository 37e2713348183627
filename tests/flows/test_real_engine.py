"""``run_engine_host`` as a process of its own with the real engine: its answers and its ends.

The first two tests share a host; the second of them drains it.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assistant.db import in_db
from assistant.models import Message
from assistant.prompts import job_for
from inference.journal import read
from inference.messages import Job, Outcome, Sampling
from inference.model_store import fingerprint
from inference.models import Generation
from inference.store import JobStore
from inference.tokenizer import ChatMessage, ChatTokenizer, load_tokenizer
from orders.models import Customer
from tests.chats import socket
from tests.engines import MODEL, descendants, engine_core, engine_model, wait_until_gone
from tests.inference.hosts import watch
from tests.settings import REDIS_SOCKET, ROOT, VAR

pytestmark = pytest.mark.engine

START_S = 90


@contextmanager
def engine_host(name: str) -> Iterator[subprocess.Popen[str]]:
    engine_model()
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "quickbite_support.settings",
        "QUICKBITE_VAR": str(VAR),
        "REDIS_URL": f"unix://{REDIS_SOCKET}",
        "ENGINE": "vllm",
        "QUICKBITE_MODEL": MODEL,
        "INFERENCE_LEASE_S": "2",
        "INFERENCE_TEXT_FILTER": "inference.filters.PassThrough",
        "LOG_LEVEL": "WARNING",
    }
    process = subprocess.Popen(
        [sys.executable, "manage.py", "run_engine_host", "--name", name],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        left = set(descendants(process.pid)) | {process.pid}
        process.kill()
        process.communicate()
        for pid in wait_until_gone(left, 2):
            os.kill(pid, signal.SIGKILL)


async def is_ready(store: JobStore, process: subprocess.Popen[str], name: str) -> None:
    async with asyncio.timeout(START_S):
        while (name, "ready") not in [(h.host, h.state) for h in await store.living_hosts()]:
            assert process.poll() is None, process.communicate()[1]
            await asyncio.sleep(0.1)


async def ask(store: JobStore, answer_id: str, *, tokens: int = 16, least: int = 0) -> Job:
    tokenizer = load_tokenizer(engine_model())
    prompt = tokenizer.render([ChatMessage("user", "Name three things that go into a soup.")])
    job = Job(
        id=answer_id,
        model=fingerprint(tokenizer.folder),
        prompt_ids=tuple(prompt),
        sampling=Sampling(max_tokens=tokens, min_tokens=least),
    )
    assert await store.create(job)
    return job


async def has_begun(store: JobStore, answer_id: str) -> None:
    async with asyncio.timeout(30):
        while not (await read(store, answer_id)).text:
            await asyncio.sleep(0.02)


@pytest.fixture(scope="module")
def shared(redis_socket: Path) -> Iterator[subprocess.Popen[str]]:
    with engine_host("shared") as process:
        yield process


@pytest.fixture
def real_engine(settings: Any) -> ChatTokenizer:
    """This process is a web server of the real engine's model."""
    settings.ENGINE, settings.QUICKBITE_MODEL = "vllm", MODEL
    return load_tokenizer(engine_model())


def kept(answer_id: str) -> tuple[Message, Generation, Job]:
    """What the database holds of an answer, and the job that it was."""
    row = Message.objects.select_related("answer_to", "prompt", "conversation").get(
        public_id=answer_id
    )
    return row, Generation.objects.get(answer_id=row.public_id), job_for(row)


@pytest.mark.django_db(transaction=True)
async def test_a_chat_is_answered_by_the_real_engine(
    shared: subprocess.Popen[str], real_engine: ChatTokenizer, maya: Customer, store: JobStore
) -> None:
    await is_ready(store, shared, "shared")
    async with socket(maya) as chat:
        ready = await chat.open()
        assert ready["engine"] == {"state": "ready", "simulated": False}
        prompts, texts = [], []
        for question in ("Where is my order?", "And who is bringing it?"):
            ack = await chat.ask(question)
            assert ack["type"] == "ack", ack
            answer = await chat.end_of(ack["answer"]["id"], timeout=60)
            assert (answer["status"], answer["source"]) == ("complete", "model")
            # Words, in more than one piece, and the pieces make the row's text.
            pieces = [
                f for f in chat.frames if f["type"] == "token" and f["message"] == answer["id"]
            ]
            assert len(pieces) > 1
            assert chat.shown[answer["id"]].strip() == answer["text"]
            assert any(character.isalpha() for character in answer["text"])
            row, run, job = await in_db(kept)(answer["id"])
            assert (row.status, row.text) == ("complete", answer["text"])
            assert (run.outcome, run.host, run.model) == ("done", "shared", MODEL)
            assert 0 < run.output_tokens <= job.sampling.max_tokens
            assert run.started_at < run.first_token_at < run.finished_at
            # The engine was given this prompt and no other.
            assert run.prompt_tokens == len(job.prompt_ids)
            prompts.append(real_engine.decode(job.prompt_ids))
            texts.append(answer["text"])
    first, second = prompts
    assert "Bella Napoli" in first
    assert "And who is bringing it?" not in first
    # The second prompt holds the first question and its answer.
    said, asked = second.rindex("Where is my order?"), second.index("And who is bringing it?")
    assert said < second.index(texts[0][:40], said) < asked


async def test_a_host_answers_and_a_sigterm_drains_it(
    shared: subprocess.Popen[str], store: JobStore
) -> None:
    process = shared
    tokenizer = load_tokenizer(engine_model())
    await is_ready(store, process, "shared")
    await ask(store, "a")
    shown, transcript = await watch(store, "a")
    assert transcript.end is not None
    assert (transcript.end.outcome, transcript.end.host) == (Outcome.DONE, "shared")
    assert shown == tokenizer.decode(tokenizer.whole(transcript.ids))
    assert any(character.isalpha() for character in shown)
    end = transcript.end
    assert end.created_us < end.claimed_us < end.first_token_us < end.finished_us

    children = set(descendants(process.pid))
    assert children
    await ask(store, "b", tokens=40, least=40)
    await has_begun(store, "b")
    process.terminate()
    _, transcript = await watch(store, "b")
    assert transcript.end is not None
    assert transcript.end.usage.output_tokens == 40  # what ran was finished
    _, errors = await asyncio.to_thread(process.communicate, None, 30)
    assert process.returncode == 0, errors
    assert not wait_until_gone(children, 1)
    assert "Traceback" not in errors
    assert await store.living_hosts() == []


async def test_a_killed_host_leaves_no_engine_behind(store: JobStore) -> None:
    with engine_host("killed") as process:
        await is_ready(store, process, "killed")
        await ask(store, "a", tokens=500, least=500)
        await has_begun(store, "a")
        children = set(descendants(process.pid))
        assert engine_core(process.pid) in children
        process.kill()
        process.wait()
        assert not wait_until_gone(children, 5)
        # Its answer goes back when the lease runs out: nothing of it is lost.
        before = (await read(store, "a")).text
        async with asyncio.timeout(5):
            while not await store.reap():
                await asyncio.sleep(0.1)
        assert (await read(store, "a")).text.startswith(before)
        assert await store.queue_length(fingerprint(engine_model())) == 1


async def test_a_host_whose_engine_core_dies_ends_with_an_error(store: JobStore) -> None:
    with engine_host("cored") as process:
        await is_ready(store, process, "cored")
        job = await ask(store, "a", tokens=500, least=500)
        await has_begun(store, "a")
        children = set(descendants(process.pid))
        os.kill(engine_core(process.pid), signal.SIGKILL)
        async with asyncio.timeout(2):  # the lease is given back, not waited for
            while await store.queue_length(job.model) != 1:
                await asyncio.sleep(0.02)
        _, errors = await asyncio.to_thread(process.communicate, None, 30)
        assert process.returncode not in (0, None)
        assert "CommandError: " in errors  # one line says why
        assert "Traceback" not in errors.partition("CommandError: ")[2]
        assert not wait_until_gone(children, 2)


async def test_a_sigterm_while_the_engine_starts_is_obeyed(store: JobStore) -> None:
    with engine_host("hasty") as process:
        async with asyncio.timeout(START_S):
            while not any("spawn_main" in c for c in descendants(process.pid).values()):
                assert process.poll() is None, process.communicate()[1]
                await asyncio.sleep(0.05)
        children = set(descendants(process.pid))
        begun = time.monotonic()
        process.terminate()
        _, errors = await asyncio.to_thread(process.communicate, None, 30)
        assert time.monotonic() - begun < 10
        assert process.returncode == 0, errors
        assert not wait_until_gone(children, 2)
