"""Become one of the run's processes: ``python -m deploy.launch NAME RUNTIME … -- COMMAND``.

supervisor starts every program at once and restarts a dead one immediately. So each start goes
through here: it waits for Redis, spaces the restarts of a process that keeps dying, arranges that
the process goes when supervisor itself is killed, and then *is* the command (exec), so that
signals and exit status need no relay.
"""

import argparse
import ctypes
import os
import signal
import socket
import sys
import time
from pathlib import Path

#: Starts within this many seconds count as one series of failures.
SERIES_S = 120.0
LONGEST_PAUSE_S = 30.0
PR_SET_PDEATHSIG = 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("runtime", type=Path)
    parser.add_argument("--redis", type=Path)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()

    end_with_parent(signal.SIGTERM)
    record = Starts(arguments.runtime, arguments.name)
    if pause := pause_before_start(record.recent(time.time())):
        print(f"restarted; waiting {pause:.0f} s first", flush=True)
        time.sleep(pause)
    record.add(time.time())
    if arguments.redis:
        wait_for_redis(arguments.redis)
    os.execv(arguments.command[0], arguments.command)


def end_with_parent(number: int) -> None:
    """Get a signal when the parent dies, however it dies. Linux only; elsewhere it does nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)


def pause_before_start(recent: int) -> float:
    """Seconds to wait after ``recent`` starts: 0, then 1, 2, 4, … up to half a minute."""
    return min(2.0 ** (recent - 1), LONGEST_PAUSE_S) if recent else 0.0


class Starts:
    """When a program was started, a line each."""

    def __init__(self, runtime: Path, name: str) -> None:
        self.file = runtime / f"{name}.starts"

    def add(self, now: float) -> None:
        with self.file.open("a", encoding="utf-8") as file:
            file.write(f"{now}\n")

    def recent(self, now: float) -> int:
        """Starts of the last ``SERIES_S`` seconds; a process that ran longer starts afresh."""
        try:
            lines = self.file.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return 0
        return sum(now - float(line) < SERIES_S for line in lines)


def wait_for_redis(unix_socket: Path) -> None:
    """Return once Redis answers (while it still loads its file, it does not)."""
    waited = 0.0
    while not redis_answers(unix_socket):
        if waited and waited % 10 == 0:
            print(f"waiting for Redis at {unix_socket} ({waited:.0f} s)", flush=True)
        time.sleep(0.25)
        waited += 0.25


def redis_answers(unix_socket: Path) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            connection.connect(str(unix_socket))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
    except OSError:
        return False


if __name__ == "__main__":
    main()
