"""Watch a run come up: what ``/readyz`` says, and which process keeps dying."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.console import HEARTBEAT_S
from deploy.launch import Starts
from deploy.layout import Options
from deploy.processes import Process, log_file

#: Starts after which a process is named, and after which a run that was never ready is given up.
SUSPICIOUS_STARTS = 3
HOPELESS_STARTS = 6


@dataclass(frozen=True)
class Health:
    """What the web server says of itself; ``None`` from ``read_health`` means it says nothing."""

    engine: str
    hosts: int

    @property
    def ready(self) -> bool:
        return self.engine == "ok" and self.hosts > 0


def read_health(url: str) -> Health | None:
    try:
        # No proxy: the address is this machine's own, whatever HTTP_PROXY says.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{url}readyz", timeout=5) as response:
            return parse_health(response.read())
    except urllib.error.HTTPError as error:
        return parse_health(error.read())  # 503 carries the same body
    except (OSError, ValueError):
        return None


def parse_health(body: bytes) -> Health | None:
    try:
        engine = json.loads(body)["components"]["engine"]
        return Health(engine=str(engine["status"]), hosts=int(engine.get("hosts", 0)))
    except (ValueError, KeyError, TypeError):
        return None


def describe(health: Health | None) -> str:
    if health is None:
        return "the web server is starting"
    if health.engine == "warming":
        return "the engine is loading the model"
    return "the engine is starting"


class Trouble:
    """Processes that keep dying, each named once."""

    def __init__(self, options: Options, programs: Sequence[Process]) -> None:
        self._options = options
        self._programs = programs
        self._named: set[str] = set()

    def news(self) -> Iterator[str]:
        for program in self._programs:
            if program.name not in self._named and self._starts(program) >= SUSPICIOUS_STARTS:
                self._named.add(program.name)
                yield self._line(program, "keeps stopping")

    def hopeless(self) -> str | None:
        for program in self._programs:
            if self._starts(program) >= HOPELESS_STARTS:
                return self._line(program, f"stopped {HOPELESS_STARTS - 1} times")
        return None

    def _starts(self, program: Process) -> int:
        return Starts(self._options.runtime, program.name).recent(time.time())

    def _line(self, program: Process, what: str) -> str:
        log = log_file(self._options, program.name)
        return f"{program.title.capitalize()} {what}. Last words: {last_words(log)} Read {log}"


def last_words(log: Path) -> str:
    """The last line of a log that says something, shortened to a terminal's width."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return "none."
    spoken = [line.strip() for line in lines if line.strip() and not line.startswith("restarted;")]
    return repr(spoken[-1][:200]) + "." if spoken else "none."


class Patience:
    """Says what is awaited when it changes, and every few seconds while it does not."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._said: tuple[str, float] = ("", 0.0)

    def line(self, awaited: str, *, after: float = 0) -> str | None:
        """What to say now, if anything; nothing during the first ``after`` seconds."""
        now = time.monotonic()
        text, at = self._said
        if now - self._started < after or (awaited == text and now - at < HEARTBEAT_S):
            return None
        self._said = (awaited, now)
        return f"    … {awaited} ({now - self._started:.0f} s)"
