"""What the assistant does when something happens elsewhere."""

from typing import Any

from asgiref.sync import async_to_sync
from django.db.models.signals import post_migrate
from django.dispatch import receiver

from assistant import events, prompts
from orders.signals import order_changed


@receiver(order_changed, dispatch_uid="assistant.order_changed")
def tell_open_chats(order_id: int, **kwargs: Any) -> None:
    async_to_sync(events.order_changed)(order_id)


@receiver(post_migrate, dispatch_uid="assistant.install_defaults")
def install_prompt(sender: Any, **kwargs: Any) -> None:
    """A new database gets the prompt's parts as rows, for staff to edit."""
    if sender.name == "assistant":
        prompts.install_defaults()
