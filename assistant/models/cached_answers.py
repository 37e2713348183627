"""Answers that staff wrote; ``cached_answers.py`` alone writes these rows."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from assistant.models.understanding import Category, Intent
from orders.states import DeliveryState, Status

#: Fits every order status or delivery state.
ANY = "*"
#: In place of an order status: the customer has no order that the question could be about.
NO_ORDER = "none"

ORDER_STATUSES = [(ANY, "Any"), *Status.choices, (NO_ORDER, "No order")]
DELIVERY_STATES = [(ANY, "Any"), *DeliveryState.choices]


class CachedAnswer(models.Model):
    """One answer for a category, or a sub-intent of it, in one state of the order."""

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        LIVE = "live", "Live"
        RETIRED = "retired", "Retired"

    category = models.ForeignKey(Category, on_delete=models.PROTECT, related_name="answers")
    intent = models.ForeignKey(
        Intent,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="answers",
        verbose_name="sub-intent",
        help_text="Empty: for the whole category.",
    )
    order_status = models.CharField(max_length=12, choices=ORDER_STATUSES, default=ANY)
    delivery_state = models.CharField(max_length=15, choices=DELIVERY_STATES, default=ANY)
    language = models.CharField(max_length=10, default="en")
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    #: What is served while the answer is live. Drafts may be newer.
    current = models.ForeignKey(
        "CachedAnswerVersion", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    valid_until = models.DateTimeField(
        null=True,
        blank=True,
        help_text="In UTC. Not served from this moment on; empty: for as long as it is live.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = (
            "category__slug",
            F("intent__slug").asc(nulls_first=True),
            "order_status",
            "delivery_state",
            "language",
            "id",
        )
        permissions = (("publish_answer", "Can publish, retire and roll back cached answers"),)
        constraints = (
            models.UniqueConstraint(
                fields=["category", "intent", "order_status", "delivery_state", "language"],
                condition=Q(state="live", intent__isnull=False),
                name="one_live_answer_a_key",
            ),
            # NULLs differ from each other in a unique index.
            models.UniqueConstraint(
                fields=["category", "order_status", "delivery_state", "language"],
                condition=Q(state="live", intent__isnull=True),
                name="one_live_answer_a_whole_category",
            ),
            models.CheckConstraint(
                name="cached_answer_state_known",
                condition=Q(state__in=["draft", "live", "retired"]),
            ),
            models.CheckConstraint(
                name="cached_answer_live_has_text",
                condition=~Q(state="live") | Q(current__isnull=False),
            ),
            models.CheckConstraint(
                name="cached_answer_status_known",
                condition=Q(order_status__in=[value for value, _ in ORDER_STATUSES]),
            ),
            models.CheckConstraint(
                name="cached_answer_delivery_known",
                condition=Q(delivery_state__in=[value for value, _ in DELIVERY_STATES]),
            ),
        )

    def __str__(self) -> str:
        intent = f" / {self.intent.title}" if self.intent else ""
        return f"{self.category.title}{intent}: {self.place}"

    @property
    def place(self) -> str:
        """The order's state that the answer is for, in words."""
        if self.order_status == NO_ORDER:
            return "no order"
        if self.order_status == ANY and self.delivery_state == ANY:
            return "any state"
        parts = []
        if self.order_status != ANY:
            parts.append(self.get_order_status_display().lower())
        if self.delivery_state != ANY and self.delivery_state != self.order_status:
            parts.append(self.get_delivery_state_display().lower())
        return ", ".join(parts)


class CachedAnswerVersion(models.Model):
    """A text that an answer has or had: never changed."""

    answer = models.ForeignKey(CachedAnswer, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    template = models.TextField(max_length=1000)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="Empty: came with the product.",
    )
    note = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    published_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("answer", "-number")
        constraints = (
            models.UniqueConstraint(fields=["answer", "number"], name="one_version_a_number"),
        )

    def __str__(self) -> str:
        return f"Version {self.number}"


class AnswerCacheVersion(models.Model):
    """One row that changes with everything that the answer cache is made of.

    ``stamp`` tells apart what a restored database or a rolled-back transaction counts twice.
    """

    number = models.PositiveBigIntegerField(default=1)
    stamp = models.UUIDField(default=uuid.uuid4)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (models.CheckConstraint(name="one_cache_version", condition=Q(pk=1)),)

    def __str__(self) -> str:
        return f"Answer cache {self.number}"


class CachedAnswerHits(models.Model):
    """How often an answer was given on one day (UTC)."""

    answer = models.ForeignKey(CachedAnswer, on_delete=models.CASCADE, related_name="hits")
    day = models.DateField()
    count = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("-day", "-count")
        verbose_name = verbose_name_plural = "cached answer hits"
        constraints = (
            models.UniqueConstraint(fields=["answer", "day"], name="one_hit_count_a_day"),
        )

    def __str__(self) -> str:
        return f"{self.day}: {self.count}"
