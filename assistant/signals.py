"""What the assistant does when something happens elsewhere."""

from typing import Any

from asgiref.sync import async_to_sync
from django.db.models.signals import post_delete, post_migrate, post_save
from django.dispatch import receiver

from assistant import (
    cached_answer_defaults,
    cached_answers,
    events,
    prompts,
    understanding_defaults,
)
from assistant.models import CachedAnswer, Category, Intent
from orders.signals import order_changed


@receiver(order_changed, dispatch_uid="assistant.order_changed")
def tell_open_chats(order_id: int, **kwargs: Any) -> None:
    async_to_sync(events.order_changed)(order_id)


@receiver(post_migrate, dispatch_uid="assistant.install_defaults")
def install_prompt(sender: Any, **kwargs: Any) -> None:
    """A new database gets the prompt's parts as rows, for staff to edit."""
    if sender.name == "assistant":
        prompts.install_defaults()


@receiver(post_migrate, dispatch_uid="assistant.install_answers")
def install_answers(sender: Any, **kwargs: Any) -> None:
    """After the categories, which they hang on."""
    if sender.name == "assistant":
        understanding_defaults.install_categories()
        cached_answer_defaults.install_defaults()


@receiver((post_save, post_delete), sender=Category, dispatch_uid="assistant.category_changed")
@receiver((post_save, post_delete), sender=Intent, dispatch_uid="assistant.intent_changed")
def categories_changed(raw: bool = False, **kwargs: Any) -> None:
    """Whether a category is active, or may be cached, is part of what the cache holds."""
    if not raw and CachedAnswer.objects.exists():
        cached_answers.things_changed()
