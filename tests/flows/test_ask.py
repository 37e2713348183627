"""The command that asks as a customer would, against a real web server."""

import json
import os
import socket as sockets
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from websockets.sync.server import ServerConnection, serve

from tests.orders.builders import a_customer
from tests.settings import ROOT

pytestmark = pytest.mark.django_db(transaction=True)


def free_port() -> int:
    with sockets.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def site(clean_redis: Any) -> Iterator[str]:
    """A web server and an engine host of their own, on the test's database."""
    call_command("load_demo", verbosity=0)
    port = free_port()
    started = [
        subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=_env(), stdout=subprocess.DEVNULL
        )
        for command in (
            ["-m", "daphne", "-p", str(port), "quickbite_support.asgi:application"],
            ["manage.py", "run_engine_host", "--name", "asked"],
        )
    ]
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_ready(url)
        yield url
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(15)


def _env() -> dict[str, str]:
    settings = "quickbite_support.settings"
    return os.environ | {"DATABASE_URL": _database_url(), "DJANGO_SETTINGS_MODULE": settings}


def _database_url() -> str:
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    base, _, _ = os.environ["DATABASE_URL"].rpartition("/")
    return f"{base}/{name}"


def _wait_until_ready(url: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=3) as response:  # noqa: S310
                if json.load(response)["components"]["engine"]["status"] == "ok":
                    return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError("the site is not ready")


def ask(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "ask", *arguments],
        cwd=ROOT,
        env=_env(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class Unreliable:
    """A web server that knows the protocol and does to each question what its text says."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.server = serve(self._talk, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.socket.getsockname()[1]}"
        self.thread = Thread(target=self.server.serve_forever)

    def __enter__(self) -> "Unreliable":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join()

    def _talk(self, connection: ServerConnection) -> None:
        connection.recv()
        connection.send(json.dumps({"type": "ready", "conversation": str(uuid4())}))
        frame = json.loads(connection.recv())
        self.asked.append(frame["text"])
        if frame["text"] == "hang up":
            connection.socket.close()
        elif frame["text"] == "say nothing":
            connection.recv()
        else:
            connection.send(
                json.dumps(
                    {"type": "error", "code": "busy", "text": "Busy."}
                    | {"client_id": frame["client_id"]}
                )
            )


def questions(folder: Path, *lines: object) -> Path:
    path = folder / "questions.jsonl"
    path.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines))
    return path


def ask_file(path: Path, url: str) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("ask", file=path, url=url, json=True, timeout=1, concurrency=2, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_one_questions_trouble_is_its_own(tmp_path: Path) -> None:
    a_customer("maya")
    path = questions(
        tmp_path,
        {"text": "hang up"},
        {"text": "say nothing"},
        {"text": "Where is it?", "customer": "nobody"},
        {"text": "half of a character: \ud83d"},
        {"text": "answer"},
    )
    with Unreliable() as server:
        results = ask_file(path, server.url)
    errors = [result["error"] for result in results]
    assert errors == ["connection", "timeout", "unknown_customer", "busy", "busy"]
    assert results[3]["asked"].endswith("\ud83d")
    assert (results[1]["asked"], results[1]["text"], results[1]["tokens"]) == ("say nothing", "", 0)


def test_where_nobody_answers_at_all_the_command_fails(tmp_path: Path) -> None:
    a_customer("maya")
    with pytest.raises(CommandError, match="Is it running there"):
        ask_file(questions(tmp_path, {"text": "a"}, {"text": "b"}), "http://127.0.0.1:9")


@pytest.mark.parametrize(
    "wrong",
    ["{", "[]", '"text"', "{}", '{"text": 3}', '{"text": "a", "customer": ["maya"]}', "[" * 9999],
)
def test_a_file_with_a_mistake_is_refused_before_anything_is_asked(
    tmp_path: Path, wrong: str
) -> None:
    a_customer("maya")
    with Unreliable() as server:
        with pytest.raises(CommandError, match="line 2: "):
            ask_file(questions(tmp_path, {"text": "a"}, wrong), server.url)
        assert server.asked == []


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    a_customer("maya")
    path = tmp_path / "questions.jsonl"
    path.write_bytes(b'{"text": "\xff"}')
    with pytest.raises(CommandError, match="it is not UTF-8"):
        ask_file(path, "http://127.0.0.1:9")


def test_what_ask_prints(site: str, tmp_path: Path) -> None:
    one = ask("Where is my order?", "--no-cache", "--json", "--url", site)
    assert one.returncode == 0, one.stderr
    result = json.loads(one.stdout.splitlines()[-1])
    assert result["asked"] == "Where is my order?"
    assert result["text"]
    assert (result["source"], result["error"], result["tokens"]) == ("model", None, 150)
    assert 0 < result["ttft_ms"] < result["total_ms"]
    assert result["facts"]["restaurant"] == "Bella Napoli"
    assert result["facts"]["can_cancel"]["allowed"] is False
    assert result["facts"]["policies"]
    contract = """asked text source category escalation offered error facts ttft_ms total_ms tokens
        conversation message"""
    assert set(contract.split()) <= set(result)

    human = ask("Who brings it?", "--customer", "liam", "--url", site)
    assert human.returncode == 0, human.stderr
    assert "ttft_ms" in human.stdout

    # Each line of a file, in order; a refused question is a result too.
    questions = tmp_path / "q.jsonl"
    lines = [{"text": f"Question {n}?"} for n in range(13)]
    lines[4] = {"text": "  "}
    lines[5] = {"text": "Mine?", "customer": "maya", "order": "QB-99999"}
    questions.write_text("\n".join(json.dumps(line) for line in lines))
    many = ask("--file", str(questions), "--concurrency", "6", "--json", "--url", site)
    assert many.returncode == 0, many.stderr
    results = [json.loads(line) for line in many.stdout.splitlines()]
    assert [r["asked"] for r in results] == [line["text"] for line in lines]
    assert [r["error"] for r in results if r["error"]] == ["empty", "order_not_found"]
    assert all(r["text"] for r in results)

    for arguments in (
        ["Hello?", "--customer", "nobody", "--url", site],
        ["--url", site],
        ["--file", str(tmp_path / "missing"), "--url", site],
        ["Hello?", "--url", "http://127.0.0.1:9"],
    ):
        failed = ask(*arguments)
        assert failed.returncode != 0
        assert len(failed.stderr.strip().splitlines()) == 1, failed.stderr
