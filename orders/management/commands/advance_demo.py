import logging
import signal
import threading
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from django.utils import timezone

from orders.demo.advancing import step

logger = logging.getLogger(__name__)

POLL_S = 2.0
LONGEST_WAIT_S = 30.0


class Command(BaseCommand):
    help = "Move the demo's orders along in real time until stopped (SIGTERM or Ctrl-C)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="do what is due now, then exit")
        parser.add_argument(
            "--speed", type=float, default=1.0, help="minutes of the demo per real minute"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        speed = options["speed"]
        if not 0 < speed <= 1000:
            raise CommandError("--speed needs a number above 0, up to 1000.")
        if options["once"]:
            try:
                self.work(speed)
            except (DatabaseError, InterfaceError) as error:
                raise CommandError(f"The database did not answer: {error}") from error
            return
        self.stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.on_signal)
        self.stdout.write(f"Moving the demo's orders along at speed {speed:g}.")
        self.run(speed)
        self.stdout.write("Stopped.")

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        self.stop.set()

    def run(self, speed: float) -> None:
        """Work until told to stop; while the database is locked or away, wait longer each time."""
        pause = max(0.2, POLL_S / max(1.0, speed))
        wait = pause
        while not self.stop.is_set():
            close_old_connections()
            try:
                self.work(speed)
                wait = pause
            except (DatabaseError, InterfaceError) as error:
                wait = min(LONGEST_WAIT_S, wait * 2)
                logger.warning("No work on the demo for %.0f s: %s", wait, error)
                connection.close()
            self.stop.wait(wait)

    def work(self, speed: float) -> bool:
        """One step; tells whether it found work."""
        moved = step(timezone.now(), speed=speed)
        if moved:
            self.stdout.write(
                f"{moved.events} events, {moved.placed} orders placed, {moved.erased} erased."
            )
        return bool(moved)
