"""Start everything under supervisor, say when it is ready, stop everything whatever happens."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from deploy import processes, readiness
from deploy.console import SetupProblem, say, step
from deploy.launch import PR_SET_PDEATHSIG, Starts, end_with_parent
from deploy.layout import REPOSITORY, VENV_PYTHON, Options, make_private
from deploy.processes import Process

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Seconds that everything together may take to stop before it is killed.
STOP_LIMIT_S = 60.0

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
        supervisor = start_supervisor(options)
        try:
            return watch(options, programs, supervisor, stop)
        finally:
            stop_supervisor(supervisor)
            end_stragglers(options, programs)
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


def start_supervisor(options: Options) -> subprocess.Popen[bytes]:
    """In a session of its own: Ctrl-C and a closed terminal reach this process, which then stops
    supervisor in order. If this process is killed outright, the kernel tells supervisor."""
    linux = sys.platform == "linux"
    libc = ctypes.CDLL(None)  # loaded before the fork: the child may only make system calls

    def die_with_this_process() -> None:
        if linux:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

    return subprocess.Popen(
        [VENV_PYTHON, "-m", "supervisor.supervisord", "--configuration", config_file(options)],
        cwd=REPOSITORY,
        env=processes.environment(options),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=die_with_this_process,
    )


def watch(
    options: Options,
    programs: Sequence[Process],
    supervisor: subprocess.Popen[bytes],
    stop: "StopRequest",
) -> int:
    trouble = readiness.Trouble(options, programs)
    patience = readiness.Patience()
    ready = False
    while not stop.requested():
        if supervisor.poll() is not None:
            raise SetupProblem(
                f"supervisor ended with {supervisor.returncode}. "
                f"Read {options.logs / 'supervisord.log'}"
            )
        for line in trouble.news():
            say(line)
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


def stop_supervisor(supervisor: subprocess.Popen[bytes]) -> None:
    if supervisor.poll() is None:
        supervisor.send_signal(signal.SIGTERM)
        try:
            supervisor.wait(timeout=STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            supervisor.kill()
            supervisor.wait()


def end_stragglers(options: Options, programs: Sequence[Process]) -> None:
    """Kill what is left of the programs' process groups (each program leads one of its own)."""
    for program in programs:
        group = Starts(options.runtime, program.name).last_pid()
        if group is None:
            continue
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            continue
        say(f"{program.title.capitalize()} did not stop and was killed.")
