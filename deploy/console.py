"""What the person at the terminal reads: one line a step, progress in the long ones."""

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

#: Seconds between two signs of life of a long step.
HEARTBEAT_S = 10.0


class SetupProblem(Exception):
    """The set-up cannot go on. The text is one line that names the mend."""


def say(line: str) -> None:
    # The terminal may be gone (closed, or a broken pipe). What is being stopped must still stop.
    with contextlib.suppress(OSError):
        print(line, flush=True)


def step(line: str) -> None:
    say(f"==> {line}")


def run_logged(
    command: Sequence[str | Path],
    *,
    log: Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    progress: Callable[[str], str | None] = lambda line: None,
) -> tuple[int, str]:
    """Run a long command with its output in ``log``; return its status and that output.

    Every ``HEARTBEAT_S`` seconds it says what ``progress`` made of the latest line that it did not
    answer with None.
    """
    latest = "working"
    lines: list[str] = []
    log.parent.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )

    def read() -> None:
        nonlocal latest
        assert process.stdout is not None
        with log.open("w", encoding="utf-8") as file:
            for line in process.stdout:
                file.write(line)
                file.flush()
                lines.append(line)
                latest = progress(line.strip()) or latest

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    started = time.monotonic()
    try:
        while reader.is_alive():
            reader.join(timeout=HEARTBEAT_S)
            if reader.is_alive():
                say(f"    … {latest} ({time.monotonic() - started:.0f} s)")
        return process.wait(), "".join(lines)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
