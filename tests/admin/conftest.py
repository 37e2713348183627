"""A site with the demo's data, its two members of staff, and a chat that has been answered."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import transaction
from django.test import Client, override_settings
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from assistant import prompts
from assistant.models import Conversation, Message
from inference.models import Generation
from inference.tokenizer import ChatTokenizer
from orders.facts import facts_of
from orders.models import Customer, Order

Talk = Callable[..., "Exchange"]


@dataclass
class Exchange:
    conversation: Conversation
    question: Message
    answer: Message
    run: Generation


@pytest.fixture(scope="package")
def loaded(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tokenizer: ChatTokenizer
) -> Iterator[None]:
    """The demo's data, loaded once, inside a transaction around these tests' own."""
    # Nobody signs in with a password here, and a safe hash takes longer than all the rest.
    quick = {"PASSWORD_HASHERS": ["django.contrib.auth.hashers.MD5PasswordHasher"]}
    with django_db_blocker.unblock(), transaction.atomic():
        with override_settings(**quick):
            call_command("load_demo", verbosity=0)
        yield
        transaction.set_rollback(True)


@pytest.fixture
def demo(loaded: None, db: Any) -> None:
    """A site with the demo's data; what a test changes there is undone."""


def _signed_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


@pytest.fixture
def admin(demo: None) -> Client:
    return _signed_in("admin")


@pytest.fixture
def editor(demo: None) -> Client:
    return _signed_in("editor")


@pytest.fixture
def talk(demo: None) -> Talk:
    """Writes one question of a customer and the model's answer to it."""

    def write(
        text: str = "Where is my order?",
        answer: str = "It is on the way.",
        customer: str = "maya",
        status: str = Message.Status.COMPLETE,
        order: Order | None = None,
    ) -> Exchange:
        who = Customer.objects.get(user__username=customer)
        order = order or Order.objects.filter(customer=who).with_people().first()
        assert order is not None
        chat = Conversation.objects.create(customer=who, order=order, seq=2)
        shared: dict[str, Any] = {"conversation": chat, "customer": who, "order": order}
        question = Message.objects.create(
            **shared, seq=1, revision=1, author="customer", source="customer", text=text
        )
        reply = Message.objects.create(
            **shared,
            seq=2,
            revision=2,
            author="assistant",
            source="model",
            status=status,
            text=answer,
            answer_to=question,
            facts=prompts.snapshot(facts_of(order, timezone.now())),
            prompt=prompts.current_version(),
        )
        now = timezone.now()
        run = Generation.objects.create(
            answer_id=reply.public_id,
            outcome="done",
            model="simulated",
            host="host-1",
            attempts=1,
            prompt_hash=prompts.current_version().hash,
            queued_at=now - timedelta(seconds=2),
            started_at=now - timedelta(seconds=2),
            first_token_at=now - timedelta(seconds=1.8),
            finished_at=now,
            prompt_tokens=600,
            cached_tokens=450,
            output_tokens=50,
        )
        return Exchange(chat, question, reply, run)

    return write
