from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.decorators import display

from orders.admin import looks
from orders.admin.event import EventInline
from orders.admin.filters import ActiveFilter, LateFilter
from orders.admin.item import ItemInline
from orders.admin.shared import Badge, ReadOnlyPage, page_of
from orders.facts import facts_of
from orders.models import Order
from orders.states import DeliveryState, RefundState, Status
from orders.wording import money


@admin.register(Order)
class OrderAdmin(ReadOnlyPage):
    list_display = (
        "number",
        "status_badge",
        "delivery_badge",
        "lateness",
        "customer_link",
        "restaurant_link",
        "total_text",
        "placed_at",
    )
    list_filter = (
        ActiveFilter,
        "status",
        "delivery_state",
        LateFilter,
        "refund_state",
        "restaurant",
    )
    search_fields = (
        "number",
        "customer__name",
        "customer__user__username",
        "restaurant__name",
        "rider__first_name",
    )
    search_help_text = "Order number, customer, restaurant or rider"
    date_hierarchy = "placed_at"
    list_select_related = ("customer", "restaurant", "rider")
    list_per_page = 50
    inlines = [ItemInline, EventInline]
    change_form_outer_before_template = "admin/orders/order/summary.html"
    readonly_fields = ("total_text", "price_parts", "refund")
    fieldsets = (
        (
            "Delivery",
            {
                "fields": (
                    ("customer", "restaurant"),
                    ("rider", "payment_label"),
                    ("placed_at", "promised_at"),
                    ("expected_at", "delivered_at"),
                    "delivery_address",
                    "delivery_instructions",
                )
            },
        ),
        ("Price", {"fields": (("total_text", "price_parts"), "refund")}),
        (
            "What went wrong",
            {
                "fields": (
                    ("late_reason", "cancel_reason"),
                    ("cancelled_at", "failed_at"),
                    "failure_reason",
                )
            },
        ),
        ("The fold", {"fields": (("last_sequence", "version"), "status_changed_at")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        rows: QuerySet[Order] = super().get_queryset(request)
        return rows.prefetch_related("items")

    def page_context(self, request: HttpRequest, row: Order) -> dict[str, Any]:
        return {"facts": facts_of(row, timezone.now())}

    @display(description="Status", ordering="status", label=looks.STATUS.tones)
    def status_badge(self, order: Order) -> Badge:
        return looks.STATUS.badge(Status(order.status))

    @display(description="Delivery", ordering="delivery_state", label=looks.DELIVERY.tones)
    def delivery_badge(self, order: Order) -> Badge:
        return looks.DELIVERY.badge(DeliveryState(order.delivery_state))

    @display(description="Lateness", label={"late": "warning", "on time": "success"})
    def lateness(self, order: Order) -> Badge | None:
        late = facts_of(order, timezone.now()).minutes_late
        if late is None:
            return None
        return ("late", f"▲ {late} min late") if late else ("on time", "✓ On time")

    @display(description="Customer", ordering="customer__name")
    def customer_link(self, order: Order) -> str:
        return page_of(order.customer)

    @display(description="Restaurant", ordering="restaurant__name")
    def restaurant_link(self, order: Order) -> str:
        return page_of(order.restaurant)

    @display(description="Total", ordering="total")
    def total_text(self, order: Order) -> str:
        return money(order.total, order.currency)

    @display(description="Made up of")
    def price_parts(self, order: Order) -> str:
        parts = {
            "items": order.items_total,
            "delivery": order.delivery_fee,
            "tip": order.tip,
            "less discount": order.discount,
        }
        given = {name: cents for name, cents in parts.items() if cents}
        return ", ".join(f"{name} {money(given[name], order.currency)}" for name in given)

    @display(description="Refund")
    def refund(self, order: Order) -> str:
        if order.refund_state == RefundState.NONE:
            return "None"
        state = looks.REFUND.text(RefundState(order.refund_state))
        return f"{state}: {money(order.refund_amount, order.currency)}"
