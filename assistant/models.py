"""Conversations, what is said in them, and what the model is told.

``conversations.py`` is the one module that writes conversations and messages.
"""

import uuid

from django.db import models
from django.db.models import Q

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


class PromptVersion(models.Model):
    """What every prompt of a time began with: content-addressed, never changed."""

    hash = models.CharField(max_length=64, unique=True)
    system = models.TextField()
    policies = models.JSONField(default=list)  # list of texts
    examples = models.JSONField(default=list)  # list of {question, facts, answer}
    tokens = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    #: When this version was last made the current one; the newest is in force.
    current_since = models.DateTimeField()

    class Meta:
        ordering = ("-current_since", "-id")

    def __str__(self) -> str:
        return self.hash[:12]


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


class SystemText(models.Model):
    """What the model is told it is. The first row in force counts."""

    text = models.TextField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = "system text"
        verbose_name_plural = "system text"

    def __str__(self) -> str:
        return self.text[:80]


class PromptPart(models.Model):
    """Something that stands in every prompt, in a fixed order."""

    position = models.PositiveSmallIntegerField(default=0)
    active = models.BooleanField(default=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True
        ordering = ("position", "id")


class Policy(PromptPart):
    """A rule of the house that an answer may quote."""

    title = models.CharField(max_length=80)
    text = models.TextField(max_length=1000)

    class Meta:
        ordering = ("position", "id")
        verbose_name_plural = "policies"

    def __str__(self) -> str:
        return self.title


class PromptExample(PromptPart):
    """An exchange that shows the model how to answer."""

    question = models.CharField(max_length=300)
    facts = models.TextField(max_length=2000, help_text="The facts as the model would see them.")
    answer = models.TextField(max_length=1000)

    class Meta:
        ordering = ("position", "id")
        verbose_name = "example exchange"

    def __str__(self) -> str:
        return self.question


class PeriodicRun(models.Model):
    """One run of a periodic task: whoever inserts the row does the work, the others go home."""

    task = models.CharField(max_length=100)
    slot = models.BigIntegerField(help_text="The run's scheduled time divided by its period.")
    claimed_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["task", "slot"], name="one_run_a_slot"),)

    def __str__(self) -> str:
        return f"{self.task} #{self.slot}"
