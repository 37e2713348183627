"""What must hold before anything is installed or started. Each failure names its mend."""

import ctypes
import importlib.util
import platform
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from deploy.console import SetupProblem
from deploy.layout import HOST, VENV_PYTHON, Options

GB = 1_000_000_000
#: Free bytes for a first set-up: packages, downloads and the converted model at the same time.
FIRST_SETUP_BYTES = {"vllm": 8 * GB, "simulated": 1 * GB}

Version = tuple[int, int]


def check_before_run(options: Options) -> None:
    """Raises ``SetupProblem`` for the first condition that does not hold."""
    check_before_install(options)
    check_not_running(options.supervisor_socket)
    check_port(options.port)


def check_before_install(options: Options) -> None:
    if options.engine == "vllm":
        check_vllm_platform(platform.system(), platform.machine())
        check_python_for_vllm(sys.version_info[:2])
        if options.hardware == "cpu":
            check_libnuma()
    if not VENV_PYTHON.exists():
        check_venv_module()
        check_disk(VENV_PYTHON.parents[2], FIRST_SETUP_BYTES[options.engine])


def vllm_has_a_build(system: str, machine: str) -> bool:
    return system == "Linux" and machine in {"x86_64", "amd64", "aarch64", "arm64"}


def check_vllm_platform(system: str, machine: str) -> None:
    if not vllm_has_a_build(system, machine):
        name = {"Darwin": "macOS"}.get(system, system)
        raise SetupProblem(
            f"vLLM has no build for {name} on {machine}. Two ways: run this in a Linux container, "
            "or use the simulated engine: make run ENGINE=simulated"
        )


def check_python_for_vllm(version: Version) -> None:
    if not (3, 11) <= version < (3, 14):
        raise SetupProblem(
            f"vLLM's CPU build needs Python 3.11, 3.12 or 3.13; this is {version[0]}.{version[1]}. "
            "Name another one: make run PYTHON=python3.12"
        )


def check_venv_module(find: Callable[[str], object] = importlib.util.find_spec) -> None:
    # Debian splits both out of Python; `venv` alone then makes an environment without pip.
    if find("venv") is None or find("ensurepip") is None:
        raise SetupProblem(
            "This Python cannot make virtual environments (no venv module). "
            "Debian and Ubuntu: apt install python3-venv"
        )


def check_libnuma(load: Callable[[str], object] = ctypes.CDLL) -> None:
    try:
        load("libnuma.so.1")
    except OSError:
        raise SetupProblem(
            "vLLM needs the system library libnuma.so.1. Debian and Ubuntu: apt install libnuma1; "
            "Fedora: dnf install numactl-libs"
        ) from None


def check_disk(folder: Path, needed: int, free: int | None = None) -> None:
    if free is None:
        while not folder.exists():
            folder = folder.parent
        free = shutil.disk_usage(folder).free
    if free < needed:
        raise SetupProblem(
            f"The first set-up needs {needed / GB:.0f} GB in {folder}, and {free / GB:.1f} GB are "
            "free. Free some space, or clone to another disk."
        )


def check_port(port: int) -> None:
    with socket.socket() as probe:
        # As the web server binds it: a port that only lingers in TIME_WAIT is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except PermissionError:
            raise SetupProblem(
                f"Port {port} is for root only. Choose another: make run PORT=8000"
            ) from None
        except OSError:
            raise SetupProblem(
                f"Port {port} is in use. Stop the program that has it, or choose another port: "
                f"make run PORT={port + 1 if port < 65535 else 8001}"
            ) from None


def check_not_running(supervisor_socket: Path) -> None:
    """One run a checkout: two would share one database, one Redis and one log folder."""
    if is_listening(supervisor_socket):
        raise SetupProblem(
            "`make run` is already running in this checkout (or still stopping). Stop it with "
            "Ctrl-C where it runs, or give the second one a folder and a port of its own: "
            "make run QUICKBITE_VAR=/tmp/quickbite PORT=8001"
        )


def is_listening(unix_socket: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(unix_socket))
        except OSError:
            return False
        return True
