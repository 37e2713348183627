"""Start everything under supervisor, say when it is ready, stop everything whatever happens."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from deploy import processes, readiness
from deploy.console import SetupProblem, say, step
from deploy.launch import end_with_parent
from deploy.layout import REPOSITORY, VENV_PYTHON, Options, make_private
from deploy.processes import Process

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

WELCOME = """\
QuickBite support is ready: {url}
    customers   maya, liam and others, password demo   (chat at {url})
    staff       editor or admin, password demo         ({url}admin/)
    logs        {logs}
    Ctrl-C stops everything."""


def run(options: Options) -> int:
    """Run until a stop signal. Returns the exit status; no process outlives it."""
    programs = processes.processes(options)
    write_files(options, programs)
    with StopRequest() as stop:
        step("Starting " + ", ".join(program.title for program in programs))
        keeper = start_keeper(options)
        try:
            return watch(options, programs, keeper, stop)
        finally:
            stop_keeper(keeper)
            say("Stopped.")


def write_files(options: Options, programs: Sequence[Process]) -> None:
    shutil.rmtree(options.runtime, ignore_errors=True)  # the last run's
    for folder in (options.redis_socket.parent, options.supervisor_socket.parent, options.runtime):
        make_private(folder)
    for folder in (options.logs, options.var / "redis"):
        folder.mkdir(parents=True, exist_ok=True)
    (options.runtime / "redis.conf").write_text(processes.redis_config(options), encoding="utf-8")
    config_file(options).write_text(
        processes.supervisor_config(options, programs), encoding="utf-8"
    )


def config_file(options: Options) -> Path:
    return options.runtime / "supervisord.conf"


def start_keeper(options: Options) -> subprocess.Popen[bytes]:
    """The process that holds supervisor (deploy/keeper.py) and goes when this one goes."""
    return subprocess.Popen(
        [VENV_PYTHON, "-m", "deploy.keeper", config_file(options)],
        cwd=REPOSITORY,
        env=processes.environment(options),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: end_with_parent(signal.SIGTERM),
    )


def watch(
    options: Options,
    programs: Sequence[Process],
    keeper: subprocess.Popen[bytes],
    stop: "StopRequest",
) -> int:
    trouble = readiness.Trouble(options, programs)
    patience = readiness.Patience()
    ready = False
    while not stop.requested():
        if keeper.poll() is not None:
            raise SetupProblem(
                f"supervisor ended with {keeper.returncode}. "
                f"Read {options.logs / 'supervisord.log'}"
            )
        for news in trouble.news():
            say(news)
        if not ready:
            if hopeless := trouble.hopeless():
                raise SetupProblem(f"Giving up. {hopeless}")
            health = readiness.read_health(options.url)
            if health is not None and health.ready:
                ready = True
                say(WELCOME.format(url=options.url, logs=options.logs))
            elif line := patience.line(readiness.describe(health)):
                say(line)
        stop.wait(0.5)
    return 0


# ---- stopping -----------------------------------------------------------------------------------


def stop_keeper(keeper: subprocess.Popen[bytes]) -> None:
    """Returns when everything has stopped; the keeper kills what takes too long."""
    if keeper.poll() is None:
        keeper.send_signal(signal.SIGTERM)
    patience = readiness.Patience()
    while keeper.poll() is None:
        if line := patience.line("waiting for running answers and the engine to end", after=5):
            say(line)
        time.sleep(0.1)


class StopRequest:
    """Turns the stop signals into a question; a second Ctrl-C only hears that it is under way."""

    def __init__(self) -> None:
        self._requested = False
        self._parent = os.getppid()
        self._parent_minded_ctrl_c = minds_ctrl_c(self._parent)

    def __enter__(self) -> "StopRequest":
        end_with_parent(signal.SIGTERM)  # `make` itself was killed
        for number in STOP_SIGNALS:
            signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # the last lines are not cut off

    def _note(self, number: int, _frame: object) -> None:
        say("\nStill stopping …" if self._requested else "\nStopping everything …")
        self._requested = True

    def requested(self) -> bool:
        # Ctrl-C goes to the whole foreground group. `kill -INT` of make alone does not: GNU make
        # then waits for this process without a word to it, but puts the signal back to its
        # default, which can be seen.
        if self._parent_minded_ctrl_c and not minds_ctrl_c(self._parent) and not self._requested:
            self._note(signal.SIGINT, None)
        return self._requested

    def wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self._requested and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))


def minds_ctrl_c(pid: int) -> bool:
    """Whether a process has a handler for SIGINT (read from /proc; False where there is none)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False
    caught = next((line for line in status.splitlines() if line.startswith("SigCgt:")), "SigCgt: 0")
    return bool(int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1)
