from django.contrib import admin
from unfold.admin import ModelAdmin

from orders.admin.shared import OrdersCountMixin
from orders.models import Restaurant


@admin.register(Restaurant)
class RestaurantAdmin(OrdersCountMixin, ModelAdmin):
    list_display = ("name", "cuisine", "city", "phone", "orders_count")
    list_filter = ("cuisine", "city")
    search_fields = ("name", "cuisine", "city", "address")
    search_help_text = "Name, cuisine or place"
    fields = (("name", "cuisine"), ("address", "city"), "phone")
    orders_by = "restaurant"
