from django.contrib import admin
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display

from orders.admin import looks
from orders.admin.shared import Badge, OfOrderMixin, ReadOnlyMixin
from orders.models import OrderEvent
from orders.states import EventOutcome


class EventInline(ReadOnlyMixin, TabularInline):
    model = OrderEvent
    verbose_name = "event"
    verbose_name_plural = "events, as the sources told them"
    fields = ("sequence", "type", "occurred_at", "received_at", "source", "outcome", "why_not")
    ordering = ("sequence", "pk")
    hide_title = True
    extra = 0


@admin.register(OrderEvent)
class OrderEventAdmin(OfOrderMixin, ReadOnlyMixin, ModelAdmin):
    list_display = ("type", "order_link", "sequence", "source", "outcome_badge", "occurred_at")
    list_filter = ("outcome", "type", "source", "received_at")
    search_fields = ("order__number", "=event_id")
    search_help_text = "Order number or event id"
    list_select_related = ("order",)
    ordering = ("-pk",)
    show_full_result_count = False
    fields = (
        ("order", "type"),
        ("event_id", "source"),
        ("sequence", "outcome"),
        "why_not",
        ("occurred_at", "received_at"),
        "payload",
    )

    @display(description="Outcome", ordering="outcome", label=looks.OUTCOME.tones)
    def outcome_badge(self, event: OrderEvent) -> Badge:
        return looks.OUTCOME.badge(EventOutcome(event.outcome))
