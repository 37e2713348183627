"""The rows. `services` is the only module that writes them, `selectors` the one that reads them.

Money is whole cents. Times are aware and in UTC; a reader sees them in the customer's zone.
"""

from __future__ import annotations

from typing import Any, Self
from zoneinfo import available_timezones

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q

from .errors import AppendOnly
from .states import (
    ALLOWED,
    TERMINAL,
    CancelReason,
    Currency,
    DeliveryState,
    EventOutcome,
    EventType,
    FailureReason,
    LateReason,
    RefundState,
    Status,
    Vehicle,
)

number_validator = RegexValidator(r"^QB-\d{4,12}\Z", "An order number looks like QB-1042.")


def validate_time_zone(name: str) -> None:
    if name not in available_timezones():
        raise ValidationError("%(name)s is not a known time zone.", params={"name": name})


def _one_of(field: str, choices: type[models.TextChoices]) -> models.CheckConstraint:
    return models.CheckConstraint(
        condition=Q(**{f"{field}__in": choices.values}), name=f"%(class)s_{field}_known"
    )


class Customer(models.Model):
    """A person who orders. The e-mail address and the password are the user's."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="customer"
    )
    name = models.CharField("display name", max_length=80)
    phone = models.CharField(max_length=32, blank=True)
    language = models.CharField(max_length=10, default="en", help_text="Two letters, such as en.")
    time_zone = models.CharField(
        max_length=64, default="America/New_York", validators=[validate_time_zone]
    )

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    @property
    def email(self) -> str:
        return str(self.user.email)


class Restaurant(models.Model):
    name = models.CharField(max_length=80)
    cuisine = models.CharField(max_length=40)
    address = models.CharField(max_length=160)
    city = models.CharField(max_length=60)
    phone = models.CharField(max_length=32, blank=True)

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("name", "city"), name="restaurant_once_per_city"),
        )

    def __str__(self) -> str:
        return self.name


class Rider(models.Model):
    code = models.SlugField(
        max_length=40, unique=True, help_text="How order events name the rider."
    )
    first_name = models.CharField(max_length=40)
    vehicle = models.CharField(max_length=10, choices=Vehicle, default=Vehicle.BICYCLE)
    phone = models.CharField(max_length=32, blank=True)

    class Meta:
        ordering = ("first_name",)
        constraints = (_one_of("vehicle", Vehicle),)

    def __str__(self) -> str:
        return self.first_name


class OrderQuerySet(models.QuerySet["Order"]):
    def active(self) -> Self:
        """Orders for which something is still to come; a failed delivery is not one of them."""
        return self.exclude(status__in=TERMINAL).exclude(delivery_state=DeliveryState.FAILED)

    def for_customer(self, customer: Customer) -> Self:
        return self.filter(customer=customer)

    def latest_first(self) -> Self:
        return self.order_by("-placed_at", "-pk")

    def with_people(self) -> Self:
        """Join what an answer needs, so that reading it costs no further query."""
        return self.select_related("customer", "restaurant", "rider")


class Order(models.Model):
    """One order. The columns from `status` to `status_changed_at` are the fold of its events."""

    number = models.CharField(max_length=16, unique=True, validators=[number_validator])
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="orders")
    restaurant = models.ForeignKey(Restaurant, on_delete=models.PROTECT, related_name="orders")
    placed_at = models.DateTimeField()
    promised_at = models.DateTimeField(help_text="The time of arrival given at checkout.")

    currency = models.CharField(max_length=3, choices=Currency, default=Currency.USD)
    items_total = models.PositiveIntegerField(help_text="Cents.")
    delivery_fee = models.PositiveIntegerField(default=0, help_text="Cents.")
    discount = models.PositiveIntegerField(default=0, help_text="Cents, taken off.")
    tip = models.PositiveIntegerField(default=0, help_text="Cents.")
    total = models.PositiveIntegerField(help_text="Cents: items + delivery fee + tip - discount.")
    payment_label = models.CharField(
        max_length=40, blank=True, help_text="Kind of payment, such as Card. Never a number."
    )
    delivery_address = models.CharField(max_length=200)
    delivery_instructions = models.CharField(max_length=200, blank=True)

    status = models.CharField(max_length=12, choices=Status, default=Status.PLACED)
    delivery_state = models.CharField(
        max_length=14, choices=DeliveryState, default=DeliveryState.UNASSIGNED
    )
    rider = models.ForeignKey(
        Rider, on_delete=models.PROTECT, null=True, blank=True, related_name="orders"
    )
    expected_at = models.DateTimeField(null=True, blank=True, help_text="The latest estimate.")
    late_reason = models.CharField(max_length=16, choices=LateReason, blank=True)
    delivered_at = models.DateTimeField(null=True, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    cancel_reason = models.CharField(max_length=20, choices=CancelReason, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)
    failure_reason = models.CharField(max_length=20, choices=FailureReason, blank=True)
    refund_state = models.CharField(max_length=10, choices=RefundState, default=RefundState.NONE)
    refund_amount = models.PositiveIntegerField(default=0, help_text="Cents.")
    last_sequence = models.PositiveBigIntegerField(default=0)
    status_changed_at = models.DateTimeField(help_text="When status or delivery state last moved.")
    version = models.PositiveIntegerField(default=1, help_text="Grows with every change.")

    objects = OrderQuerySet.as_manager()

    class Meta:
        ordering = ("-placed_at", "-pk")
        indexes = (
            models.Index(fields=("customer", "-placed_at"), name="order_of_customer"),
            models.Index(fields=("status", "delivery_state"), name="order_by_state"),
        )
        constraints = (
            _one_of("currency", Currency),
            _one_of("status", Status),
            _one_of("delivery_state", DeliveryState),
            _one_of("refund_state", RefundState),
            models.CheckConstraint(
                condition=Q(
                    *(Q(status=s, delivery_state__in=d) for s, d in ALLOWED.items()),
                    _connector=Q.OR,
                ),
                name="order_states_go_together",
            ),
            models.CheckConstraint(
                # Written without a difference, so that no side can go below zero.
                condition=Q(items_total=F("total") + F("discount") - F("delivery_fee") - F("tip")),
                name="order_total_adds_up",
            ),
            models.CheckConstraint(
                condition=Q(
                    items_total__gte=0,
                    delivery_fee__gte=0,
                    discount__gte=0,
                    tip__gte=0,
                    total__gte=0,
                ),
                name="order_amounts_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(refund_state=RefundState.NONE, refund_amount=0)
                | (~Q(refund_state=RefundState.NONE) & Q(refund_amount__gt=0)),
                name="order_refund_has_amount",
            ),
            models.CheckConstraint(
                condition=Q(refund_amount__lte=F("total")), name="order_refund_within_total"
            ),
            models.CheckConstraint(
                condition=Q(status=Status.DELIVERED, delivered_at__isnull=False)
                | (~Q(status=Status.DELIVERED) & Q(delivered_at__isnull=True)),
                name="order_delivered_has_time",
            ),
            models.CheckConstraint(
                condition=Q(status=Status.CANCELLED, cancelled_at__isnull=False)
                | (~Q(status=Status.CANCELLED) & Q(cancelled_at__isnull=True)),
                name="order_cancelled_has_time",
            ),
            models.CheckConstraint(
                condition=Q(delivery_state=DeliveryState.FAILED, failed_at__isnull=False)
                | (~Q(delivery_state=DeliveryState.FAILED) & Q(failed_at__isnull=True)),
                name="order_failed_has_time",
            ),
        )

    def __str__(self) -> str:
        return self.number

    @property
    def is_active(self) -> bool:
        """The same rule as `Order.objects.active()`, for a row already in memory."""
        return self.status not in TERMINAL and self.delivery_state != DeliveryState.FAILED


class OrderItem(models.Model):
    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="items")
    name = models.CharField(max_length=80)
    quantity = models.PositiveSmallIntegerField(default=1)
    unit_price = models.PositiveIntegerField(help_text="Cents.")
    options = models.CharField(max_length=120, blank=True, help_text="Such as: large, no onions.")

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.CheckConstraint(condition=Q(quantity__gte=1), name="orderitem_at_least_one"),
            models.CheckConstraint(
                condition=Q(unit_price__gte=0), name="orderitem_price_not_negative"
            ),
        )

    def __str__(self) -> str:
        return f"{self.quantity} × {self.name}"


class OrderEventQuerySet(models.QuerySet["OrderEvent"]):
    def update(self, **kwargs: Any) -> int:
        raise AppendOnly("recorded events are never changed")

    def delete(self) -> tuple[int, dict[str, int]]:
        raise AppendOnly("recorded events are never deleted")

    def erase(self) -> None:
        """Delete for good: for demo data and for retention, never to correct history."""
        super().delete()


class OrderEvent(models.Model):
    """What a source told us, as it told it. Rows are added and never changed."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="events")
    event_id = models.CharField(max_length=64, unique=True)
    source = models.CharField(max_length=32)
    sequence = models.PositiveBigIntegerField()
    type = models.CharField(max_length=20, choices=EventType)
    payload = models.JSONField(default=dict, blank=True)
    occurred_at = models.DateTimeField()
    received_at = models.DateTimeField()
    outcome = models.CharField(
        max_length=8, choices=EventOutcome, help_text="What it did on arrival."
    )
    why_not = models.CharField(max_length=120, blank=True, help_text="Why it was refused.")

    objects = OrderEventQuerySet.as_manager()

    class Meta:
        ordering = ("order", "sequence", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("order", "source", "sequence"), name="orderevent_sequence_once"
            ),
            _one_of("type", EventType),
            _one_of("outcome", EventOutcome),
        )

    def __str__(self) -> str:
        return f"{self.order_id}/{self.sequence} {self.type}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise AppendOnly("recorded events are never changed")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        raise AppendOnly("recorded events are never deleted")

    @property
    def applied(self) -> bool:
        """Whether it takes part in the fold."""
        return self.outcome != EventOutcome.REFUSED


__all__ = ["Customer", "Order", "OrderEvent", "OrderItem", "Restaurant", "Rider"]
