"""Staff's view of orders. The feed writes them: here they are read.

An app that knows of orders may add its own inlines to `OrderAdmin` and `CustomerAdmin`.
"""

from typing import Any

from django.contrib import admin
from django.db.models import Case, Count, Model, Q, QuerySet, When
from django.db.models.functions import Coalesce, Greatest, Now, TruncMinute
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display

from orders.facts import facts_of
from orders.models import (
    Customer,
    Order,
    OrderEvent,
    OrderItem,
    Restaurant,
    Rider,
)
from orders.states import DeliveryState, EventOutcome, RefundState, Status
from orders.wording import money

#: A state is told by shape, word and colour; a circle fills up while an order is under way.
STATUS_SHAPES = {
    Status.PLACED: "○",
    Status.ACCEPTED: "◔",
    Status.PREPARING: "◑",
    Status.READY: "◕",
    Status.PICKED_UP: "●",
    Status.DELIVERED: "✓",
    Status.CANCELLED: "✕",
}
DELIVERY_SHAPES = {
    DeliveryState.UNASSIGNED: "○",
    DeliveryState.ASSIGNED: "◔",
    DeliveryState.AT_RESTAURANT: "◑",
    DeliveryState.ON_THE_WAY: "▸",
    DeliveryState.NEARBY: "◕",
    DeliveryState.ARRIVED: "●",
    DeliveryState.DELIVERED: "✓",
    DeliveryState.FAILED: "✕",
}
REFUND_SHAPES = {
    RefundState.REQUESTED: "○",
    RefundState.UNDER_WAY: "◑",
    RefundState.REFUNDED: "✓",
    RefundState.DECLINED: "✕",
}
OUTCOME_SHAPES = {EventOutcome.APPLIED: "✓", EventOutcome.LATE: "◷", EventOutcome.REFUSED: "✕"}

Badge = tuple[str, str]  # the value, which chooses the colour, and what is shown


def page_of(row: Model | None, text: object = None) -> SafeString | str:
    """A link to a row's page in the admin; a dash where there is none."""
    if row is None:
        return "–"
    url = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
    return format_html('<a class="qb-link" href="{}">{}</a>', url, row if text is None else text)


class ReadOnlyMixin:
    """Rows that a program writes: nobody adds, changes or deletes them here, superusers neither."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class LateFilter(admin.SimpleListFilter):
    title = "lateness"
    parameter_name = "late"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Later than promised"), ("no", "On time")]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        if self.value() not in ("yes", "no"):
            return None
        # The same rule as in `facts`, to the minute.
        arrival = Case(
            When(status=Status.DELIVERED, then="delivered_at"),
            When(delivery_state=DeliveryState.ARRIVED, then="status_changed_at"),
            default=Greatest(Coalesce("expected_at", "promised_at"), Now()),
        )
        rows = queryset.filter(Q(status=Status.DELIVERED) | Q(pk__in=Order.objects.active()))
        late = Q(arrival__gt=TruncMinute("promised_at"))
        rows = rows.alias(arrival=TruncMinute(arrival))
        return rows.filter(late if self.value() == "yes" else ~late)


class ActiveFilter(admin.SimpleListFilter):
    title = "stage"
    parameter_name = "stage"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("active", "Under way"), ("over", "Over")]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        match self.value():
            case "active":
                return queryset.active()
            case "over":
                return queryset.exclude(pk__in=Order.objects.active())
        return None


class ItemInline(ReadOnlyMixin, TabularInline):
    model = OrderItem
    fields = ("name", "quantity", "options", "price")
    readonly_fields = ("price",)
    hide_title = True
    extra = 0

    @display(description="Unit price")
    def price(self, item: OrderItem) -> str:
        return money(item.unit_price, item.order.currency)


class EventInline(ReadOnlyMixin, TabularInline):
    model = OrderEvent
    verbose_name = "event"
    verbose_name_plural = "events, as the sources told them"
    fields = ("sequence", "type", "occurred_at", "received_at", "source", "outcome", "why_not")
    ordering = ("sequence", "pk")
    hide_title = True
    extra = 0


@admin.register(Order)
class OrderAdmin(ReadOnlyMixin, ModelAdmin):
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

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        order = self.get_object(request, object_id)
        if order is not None and self.has_view_permission(request, order):
            extra_context = {**(extra_context or {}), "facts": facts_of(order, timezone.now())}
        response: HttpResponse = super().change_view(request, object_id, form_url, extra_context)
        return response

    @display(
        description="Status",
        ordering="status",
        label={
            **dict.fromkeys(Status, "plain"),
            Status.DELIVERED: "success",
            Status.CANCELLED: "danger",
            Status.READY: "warning",
            Status.PREPARING: "warning",
            Status.PICKED_UP: "info",
        },
    )
    def status_badge(self, order: Order) -> Badge:
        return order.status, f"{STATUS_SHAPES[Status(order.status)]} {order.get_status_display()}"

    @display(
        description="Delivery",
        ordering="delivery_state",
        label={
            **dict.fromkeys(DeliveryState, "plain"),
            DeliveryState.DELIVERED: "success",
            DeliveryState.FAILED: "danger",
            DeliveryState.ON_THE_WAY: "info",
            DeliveryState.NEARBY: "info",
            DeliveryState.ARRIVED: "info",
        },
    )
    def delivery_badge(self, order: Order) -> Badge:
        state = DeliveryState(order.delivery_state)
        return state.value, f"{DELIVERY_SHAPES[state]} {state.label}"

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
        state = RefundState(order.refund_state)
        return f"{REFUND_SHAPES[state]} {state.label}: {money(order.refund_amount, order.currency)}"


@admin.register(OrderEvent)
class OrderEventAdmin(ReadOnlyMixin, ModelAdmin):
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

    @display(description="Order", ordering="order__number")
    def order_link(self, event: OrderEvent) -> str:
        return page_of(event.order)

    @display(
        description="Outcome",
        ordering="outcome",
        label={
            EventOutcome.APPLIED: "success",
            EventOutcome.LATE: "warning",
            EventOutcome.REFUSED: "danger",
        },
    )
    def outcome_badge(self, event: OrderEvent) -> Badge:
        outcome = EventOutcome(event.outcome)
        return outcome.value, f"{OUTCOME_SHAPES[outcome]} {outcome.label}"


@admin.register(OrderItem)
class OrderItemAdmin(ReadOnlyMixin, ModelAdmin):
    list_display = ("name", "quantity", "options", "price", "order_link")
    search_fields = ("name", "order__number")
    search_help_text = "Dish or order number"
    list_select_related = ("order",)
    ordering = ("-pk",)
    show_full_result_count = False
    fields = ("order", ("name", "options"), ("quantity", "price"))
    readonly_fields = ("price",)

    @display(description="Order", ordering="order__number")
    def order_link(self, item: OrderItem) -> str:
        return page_of(item.order)

    @display(description="Unit price", ordering="unit_price")
    def price(self, item: OrderItem) -> str:
        return money(item.unit_price, item.order.currency)


class OrderInline(ReadOnlyMixin, TabularInline):
    """A customer's orders; the newest come first."""

    model = Order
    fields = ("order", "restaurant", "status", "delivery_state", "total_text", "placed_at")
    readonly_fields = fields
    hide_title = True
    extra = 0
    per_page = 10

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        rows: QuerySet[Order] = super().get_queryset(request)
        return rows.select_related("restaurant", "customer")

    @display(description="Order")
    def order(self, order: Order) -> str:
        return page_of(order)

    @display(description="Total")
    def total_text(self, order: Order) -> str:
        return money(order.total, order.currency)


@admin.register(Customer)
class CustomerAdmin(ModelAdmin):
    list_display = ("name", "login", "language", "time_zone", "orders_count")
    list_filter = ("language", "time_zone")
    search_fields = ("name", "user__username", "user__email", "phone")
    search_help_text = "Name, login, e-mail or phone"
    list_select_related = ("user",)
    autocomplete_fields = ("user",)
    fields = ("user", "name", "phone", ("language", "time_zone"))
    inlines = [OrderInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Customer]:
        rows: QuerySet[Customer] = super().get_queryset(request)
        return rows.annotate(orders_count=Count("orders"))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        # Orders and conversations would go over to another person with it.
        return ("user",) if obj else ()

    @display(description="Login", ordering="user__username")
    def login(self, customer: Customer) -> str:
        return str(customer.user.username)

    @display(description="Orders", ordering="orders_count")
    def orders_count(self, customer: Any) -> int:
        return int(customer.orders_count)


@admin.register(Restaurant)
class RestaurantAdmin(ModelAdmin):
    list_display = ("name", "cuisine", "city", "phone", "orders_count")
    list_filter = ("cuisine", "city")
    search_fields = ("name", "cuisine", "city", "address")
    search_help_text = "Name, cuisine or place"
    fields = (("name", "cuisine"), ("address", "city"), "phone")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Restaurant]:
        rows: QuerySet[Restaurant] = super().get_queryset(request)
        return rows.annotate(orders_count=Count("orders"))

    @display(description="Orders", ordering="orders_count")
    def orders_count(self, restaurant: Any) -> str:
        return _orders_link(restaurant, "restaurant")


@admin.register(Rider)
class RiderAdmin(ModelAdmin):
    list_display = ("first_name", "code", "vehicle", "phone", "orders_count")
    list_filter = ("vehicle",)
    search_fields = ("first_name", "code", "phone")
    search_help_text = "Name, code or phone"
    fields = (("first_name", "code"), ("vehicle", "phone"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Rider]:
        rows: QuerySet[Rider] = super().get_queryset(request)
        return rows.annotate(orders_count=Count("orders"))

    @display(description="Orders", ordering="orders_count")
    def orders_count(self, rider: Any) -> str:
        return _orders_link(rider, "rider")


def _orders_link(row: Any, field: str) -> str:
    url = f"{reverse('admin:orders_order_changelist')}?{field}__id__exact={row.pk}"
    return format_html('<a class="qb-link" href="{}">{}</a>', url, row.orders_count)
