"""The real engine's test model, and the processes that an engine leaves behind or does not."""

import importlib.util
import time
from pathlib import Path

from inference.errors import ModelNotPrepared
from inference.model_store import resolve
from tests.services import unavailable

MODEL = "smollm2-135m-instruct"


def engine_model() -> Path:
    """The test model's folder; without it the test is skipped, or fails where it had to run."""
    if importlib.util.find_spec("vllm") is None:
        unavailable("engine", "vLLM is not installed")
    try:
        return resolve(MODEL)
    except ModelNotPrepared as error:
        unavailable("engine", str(error))


def descendants(pid: int) -> dict[int, str]:
    """Process ids below this one, with their command lines."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (stat := _read(folder / "stat")):
            parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
    found: dict[int, str] = {}
    level = {pid}
    while level:
        level = {child for child, parent in parents.items() if parent in level}
        found |= {child: _read(Path(f"/proc/{child}/cmdline")) for child in level}
    return found


def alive(pid: int) -> bool:
    stat = _read(Path(f"/proc/{pid}/stat"))
    return bool(stat) and stat.rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(pids: set[int], timeout_s: float) -> set[int]:
    """Those of the processes that are still there after the time."""
    deadline = time.monotonic() + timeout_s
    while (left := {pid for pid in pids if alive(pid)}) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def engine_core(pid: int) -> int:
    """The engine core below a host: the child that multiprocessing spawned to compute."""
    found = [p for p, command in descendants(pid).items() if _computes(p, command)]
    assert len(found) == 1, descendants(pid)
    return found[0]


def _computes(pid: int, command: str) -> bool:
    # vLLM renames the process when it can; otherwise it is the spawned child that is no tracker.
    return "EngineCore" in command or "spawn_main" in command


def _read(path: Path) -> str:
    try:
        return path.read_text().replace("\0", " ")
    except OSError:
        return ""
