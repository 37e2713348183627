"""A whole run, from start to stop, with small programs in place of the real ones."""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from deploy import checks
from deploy.console import SetupProblem
from deploy.layout import REPOSITORY, Options

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class Run:
    """One ``stub_run``, its output, and the processes that belong to it."""

    def __init__(self, var: Path, web: str = "healthy", *, under_make: bool = False) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.options = Options(engine="simulated", port=self.port, var=var, hardware="cpu")
        self.output = var.parent / "output.txt"
        self.mark = str(var).encode()
        command = [
            sys.executable,
            "-m",
            "tests.setup.stub_run",
            "run",
            str(self.port),
            str(var),
            web,
        ]
        if under_make:
            makefile = var.parent / "Makefile"
            makefile.write_text(f"run:\n\t@exec {shlex.join(command)}\n")
            command = ["make", "--no-print-directory", "-f", str(makefile), "run"]
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                cwd=REPOSITORY,
                stdout=output,
                stderr=output,
                start_new_session=True,
                # As in a terminal: a shell's background jobs are started with Ctrl-C ignored.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    def text(self) -> str:
        return self.output.read_text(errors="replace")

    def members(self) -> list[int]:
        """Every living process that was told of this run's folder, but the runner itself."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal() or int(entry.name) == self.process.pid:
                continue
            with suppress(OSError):
                # Redis writes its title over its environment.
                told = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                if self.mark in told:
                    found.append(int(entry.name))
        return found

    def wait_until_ready(self) -> None:
        wait_for(lambda: "ready: http" in self.text(), self.text)
        wait_for(lambda: len(self.members()) >= 6, self.text)  # the worker's child is the last

    def log(self, name: str) -> str:
        return (self.options.logs / f"{name}.log").read_text()


def wait_for(
    condition: Callable[[], bool], describe: Callable[[], object], limit: float = 20.0
) -> None:
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, describe()
        time.sleep(0.05)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def start(web: str = "healthy", *, under_make: bool = False) -> Run:
        folder = tmp_path / str(len(runs))
        folder.mkdir()
        runs.append(Run(folder / "var", web, under_make=under_make))
        return runs[-1]

    yield start
    for run in runs:
        for pid in [run.process.pid, *run.members()]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        run.process.wait()


# Most of a run's start and end is waiting: runs that are ended in several ways wait together.


def started(start: Callable[..., Run], number: int, **more: bool) -> list[Run]:
    runs = [start(**more) for _ in range(number)]
    for run in runs:
        run.wait_until_ready()
    return runs


def test_a_stop_signal_ends_every_process(start: Callable[..., Run]) -> None:
    numbers = (signal.SIGINT, signal.SIGHUP)
    runs = started(start, len(numbers))

    for run, number in zip(runs, numbers, strict=True):
        run.process.send_signal(number)

    for run in runs:
        assert run.process.wait(timeout=20) == 0
        assert run.members() == []
        assert run.text().endswith("Stopping everything …\nStopped.\n")


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_a_signal_to_make_alone_ends_every_process(start: Callable[..., Run]) -> None:
    """Ctrl-C reaches the whole group; a script that runs `make run` signals make alone."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    runs = started(start, len(numbers), under_make=True)

    for run, number in zip(runs, numbers, strict=True):
        run.process.send_signal(number)

    for run, number in zip(runs, numbers, strict=True):
        assert run.process.wait(timeout=20) == -number
        wait_for(lambda run=run: run.members() == [], run.members)
        wait_for(lambda run=run: run.text().endswith("everything …\nStopped.\n"), run.text)


def test_nothing_is_left_when_a_process_in_charge_is_killed(start: Callable[..., Run]) -> None:
    itself, supervisors = started(start, 2)

    os.kill(int((supervisors.options.runtime / "supervisord.pid").read_text()), signal.SIGKILL)
    itself.process.kill()

    for run in (itself, supervisors):
        run.process.wait(timeout=20)
        wait_for(lambda run=run: run.members() == [], run.members)


def test_a_dead_process_is_started_again(start: Callable[..., Run]) -> None:
    run = start()
    run.wait_until_ready()
    before = set(run.members())
    (redis,) = (pid for pid in before if b"redis-server" in command_line(pid))

    os.kill(redis, signal.SIGKILL)

    wait_for(
        lambda: any(b"redis-server" in command_line(pid) for pid in set(run.members()) - before),
        run.text,
    )
    assert run.process.poll() is None


def test_a_process_that_keeps_dying_is_named_with_its_last_words_and_its_log(
    start: Callable[..., Run],
) -> None:
    run = start(web="broken")

    wait_for(lambda: "keeps stopping" in run.text(), run.text)

    assert (
        "The web server keeps stopping. Last words: 'the reason why it died'. "
        f"Read {run.options.logs / 'web.log'}\n"
    ) in run.text()
    assert "restarted; waiting 2 s first" in run.log("web")


def test_redis_is_private_a_second_run_is_refused_and_redis_stops_last(
    start: Callable[..., Run],
) -> None:
    run = start()
    run.wait_until_ready()

    assert run.options.redis_socket.stat().st_mode & 0o777 == 0o700
    assert run.options.redis_socket.parent.stat().st_mode & 0o077 == 0
    with pytest.raises(SetupProblem, match="already running in this checkout"):
        checks.check_not_running(run.options.supervisor_socket)
    with pytest.raises(SetupProblem, match=f"Port {run.port} is in use"):
        checks.check_port(run.port)

    run.process.send_signal(signal.SIGTERM)
    run.process.wait(timeout=20)

    checks.check_not_running(run.options.supervisor_socket)
    checks.check_port(run.port)
    log = run.log("supervisord").splitlines()
    stopped = [line.split("stopped: ")[1].split()[0] for line in log if "stopped: " in line]
    assert stopped == ["worker", "web", "redis"]


def command_line(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
