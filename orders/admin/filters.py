"""Filters of the list of orders."""

from typing import Any

from django.contrib import admin
from django.db.models import Case, Q, When
from django.db.models.functions import Coalesce, Greatest, Now, TruncMinute
from django.http import HttpRequest

from orders.models import Order
from orders.states import DeliveryState, Status


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
