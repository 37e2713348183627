"""What the admin pages of several models, here and in other apps, have in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Model, QuerySet, TextChoices
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.decorators import display

Badge = tuple[str, str]  # the value, which chooses the colour, and what is shown


@dataclass(frozen=True, slots=True)
class Looks:
    """How the states of one kind are told: each by shape, word and colour."""

    by_state: Mapping[TextChoices, tuple[str, str]]

    @property
    def tones(self) -> dict[str, str]:
        """The colour of each state, as Unfold's ``display(label=…)`` takes it."""
        return {state.value: tone for state, (_, tone) in self.by_state.items()}

    def text(self, state: TextChoices) -> str:
        return f"{self.by_state[state][0]} {state.label}"

    def badge(self, state: TextChoices) -> Badge:
        return state.value, self.text(state)


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


class ReadOnlyPage(ReadOnlyMixin, ModelAdmin):
    """Rows that a program writes, whose page shows more than their fields."""

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """What the template of a row's page needs besides."""
        raise NotImplementedError

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        if row is not None and self.has_view_permission(request, row):
            extra_context = {**(extra_context or {}), **self.page_context(request, row)}
        response: HttpResponse = super().change_view(request, object_id, form_url, extra_context)
        return response


class OfOrderMixin:
    """Rows that belong to an order."""

    @display(description="Order", ordering="order__number")
    def order_link(self, row: Any) -> str:
        return page_of(row.order)


class OrdersCountMixin:
    """How many orders there are of a row, leading to them; ``orders_by`` is an order's field."""

    orders_by: str

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)  # type: ignore[misc]
        counted: QuerySet[Any] = rows.annotate(orders_count=Count("orders"))
        return counted

    @display(description="Orders", ordering="orders_count")
    def orders_count(self, row: Any) -> str:
        url = f"{reverse('admin:orders_order_changelist')}?{self.orders_by}__id__exact={row.pk}"
        return format_html('<a class="qb-link" href="{}">{}</a>', url, row.orders_count)
