from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display

from orders.admin.shared import ReadOnlyMixin, page_of
from orders.models import Customer, Order
from orders.wording import money


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
