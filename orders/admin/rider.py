from django.contrib import admin
from unfold.admin import ModelAdmin

from orders.admin.shared import OrdersCountMixin
from orders.models import Rider


@admin.register(Rider)
class RiderAdmin(OrdersCountMixin, ModelAdmin):
    list_display = ("first_name", "code", "vehicle", "phone", "orders_count")
    list_filter = ("vehicle",)
    search_fields = ("first_name", "code", "phone")
    search_help_text = "Name, code or phone"
    fields = (("first_name", "code"), ("vehicle", "phone"))
    orders_by = "rider"
