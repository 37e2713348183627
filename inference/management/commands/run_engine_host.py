"""Runs one engine and serves answers on it until SIGTERM."""

import asyncio
import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from inference.engines import make_engine
from inference.errors import EngineDead, ModelNotPrepared
from inference.host import EngineHost
from inference.store import JobStore


class Command(BaseCommand):
    help = "Run an engine host: claim answers from Redis, generate them here. SIGTERM drains it."
    # A host uses no database.
    requires_system_checks = ["inference"]
    requires_migrations_checks = False

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--name", help="what the host calls itself (default: machine and pid)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            asyncio.run(_run(options["name"]))
        except (EngineDead, ModelNotPrepared) as error:
            raise CommandError(str(error)) from error


async def _run(name: str | None) -> None:
    async with JobStore() as store:
        host = EngineHost(make_engine(), store, name=name)
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, host.drain)
        await host.run()
