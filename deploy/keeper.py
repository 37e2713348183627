"""Keep supervisor, and leave nothing behind: ``python -m deploy.keeper CONFIG``.

It stands between ``make run`` and supervisor, in a session of its own, so that neither Ctrl-C nor
a closed terminal reaches it. When ``make run`` ends in any way, the kernel sends it SIGTERM; it
then lets supervisor stop everything in order. On Linux every process of the tree that loses its
parent becomes a child of this one, so what a killed process leaves behind (a library's helper
that takes no notice of SIGTERM, say) is found and killed, while running and at the end.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from deploy.launch import end_with_parent

PR_SET_CHILD_SUBREAPER = 36
#: Seconds that everything together may take to stop before it is killed.
STOP_LIMIT_S = 80.0
#: Seconds that a process without its parent has to end by itself. Python's resource tracker, for
#: one, outlives its process by a moment to remove shared memory that was left behind.
ORPHAN_GRACE_S = 2.0


class Keeper:
    def __init__(self, config: str) -> None:
        self._stop_by: float | None = None
        #: When each process without its parent was first seen here.
        self._adopted: dict[int, float] = {}
        for ignored in (signal.SIGINT, signal.SIGHUP):
            signal.signal(ignored, signal.SIG_IGN)
        adopt_orphans()
        self._supervisor = subprocess.Popen(
            [sys.executable, "-m", "supervisor.supervisord", "--configuration", config],
            stdin=subprocess.DEVNULL,
            preexec_fn=_before_supervisor,
        )
        signal.signal(signal.SIGTERM, self._stop)

    def keep(self) -> int:
        """Return supervisor's exit status once neither it nor anything it started is left."""
        while self._supervisor.poll() is None:
            self._end_orphans()
            if self._stop_by is not None and time.monotonic() > self._stop_by:
                self._supervisor.kill()
            time.sleep(0.1)
        while self._end_orphans():
            time.sleep(0.05)
        return self._supervisor.returncode

    def _end_orphans(self) -> bool:
        """Reap the adopted processes that ended, kill those that do not; whether any was there."""
        now = time.monotonic()
        orphans = [pid for pid in children() if pid != self._supervisor.pid]
        self._adopted = {pid: self._adopted.get(pid, now) for pid in orphans}
        for pid, since in self._adopted.items():
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                if now - since > ORPHAN_GRACE_S:
                    os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
        return bool(orphans)

    def _stop(self, *_: object) -> None:
        if self._stop_by is None:
            self._stop_by = time.monotonic() + STOP_LIMIT_S
            self._supervisor.terminate()


def _before_supervisor() -> None:
    end_with_parent(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # what is ignored would stay ignored


def adopt_orphans() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def children() -> list[int]:
    """Empty where the kernel does not tell (macOS)."""
    pid = os.getpid()
    try:
        text = Path(f"/proc/self/task/{pid}/children").read_text(encoding="utf-8")
    except OSError:
        return []
    return [int(child) for child in text.split()]


if __name__ == "__main__":
    sys.exit(Keeper(sys.argv[1]).keep())
