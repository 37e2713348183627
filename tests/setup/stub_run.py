"""A whole ``make run`` with small programs in place of the real ones: started by the tests."""

import http.server
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from deploy import processes, supervise
from deploy.console import SetupProblem, say
from deploy.layout import Options
from deploy.processes import Process


def run(port: str, var: str, web: str) -> int:
    options = Options(engine="simulated", port=int(port), var=Path(var), hardware="cpu")
    redis = processes.processes(options)[0]
    this = [sys.executable, "-m", "tests.setup.stub_run"]
    programs = [
        redis,
        Process("web", "the web server", [*this, web, port], stop_s=1),
        Process("worker", "the background worker", [*this, "stubborn"], stop_s=1),
    ]
    processes.processes = lambda options: programs
    try:
        return supervise.run(options)
    except SetupProblem as problem:
        say(str(problem))
        return 1


def healthy(port: str) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            health = {"status": "ok", "components": {"engine": {"status": "ok", "hosts": 1}}}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(health).encode())

    http.server.HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


def broken(_port: str) -> None:
    print("the reason why it died", flush=True)
    sys.exit(3)


def stubborn() -> None:
    """A parent with a child that takes no notice of SIGTERM, as a native library's may."""
    child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", child])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    time.sleep(600)


ROLES: dict[str, Callable[..., int | None]] = {
    "run": run,
    "healthy": healthy,
    "broken": broken,
    "stubborn": stubborn,
}

if __name__ == "__main__":
    sys.exit(ROLES[sys.argv[1]](*sys.argv[2:]))
