"""``manage.py prepare_model [NAME]``: fetch, check and convert a model, once."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from inference import model_store
from inference.errors import InferenceError


class Command(BaseCommand):
    help = (
        "Prepares a model: qwen2.5-coder-0.5b-instruct, smollm2-135m-instruct, simulated, a "
        "folder's path or a name on the model hub. Does nothing when that is done already."
    )
    # It runs before the database and the services exist.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", default=settings.QUICKBITE_MODEL)

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        try:
            model_store.prepare(name, self._say)
        except InferenceError as error:
            raise CommandError(str(error)) from error

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
