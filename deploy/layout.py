"""Where things are, and what the person chose (make variables and the environment)."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from deploy.console import SetupProblem

REPOSITORY = Path(__file__).resolve().parent.parent
VENV = REPOSITORY / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
HOST = "127.0.0.1"

#: A socket's path may take 108 bytes on Linux and 104 on macOS, its end included.
LONGEST_SOCKET_PATH = 100


@dataclass(frozen=True)
class Options:
    """The choices of one ``make run``."""

    engine: str
    port: int
    var: Path
    #: ``cpu`` installs vLLM's CPU build, ``gpu`` the production set.
    hardware: str

    @property
    def logs(self) -> Path:
        return self.var / "log"

    @property
    def runtime(self) -> Path:
        """Files that mean something only while the processes run."""
        return self.var / "run"

    @property
    def redis_socket(self) -> Path:
        return _socket(self.var / "redis", "redis.sock")

    @property
    def supervisor_socket(self) -> Path:
        return _socket(self.runtime, "supervisor.sock")

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/"


def read_options(environment: Mapping[str, str]) -> Options:
    """Raises ``SetupProblem`` for a value that cannot be meant."""
    engine = environment.get("ENGINE") or "vllm"
    if engine not in {"vllm", "simulated"}:
        raise SetupProblem(f"ENGINE={engine} is neither vllm nor simulated.")
    hardware = environment.get("HARDWARE") or "cpu"
    if hardware not in {"cpu", "gpu"}:
        raise SetupProblem(f"HARDWARE={hardware} is neither cpu nor gpu.")
    port = environment.get("PORT") or "8000"
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise SetupProblem(f"PORT={port} is not a port number (1 to 65535).")
    var = Path(environment.get("QUICKBITE_VAR") or REPOSITORY / "var").expanduser().resolve()
    return Options(engine=engine, port=int(port), var=var, hardware=hardware)


def _socket(folder: Path, name: str) -> Path:
    path = folder / name
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    short = f"quickbite-{os.getuid()}-{sha256(os.fsencode(folder)).hexdigest()[:12]}"
    return Path(tempfile.gettempdir()) / short / name


def make_private(folder: Path) -> None:
    """Create a folder that only this user may enter; refuse one that somebody else made."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folder.stat().st_uid != os.getuid():
        raise SetupProblem(f"{folder} belongs to another user. Set QUICKBITE_VAR to a short path.")
    folder.chmod(0o700)
