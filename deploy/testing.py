"""``make test``, ``make test-slow`` and ``make lint``: install, check the code, run the tests."""

import os
import platform
import shlex
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from deploy import checks, environment, postgres, steps, system_packages
from deploy.console import SetupProblem, say, step
from deploy.layout import REPOSITORY, VENV, Options

#: Settings as in production, as far as ``check --deploy`` looks at them.
PRODUCTION = {
    "DEBUG": "false",
    "SECRET_KEY": "a-value-for-the-check-alone-that-no-deployment-uses-0123456789-abcdefghij",
    "ALLOWED_HOSTS": "support.example.com",
    "ENGINE": "vllm",
}


@dataclass(frozen=True)
class Check:
    title: str
    command: Sequence[str]
    env: dict[str, str] = field(default_factory=dict)


QUICK_CHECKS = (
    Check("ruff check", ["ruff", "check", "--output-format", "concise", "."]),
    Check("ruff format", ["ruff", "format", "--check", "--output-format", "concise", "."]),
    Check("import contracts", ["lint-imports", "--no-logo"]),
    Check("migrations", ["python", "manage.py", "makemigrations", "--check", "--dry-run"]),
    Check("Django checks", ["python", "manage.py", "check"]),
)
ALL_CHECKS = (
    *QUICK_CHECKS,
    Check("types", ["mypy"]),
    Check(
        "Django checks on production settings",
        ["python", "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        PRODUCTION,
    ),
)


#: What the tests on PostgreSQL are: everything that goes through the database, in a minute.
ON_POSTGRES = (
    "tests/flows",
    "tests/orders/test_services.py",
    "--deselect=tests/flows/test_question.py::test_an_idle_chat_answers_after_the_redis_time_out",
    "-m=not slow and not engine",
)


def test(options: Options, *, slow: bool = False) -> int:
    options = prepare(options)
    if failed := run_checks(QUICK_CHECKS):
        raise SetupProblem(f"Not all checks passed ({', '.join(failed)}); the tests were not run.")
    extra = shlex.split(os.environ.get("PYTEST_ARGS", ""))
    status = 0
    if not (slow or extra or "TEST_DATABASE_URL" in os.environ):
        status = test_on_postgres()
    kinds = ["slow" if slow else "not slow"]
    # Under this command nothing is skipped because it is missing: it fails.
    required = ["simulated", "browser"]
    if options.engine == "simulated":
        kinds.append("not engine")
    else:
        required.append("engine")
    step("Running the tests")
    command = ["pytest", "-m", " and ".join(kinds), *extra]
    # pytest's own summary stays the last word.
    return _run(command, {"TESTS_REQUIRED": ",".join(required)}) or status


def test_on_postgres() -> int:
    """The exit status of the short run on PostgreSQL; 0 where no server is installed."""
    if postgres.programs() is None:
        say("    PostgreSQL is not installed: nothing is tested on it.")
        return 0
    step("Running the tests of questions and orders on PostgreSQL")
    try:
        with postgres.server() as url:
            return _run(["pytest", *ON_POSTGRES], {"TEST_DATABASE_URL": url})
    except SetupProblem as problem:
        say(str(problem))
        return 1


def lint(options: Options) -> int:
    options = _without_engine_where_there_is_none(options)
    environment.install(options, environment.sets_for(options, tests=True))
    return 1 if run_checks(ALL_CHECKS) else 0


def prepare(options: Options) -> Options:
    """Everything the tests need, from a bare machine with Python."""
    options = _without_engine_where_there_is_none(options)
    system_packages.install_missing(options)
    checks.check_before_install(options)
    environment.install(options, environment.sets_for(options, tests=True))
    step("Preparing the test models")
    steps.manage(options, "prepare_model", "simulated")
    if options.engine == "vllm":
        steps.manage(options, "prepare_model", "smollm2-135m-instruct")
    return options


def run_checks(wanted: Sequence[Check]) -> list[str]:
    """Run them all, so that one look shows everything; return the titles of those that failed."""
    failed = []
    for check in wanted:
        started = time.monotonic()
        command = [str(VENV / "bin" / check.command[0]), *check.command[1:]]
        result = subprocess.run(
            command,
            cwd=REPOSITORY,
            env={**os.environ, **check.env},
            capture_output=True,
            text=True,
            check=False,
        )
        took = f"({time.monotonic() - started:.0f} s)"
        if result.returncode == 0:
            step(f"{check.title}: passed {took}")
        else:
            failed.append(check.title)
            step(f"{check.title}: FAILED {took}")
            say((result.stdout + result.stderr).rstrip())
    return failed


def _without_engine_where_there_is_none(options: Options) -> Options:
    if options.engine == "vllm" and not checks.vllm_has_a_build(
        platform.system(), platform.machine()
    ):
        say(f"vLLM has no build for {platform.system()}: tests of the real engine are left out.")
        return replace(options, engine="simulated")
    return options


def _run(command: Sequence[str], env: dict[str, str]) -> int:
    program = [str(VENV / "bin" / command[0]), *command[1:]]
    return subprocess.run(
        program, cwd=REPOSITORY, env={**os.environ, **env}, check=False
    ).returncode
