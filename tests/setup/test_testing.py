"""What ``make test`` runs, and what its exit status says."""

import os
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest

from deploy import postgres, testing
from deploy.console import SetupProblem
from deploy.layout import Options, read_options
from tests.services import KINDS, must_run, unavailable

Runs = list[tuple[list[str], dict[str, str]]]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """The pytest commands that are run; ``results`` holds what they return."""
    found: Runs = []

    def run(command: Sequence[str], env: dict[str, str]) -> int:
        found.append((list(command), env))
        return STATUS["postgres" if "TEST_DATABASE_URL" in env else "all"]

    monkeypatch.setattr(testing, "_run", run)
    monkeypatch.setattr(testing, "prepare", lambda options: options)
    monkeypatch.setattr(testing, "run_checks", lambda wanted: [])
    for name in ("PYTEST_ARGS", "TEST_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    STATUS.update(postgres=0, all=0)
    return found


STATUS = {"postgres": 0, "all": 0}
needs_postgres = pytest.mark.skipif(postgres.programs() is None, reason="no PostgreSQL here")


def options(engine: str = "vllm") -> Options:
    return read_options({"ENGINE": engine})


@needs_postgres
@pytest.mark.parametrize("failing", [None, "postgres", "all"])
def test_both_databases_are_tested_and_either_failure_counts(
    runs: Runs, failing: str | None
) -> None:
    if failing:
        STATUS[failing] = 1
    assert testing.test(options()) == (1 if failing else 0)
    (first, on_postgres), (last, env) = runs
    assert on_postgres["TEST_DATABASE_URL"].startswith("postgres://")
    assert "tests/flows" in first
    assert last == ["pytest", "-m", "not slow"]  # everything, and its summary is the last word
    assert env["TESTS_REQUIRED"].split(",") == ["simulated", "browser", "engine"]


def test_a_part_of_the_tests_runs_once(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ARGS", "-k 'a chat'")
    assert testing.test(options("simulated")) == 0
    ((command, env),) = runs
    assert command == ["pytest", "-m", "not slow and not engine", "-k", "a chat"]
    assert env["TESTS_REQUIRED"] == "simulated,browser"


def test_without_postgres_it_says_so(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(postgres, "programs", lambda: None)
    assert testing.test(options()) == 0
    assert len(runs) == 1
    assert "PostgreSQL is not installed" in capsys.readouterr().out


def test_a_postgres_that_does_not_start_is_a_failure(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any) -> None:
        raise SetupProblem("initdb failed: no reason")

    monkeypatch.setattr(postgres, "programs", lambda: postgres.Path("/nowhere"))
    monkeypatch.setattr(postgres, "_initialise", broken)
    assert testing.test(options()) == 1
    assert len(runs) == 1  # the others run all the same


@needs_postgres
def test_a_server_serves_and_leaves_nothing(tmp_path: Any) -> None:
    with postgres.server() as url:
        with psycopg.connect(url.rpartition("/")[0] + "/postgres") as connection:
            ((version,),) = connection.execute("SHOW server_version_num").fetchall()
            ((folder,),) = connection.execute("SHOW data_directory").fetchall()
        assert int(version) >= 120000
    assert not os.path.exists(folder)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)


@pytest.mark.parametrize(
    ("env", "outcome"),
    [
        ({}, pytest.skip.Exception),
        ({"TESTS_REQUIRED": "simulated,engine"}, pytest.fail.Exception),
        ({"TESTS_REQUIRED": "simulated"}, pytest.skip.Exception),
        ({"CI": "true"}, pytest.fail.Exception),
    ],
)
def test_what_must_run_fails_where_it_cannot(
    env: dict[str, str], outcome: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CI", "TESTS_REQUIRED"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(outcome, match="vLLM is not installed"):
        unavailable("engine", "vLLM is not installed")
    assert not must_run("default model")
    assert must_run("engine") is (outcome is pytest.fail.Exception)
    assert set(KINDS) == {"simulated", "engine", "browser"}
