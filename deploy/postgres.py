"""A PostgreSQL of one's own for the tests: on a Unix socket, in a folder that goes with it."""

import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from deploy.console import SetupProblem

#: Seconds for the server to start, and to stop.
PATIENCE_S = 30.0
#: What is kept is worth nothing, so nothing waits for the disk.
SETTINGS = (
    "listen_addresses=",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=200",
)


def programs() -> Path | None:
    """The folder of ``initdb`` and ``postgres``: Debian's newest, else the one on PATH."""
    installed = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    if installed:
        return max((Path(found).parent for found in installed), key=_version)
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def _version(folder: Path) -> float:
    try:
        return float(folder.parent.name)
    except ValueError:
        return 0.0


@contextmanager
def server() -> Iterator[str]:
    """Run a server and give its ``postgres://`` URL. Raises ``SetupProblem`` if it cannot start."""
    folder = programs()
    if folder is None:
        raise SetupProblem("PostgreSQL is not installed.")
    # Short: a Unix socket's path may have 107 characters. Nobody else's home may be readable.
    home = Path(tempfile.mkdtemp(prefix="qb-pg-", dir="/tmp"))
    identity = _another_user(home)
    process = None
    try:
        _initialise(folder, home, identity)
        with (home / "log").open("wb") as log:
            options = [word for setting in SETTINGS for word in ("-c", setting)]
            process = subprocess.Popen(
                [folder / "postgres", "-D", home / "data", "-k", home, *options],
                cwd=home,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is the tests' to answer first
                **identity,
            )
        _wait_until_ready(folder, home, process)
        yield f"postgres://quickbite@{quote(str(home), safe='')}/quickbite"
    finally:
        if process is not None:
            _stop(process)
        shutil.rmtree(home, ignore_errors=True)


def _another_user(home: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root: give the folder to the user who will run it."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        os.chown(home, user.pw_uid, user.pw_gid)
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise SetupProblem("PostgreSQL cannot run as root, and there is no user postgres or nobody.")


def _initialise(folder: Path, home: Path, identity: dict[str, Any]) -> None:
    command: Sequence[str | Path] = [
        folder / "initdb",
        *("--pgdata", home / "data", "--username", "quickbite", "--auth", "trust"),
        *("--encoding", "UTF8", "--locale", "C", "--no-sync"),
    ]
    done = subprocess.run(
        command, cwd=home, capture_output=True, text=True, check=False, timeout=120, **identity
    )
    if done.returncode:
        raise SetupProblem(f"initdb failed: {_last_line(done.stderr)}")


def _wait_until_ready(folder: Path, home: Path, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE_S
    ready: Sequence[str | Path] = [folder / "pg_isready", "-q", "-h", home]
    while subprocess.run(ready, check=False).returncode != 0:
        if process.poll() is not None or time.monotonic() > deadline:
            words = _last_line((home / "log").read_text(errors="replace"))
            raise SetupProblem(f"PostgreSQL did not start: {words}")
        time.sleep(0.1)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGINT)  # open connections are cut, and nothing is left
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it gave no reason"])[-1]
