"""What must hold before anything starts: one clear line each, with the mend."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from deploy import checks
from deploy.console import SetupProblem
from deploy.layout import REPOSITORY, Options, read_options


def test_a_port_in_use_is_named_and_the_next_one_suggested() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        with pytest.raises(SetupProblem) as problem:
            checks.check_port(port)

    assert str(problem.value) == (
        f"Port {port} is in use. Stop the program that has it, or choose another port: "
        f"make run PORT={port + 1}"
    )
    checks.check_port(port)


def test_a_full_disk_says_how_much_is_needed(tmp_path: Path) -> None:
    with pytest.raises(SetupProblem, match=r"needs 8 GB in .*, and 7.2 GB are free. Free some"):
        checks.check_disk(tmp_path, checks.FIRST_SETUP_BYTES["vllm"], free=7_200_000_000)

    checks.check_disk(tmp_path, checks.FIRST_SETUP_BYTES["vllm"], free=8_100_000_000)


def test_the_real_disk_is_asked(tmp_path: Path) -> None:
    with pytest.raises(SetupProblem, match="are free"):
        checks.check_disk(tmp_path / "not" / "yet" / "there", 10**18)


@pytest.mark.parametrize("version", ["(2, 7, 18)", "(3, 9, 2)", "(3, 10, 14)"])
def test_an_old_python_is_told_what_is_needed(version: str) -> None:
    script = (
        "import runpy, sys; "
        f"sys.version_info = {version}; "
        "runpy.run_module('deploy', run_name='__main__')"
    )

    result = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )

    assert result.returncode == 1
    major, minor = version.strip("()").split(", ")[:2]
    assert result.stderr.startswith(f"This Python is {major}.{minor}; QuickBite Support needs 3.11")
    assert len(result.stderr.splitlines()) == 1


def test_the_entry_point_parses_on_an_old_python() -> None:
    import ast

    for name in ("__init__.py", "__main__.py"):
        source = (REPOSITORY / "deploy" / name).read_text()
        ast.parse(source, feature_version=(3, 4))


@pytest.mark.parametrize(("version", "fits"), [((3, 11), True), ((3, 13), True), ((3, 14), False)])
def test_vllm_needs_a_python_that_it_has_wheels_for(version: checks.Version, fits: bool) -> None:
    if fits:
        checks.check_python_for_vllm(version)
    else:
        with pytest.raises(SetupProblem, match=r"3.11, 3.12 or 3.13; this is 3.14.*PYTHON="):
            checks.check_python_for_vllm(version)


@pytest.mark.parametrize(
    ("system", "machine", "name"),
    [("Darwin", "arm64", "macOS on arm64"), ("Windows", "AMD64", "Windows on AMD64")],
)
def test_a_platform_without_vllm_is_told_the_two_ways(system: str, machine: str, name: str) -> None:
    with pytest.raises(SetupProblem) as problem:
        checks.check_vllm_platform(system, machine)

    assert str(problem.value) == (
        f"vLLM has no build for {name}. Two ways: run this in a Linux container, or use the "
        "simulated engine: make run ENGINE=simulated"
    )


def test_a_python_without_venv_names_the_package() -> None:
    with pytest.raises(SetupProblem, match="apt install python3-venv"):
        checks.check_venv_module(find=lambda name: None if name == "ensurepip" else object())
    checks.check_venv_module()


def test_a_missing_libnuma_names_the_package() -> None:
    def missing(_name: str) -> object:
        raise OSError

    with pytest.raises(SetupProblem, match=r"libnuma\.so\.1.*apt install libnuma1"):
        checks.check_libnuma(load=missing)


def test_the_simulated_engine_asks_for_no_system_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(checks, "check_libnuma", lambda: pytest.fail("asked for libnuma"))
    monkeypatch.setattr(checks.platform, "system", lambda: "Darwin")

    checks.check_before_install(Options("simulated", 8000, tmp_path, "cpu"))


# ---- the person's choices -----------------------------------------------------------------------


def test_the_defaults_are_the_real_engine_on_port_8000() -> None:
    options = read_options({})

    assert (options.engine, options.port, options.hardware) == ("vllm", 8000, "cpu")
    assert options.var == REPOSITORY / "var"
    assert options.url == "http://127.0.0.1:8000/"


@pytest.mark.parametrize(
    ("choice", "line"),
    [
        ({"PORT": "http"}, "PORT=http is not a port number"),
        ({"PORT": "99999"}, "PORT=99999 is not a port number"),
        ({"ENGINE": "gpt"}, "ENGINE=gpt is neither vllm nor simulated"),
        ({"HARDWARE": "tpu"}, "HARDWARE=tpu is neither cpu nor gpu"),
    ],
)
def test_a_choice_that_cannot_be_meant_is_refused(choice: dict[str, str], line: str) -> None:
    with pytest.raises(SetupProblem, match=line):
        read_options(choice)


def test_a_long_path_does_not_break_the_sockets(tmp_path: Path) -> None:
    """A socket's path has a limit of about 100 bytes; a checkout may lie deeper."""
    deep = Options("vllm", 8000, tmp_path / ("x" * 120), "cpu")
    deeper = Options("vllm", 8000, tmp_path / ("y" * 120), "cpu")

    assert len(str(deep.redis_socket)) < 100
    assert len(str(deep.supervisor_socket)) < 100
    assert deep.redis_socket != deeper.redis_socket
    assert deep.redis_socket.parent != deep.supervisor_socket.parent


@pytest.mark.parametrize("arguments", [[], ["unknown"], ["run", "test"]])
def test_usage_is_shown_for_anything_else(arguments: list[str]) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "deploy", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 2
    assert "Usage: python -m deploy run|test" in result.stdout


def test_the_cluster_says_that_it_is_not_there_yet() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "deploy", "cluster"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 1
    assert "not available in this version" in result.stdout
