from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from orders.demo.loading import load


class Command(BaseCommand):
    help = "Write the demo's customers, restaurants, riders and orders. Safe to repeat."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--refresh",
            action="store_true",
            help="put the demo's orders back to where they start, with times relative to now",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        loaded = load(timezone.now(), refresh=options["refresh"])
        done = "Loaded" if loaded.fresh else "Already there:"
        self.stdout.write(
            f"{done} {loaded.customers} customers, {loaded.restaurants} restaurants, "
            f"{loaded.orders} orders."
        )
