"""What is started, and how supervisor is told."""

import configparser
import shlex
import time
from pathlib import Path

import pytest

from deploy import launch, processes, readiness
from deploy.layout import Options
from deploy.processes import Process


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options("vllm", 8123, tmp_path / "with space, 100%", "cpu")


def parsed(options: Options, programs: list[Process]) -> configparser.ConfigParser:
    # As supervisor reads it: %(…)s is expanded, " ;" starts a comment.
    parser = configparser.ConfigParser(inline_comment_prefixes=(";", "#"), strict=False)
    parser.read_string(processes.supervisor_config(options, programs))
    return parser


@pytest.fixture
def config(options: Options) -> configparser.ConfigParser:
    return parsed(options, processes.processes(options))


PROGRAMS = ["redis", "web", "engine", "worker", "beat", "demo"]


def test_every_role_is_started_redis_first_and_stopped_last(
    config: configparser.ConfigParser,
) -> None:
    programs = [title for title in config.sections() if title.startswith("program:")]
    assert programs == [f"program:{name}" for name in PROGRAMS]
    priorities = [config.getint(program, "priority") for program in programs]
    assert priorities == sorted(priorities)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_dead_process_is_always_started_again_and_its_whole_group_can_be_killed(
    config: configparser.ConfigParser, name: str
) -> None:
    program = config[f"program:{name}"]
    assert program.getboolean("autorestart")
    assert program.getint("startretries") >= 100_000
    assert program.getboolean("killasgroup")
    assert program["stopsignal"] == "TERM"


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_process_has_a_log_that_is_rotated(
    config: configparser.ConfigParser, options: Options, name: str
) -> None:
    program = config[f"program:{name}"]
    assert program["stdout_logfile"] == str(options.logs / f"{name}.log")
    assert program["stdout_logfile_maxbytes"] == "5MB"
    assert program.getboolean("redirect_stderr")


def test_commands_survive_spaces_and_percent_signs_in_paths(
    config: configparser.ConfigParser, options: Options
) -> None:
    words = shlex.split(config["program:web"]["command"])

    assert words[1:5] == ["-m", "deploy.launch", "web", str(options.runtime)]
    assert words[-6:] == [
        "daphne",
        "-b",
        "127.0.0.1",
        "-p",
        "8123",
        "quickbite_support.asgi:application",
    ]


def test_everything_but_redis_waits_for_redis(
    config: configparser.ConfigParser, options: Options
) -> None:
    for name in PROGRAMS:
        waits = (
            f"--redis {shlex.quote(str(options.redis_socket))}"
            in config[f"program:{name}"]["command"]
        )
        assert waits == (name != "redis"), name


def test_the_engine_has_time_to_drain_and_ends_its_children_itself(
    config: configparser.ConfigParser,
) -> None:
    engine = config["program:engine"]
    assert engine.getint("stopwaitsecs") >= 20
    assert not engine.getboolean("stopasgroup")


def test_redis_listens_on_no_port_and_loses_a_second_at_most(options: Options) -> None:
    lines = processes.redis_config(options).splitlines()

    assert "port 0" in lines
    assert "unixsocketperm 700" in lines
    assert {"appendonly yes", "appendfsync everysec", "maxmemory-policy noeviction"} <= set(lines)


def test_all_services_point_at_the_private_redis(options: Options) -> None:
    environment = processes.environment(options)

    assert environment["REDIS_URL"] == f"unix://{options.redis_socket}?db=0"
    assert environment["CELERY_BROKER_URL"].startswith("redis+socket://")
    assert environment["ENGINE"] == "vllm"
    assert environment["QUICKBITE_VAR"] == str(options.var)


# ---- starts and restarts ------------------------------------------------------------------------


def test_restarts_are_spaced_wider_and_wider() -> None:
    pauses = [launch.pause_before_start(recent) for recent in range(8)]

    assert pauses == [0, 1, 2, 4, 8, 16, 30, 30]


def test_a_process_that_ran_for_long_starts_afresh(tmp_path: Path) -> None:
    starts = launch.Starts(tmp_path, "web")
    now = time.time()
    starts.add(now - launch.SERIES_S - 1)
    starts.add(now - 10)

    assert starts.recent(now) == 1
    assert launch.Starts(tmp_path, "engine").recent(now) == 0


# ---- readiness ----------------------------------------------------------------------------------


def test_ready_means_that_a_host_answers() -> None:
    def health(text: str) -> readiness.Health | None:
        return readiness.parse_health(text.encode())

    ok = health('{"status": "ok", "components": {"engine": {"status": "ok", "hosts": 1}}}')
    assert ok is not None
    assert ok.ready
    warming = health('{"components": {"engine": {"status": "warming", "hosts": 1}}}')
    assert warming is not None
    assert not warming.ready
    assert readiness.describe(warming) == "the engine is loading the model"
    missing = health('{"components": {"engine": {"status": "missing"}}}')
    assert missing is not None
    assert not missing.ready
    assert health("<html>") is None
    assert health("{}") is None
    assert readiness.describe(None) == "the web server is starting"


def test_a_process_in_trouble_is_named_once_and_given_up_later(options: Options) -> None:
    web = Process("web", "the web server", ["x"])
    options.runtime.mkdir(parents=True)
    options.logs.mkdir(parents=True)
    (options.logs / "web.log").write_text("Traceback\nImportError: no such thing\n\nrestarted; x\n")
    trouble = readiness.Trouble(options, [web])
    starts = launch.Starts(options.runtime, "web")

    starts.add(time.time())
    starts.add(time.time())
    assert list(trouble.news()) == []

    starts.add(time.time())
    (line,) = trouble.news()
    assert line.startswith(
        "The web server keeps stopping. Last words: 'ImportError: no such thing'"
    )
    assert line.endswith(f"Read {options.logs / 'web.log'}")
    assert list(trouble.news()) == []
    assert trouble.hopeless() is None

    for _ in range(3):
        starts.add(time.time())
    assert "stopped 5 times" in (trouble.hopeless() or "")
