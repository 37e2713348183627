"""The command that asks as a customer would, against a real web server."""

import json
import os
import socket as sockets
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

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
