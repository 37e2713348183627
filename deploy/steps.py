"""``make run``: from a clone to a running system, each step only when it is needed."""

import os
import subprocess
from pathlib import Path

from deploy import checks, environment, processes, supervise
from deploy.console import SetupProblem, step
from deploy.layout import REPOSITORY, VENV_PYTHON, Options


def run(options: Options) -> int:
    checks.check_before_run(options)
    environment.install(options, environment.sets_for(options, tests=False))
    prepare_data(options)
    return supervise.run(options)


def prepare_data(options: Options) -> None:
    step("Preparing the model")
    manage(options, "prepare_model")
    step("Preparing the database and the demo data")
    manage(options, "migrate", "--verbosity", "0")
    if os.environ.get("DEBUG", "true").lower() in {"0", "false", "no", "off"}:
        manage(options, "collectstatic", "--no-input", "--verbosity", "0")
    manage(options, "load_demo")
    step("Preparing the understanding of questions")
    manage(options, "prepare_understanding")


def manage(options: Options, *arguments: str) -> None:
    """Run a management command with its output on the terminal; a failure ends the set-up."""
    command: list[str | Path] = [VENV_PYTHON, REPOSITORY / "manage.py", *arguments]
    result = subprocess.run(
        command, cwd=REPOSITORY, env=processes.environment(options), check=False
    )
    if result.returncode != 0:
        raise SetupProblem(f"`manage.py {' '.join(arguments)}` failed; see the lines above.")
