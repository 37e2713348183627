"""A whole site of its own for the browser: Redis, web server and simulated engine as processes.

Everything lives in one temporary folder and listens on loopback or a Unix socket.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.services import redis_binary, wait_for_redis

ROOT = Path(__file__).resolve().parents[2]

#: Seconds in which each process must be there.
PATIENCE_S = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class LiveSite:
    """``start`` leaves a site with demo data at ``url``; ``stop`` ends all that it started."""

    var: Path
    settings: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def env(self) -> dict[str, str]:
        redis = f"unix://{self.var}/redis.sock?db=0"
        return {
            **os.environ,
            "QUICKBITE_VAR": str(self.var),
            "DATABASE_URL": f"sqlite:///{self.var}/db.sqlite3",
            "REDIS_URL": redis,
            "CELERY_BROKER_URL": redis.replace("unix://", "redis+socket://"),
            "ENGINE": "simulated",
            "QUICKBITE_MODEL": "simulated",
            "DJANGO_SETTINGS_MODULE": "quickbite_support.settings",
            "PYTHONUNBUFFERED": "1",
            **self.settings,
        }

    # ---- its life ----------------------------------------------------------------------------

    def start(self) -> None:
        self.var.mkdir(parents=True, exist_ok=True)
        (ROOT / "var" / "models").mkdir(parents=True, exist_ok=True)
        (self.var / "models").symlink_to(ROOT / "var" / "models")
        self._start_redis()
        self.manage("prepare_model", "simulated")
        self.manage("migrate", "--verbosity", "0")
        self.manage("load_demo")
        self.start_web()
        self.start_host()
        self.wait_for_engine()

    def stop(self) -> None:
        for name in reversed(list(self.processes)):
            self.end(name)

    def _start_redis(self) -> None:
        sock = self.var / "redis.sock"
        self._spawn(
            "redis",
            [redis_binary(), "--port", "0", "--unixsocket", str(sock), "--save", "",
             "--appendonly", "no", "--dir", str(self.var)],
        )  # fmt: skip
        wait_for_redis(sock)

    def start_web(self) -> None:
        self._spawn(
            "web",
            [sys.executable, "-m", "daphne", "-b", "127.0.0.1", "-p", str(self.port),
             "quickbite_support.asgi:application"],
        )  # fmt: skip
        self._until(lambda: self.get("/healthz") is not None, "web")

    def start_host(self) -> None:
        self._spawn("host", [sys.executable, "manage.py", "run_engine_host", "--name", "browser"])

    def wait_for_engine(self) -> None:
        self._until(lambda: '"hosts": 1' in (self.get("/readyz") or ""), "host")

    # ---- its parts ---------------------------------------------------------------------------

    def manage(self, *arguments: str, text: str | None = None) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT, env=self.env, input=text, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_S * 2,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"manage.py {' '.join(arguments)} failed:\n{done.stdout}")
        return done.stdout

    def end(self, name: str, how: signal.Signals = signal.SIGTERM) -> None:
        process = self.processes.pop(name)
        process.send_signal(how)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=10)

    def get(self, path: str) -> str | None:
        try:
            with urllib.request.urlopen(self.url + path, timeout=5) as answer:  # noqa: S310
                return str(answer.read().decode())
        except (urllib.error.URLError, OSError):
            return None

    def log(self, name: str) -> str:
        path = self.var / f"{name}.log"
        return path.read_text(errors="replace")[-4000:] if path.exists() else ""

    def _spawn(self, name: str, command: Sequence[str]) -> None:
        with (self.var / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, cwd=ROOT, env=self.env, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def _until(self, there: Callable[[], bool], name: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not there() or self.processes[name].poll() is not None:
            if time.monotonic() > end or self.processes[name].poll() is not None:
                raise RuntimeError(f"{name} did not start:\n{self.log(name)}")
            time.sleep(0.1)
