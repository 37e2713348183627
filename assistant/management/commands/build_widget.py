"""Writes ``widget.js``, the one file that pages load, from the modules in ``src/``."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assistant import widget_build


class Command(BaseCommand):
    help = "Write widget.js from the modules in assistant/static/assistant/src/."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing; fail if it is old")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        try:
            text = widget_build.build()
        except widget_build.WidgetBuildError as error:
            raise CommandError(str(error)) from error
        target = widget_build.TARGET
        if check and target.read_text("utf-8") != text:
            raise CommandError(f"{target.name} is older than src/: run manage.py build_widget")
        if not check:
            target.write_text(text, "utf-8")
            self.stdout.write(f"{target.name}: {len(text.encode()):,} bytes")
