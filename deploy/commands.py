"""The subcommands behind the Makefile's targets."""

import os
import shutil
from collections.abc import Callable

from deploy import checks, environment, steps, testing
from deploy.console import SetupProblem, say
from deploy.layout import REPOSITORY, Options, read_options

CACHES = (".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".import_linter_cache")
#: What `make clean` keeps: expensive to get again. `make clean ALL=1` removes it too.
KEPT_IN_VAR = {"models"}


def main(arguments: list[str]) -> int:
    commands: dict[str, Callable[[Options], int]] = {
        "run": steps.run,
        "test": testing.test,
        "test-slow": lambda options: testing.test(options, slow=True),
        "lint": testing.lint,
        "cluster": cluster,
        "clean": clean,
    }
    if len(arguments) != 1 or arguments[0] not in commands:
        say(f"Usage: python -m deploy {'|'.join(commands)}")
        return 2
    try:
        return commands[arguments[0]](read_options(os.environ))
    except SetupProblem as problem:
        say(f"\n{problem}")
        return 1
    except KeyboardInterrupt:
        say("\nInterrupted. What was finished is kept; the same command goes on from there.")
        return 130


def cluster(options: Options) -> int:
    raise SetupProblem(
        "`make cluster` (the reference deployment on one machine) is not available in this version."
    )


def clean(options: Options) -> int:
    """Remove what the other targets made: caches, demo data, logs; with ALL=1 the rest too."""
    if checks.is_listening(options.supervisor_socket):
        raise SetupProblem("`make run` is running in this checkout: stop it first (Ctrl-C).")
    everything = os.environ.get("ALL") == "1"
    for cache in CACHES:
        shutil.rmtree(REPOSITORY / cache, ignore_errors=True)
    if options.var.is_dir():
        for entry in options.var.iterdir():
            if entry.name in KEPT_IN_VAR and not everything:
                continue
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    if everything:
        environment.remove_venv()
    kept = "" if everything else " (.venv and the models are kept; make clean ALL=1 removes them)"
    say(f"Removed caches, database, logs and Redis data{kept}.")
    return 0
