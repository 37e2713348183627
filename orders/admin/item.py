from django.contrib import admin
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display

from orders.admin.shared import OfOrderMixin, ReadOnlyMixin
from orders.models import OrderItem
from orders.wording import money


class UnitPriceMixin:
    @display(description="Unit price", ordering="unit_price")
    def price(self, item: OrderItem) -> str:
        return money(item.unit_price, item.order.currency)


class ItemInline(UnitPriceMixin, ReadOnlyMixin, TabularInline):
    model = OrderItem
    fields = ("name", "quantity", "options", "price")
    readonly_fields = ("price",)
    hide_title = True
    extra = 0


@admin.register(OrderItem)
class OrderItemAdmin(UnitPriceMixin, OfOrderMixin, ReadOnlyMixin, ModelAdmin):
    list_display = ("name", "quantity", "options", "price", "order_link")
    search_fields = ("name", "order__number")
    search_help_text = "Dish or order number"
    list_select_related = ("order",)
    ordering = ("-pk",)
    show_full_result_count = False
    fields = ("order", ("name", "options"), ("quantity", "price"))
    readonly_fields = ("price",)
