"""``manage.py prepare_understanding``: the sentence encoder, the example questions, the head."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assistant import understanding_defaults
from assistant.understanding import preparation, store
from inference.errors import InferenceError


class Command(BaseCommand):
    help = (
        "Prepares the understanding of questions: fetches the sentence encoder once, loads the "
        "shipped example questions into an empty table, trains unless nothing has changed."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        understanding_defaults.install_categories()
        if loaded := understanding_defaults.install_examples():
            self._say(f"Loaded {loaded} example questions.")
        try:
            name = preparation.prepare(self._say)
        except InferenceError as error:
            raise CommandError(str(error)) from error
        certificate = store.manifest_of(name)["certificate"]
        self._say(
            f"Understanding is ready ({name}): at most {certificate['bound']:.1%} wrong among "
            f"prepared answers on {certificate['on']}, with {certificate['confidence']:.0%} "
            "confidence; not certified yet on this deployment's own questions."
        )

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
