"""Conversations and what is said in them; ``conversations.py`` alone writes these rows."""

import uuid

from django.db import models
from django.db.models import Q

from assistant.models.prompt import PromptVersion

#: States of an answer that somebody still has to end.
UNFINISHED = ("queued", "streaming")


class Conversation(models.Model):
    """A chat of one customer, over many messages and days.

    ``seq`` counts every change of the conversation; a message takes its place and its revision
    from it. ``epoch`` rises with every change of hands, so that a late writer can be told.
    """

    class Holder(models.TextChoices):
        ASSISTANT = "assistant", "Assistant"
        WAITING = "waiting_for_agent", "Waiting for an agent"
        AGENT = "agent", "Agent"
        CLOSED = "closed", "Closed"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    customer = models.ForeignKey(
        "orders.Customer", on_delete=models.CASCADE, related_name="conversations"
    )
    order = models.ForeignKey(
        "orders.Order",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="conversations",
        help_text="The order that the chat was opened on.",
    )
    holder = models.CharField(max_length=20, choices=Holder, default=Holder.ASSISTANT)
    epoch = models.PositiveIntegerField(default=0)
    seq = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    last_activity_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-last_activity_at", "-id")
        indexes = (models.Index(fields=["customer", "-last_activity_at"]),)
        constraints = (
            models.CheckConstraint(
                name="conversation_holder_known",
                condition=Q(holder__in=["assistant", "waiting_for_agent", "agent", "closed"]),
            ),
        )

    def __str__(self) -> str:
        return f"Conversation {str(self.public_id)[:8]}"


class Message(models.Model):
    """A customer's question, or an answer to it."""

    class Author(models.TextChoices):
        CUSTOMER = "customer", "Customer"
        ASSISTANT = "assistant", "Assistant"
        AGENT = "agent", "Agent"
        SYSTEM = "system", "System"

    class Source(models.TextChoices):
        CUSTOMER = "customer", "Customer"
        MODEL = "model", "Model"
        CACHE = "cache", "Answer cache"
        AGENT = "agent", "Agent"
        SYSTEM = "system", "System"
        GUARD = "guard", "Guard"

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        STREAMING = "streaming", "Streaming"
        COMPLETE = "complete", "Complete"
        STOPPED = "stopped", "Stopped"
        GUARDED = "guarded", "Guarded"
        FAILED = "failed", "Failed"

    #: An answer's id is its job's id.
    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="messages"
    )
    #: The customer again, so that the database itself holds 'one unfinished answer a customer'.
    customer = models.ForeignKey("orders.Customer", on_delete=models.CASCADE, related_name="+")
    order = models.ForeignKey(
        "orders.Order", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    answer_to = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="answers"
    )
    seq = models.PositiveBigIntegerField(help_text="Place in the conversation.")
    revision = models.PositiveBigIntegerField(
        help_text="The conversation's seq at the last change."
    )
    epoch = models.PositiveIntegerField(default=0)
    author = models.CharField(max_length=10, choices=Author)
    source = models.CharField(max_length=10, choices=Source)
    status = models.CharField(max_length=10, choices=Status, default=Status.COMPLETE)
    text = models.TextField(blank=True)
    client_id = models.CharField(max_length=64, blank=True)
    category = models.CharField(max_length=64, blank=True)
    error = models.CharField(max_length=64, blank=True)
    offered = models.BooleanField(default=False, help_text="A person was offered.")
    no_cache = models.BooleanField(default=False)
    choices = models.JSONField(default=list, blank=True)  # list of {order, label}
    #: What the answer may use, as it was when the question came.
    facts = models.JSONField(null=True, blank=True)
    prompt = models.ForeignKey(
        PromptVersion, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("conversation", "seq")
        indexes = (
            models.Index(fields=["conversation", "revision"]),
            models.Index(
                fields=["created_at"],
                name="unfinished_answers",
                condition=Q(status__in=UNFINISHED),
            ),
            models.Index(fields=["created_at"], name="messages_by_time"),
        )
        constraints = (
            models.UniqueConstraint(fields=["conversation", "seq"], name="one_message_a_place"),
            models.UniqueConstraint(
                fields=["conversation", "client_id"],
                condition=~Q(client_id=""),
                name="one_message_a_client_id",
            ),
            models.UniqueConstraint(
                fields=["customer"],
                condition=Q(status__in=UNFINISHED),
                name="one_unfinished_answer_a_customer",
            ),
            models.CheckConstraint(
                name="message_status_known",
                condition=Q(
                    status__in=["queued", "streaming", "complete", "stopped", "guarded", "failed"]
                ),
            ),
            models.CheckConstraint(
                name="message_author_known",
                condition=Q(author__in=["customer", "assistant", "agent", "system"]),
            ),
            models.CheckConstraint(
                name="message_source_known",
                condition=Q(source__in=["customer", "model", "cache", "agent", "system", "guard"]),
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_author_display()}: {self.text[:60]}"

    @property
    def unfinished(self) -> bool:
        return self.status in UNFINISHED
