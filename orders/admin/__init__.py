"""Staff's view of orders. The feed writes them: here they are read.

An app that knows of orders may add its own inlines to `OrderAdmin` and `CustomerAdmin`.
"""

from orders.admin import restaurant, rider
from orders.admin.customer import CustomerAdmin
from orders.admin.order import OrderAdmin
from orders.admin.shared import Badge, Looks, ReadOnlyMixin, ReadOnlyPage, page_of

__all__ = [
    "Badge",
    "CustomerAdmin",
    "Looks",
    "OrderAdmin",
    "ReadOnlyMixin",
    "ReadOnlyPage",
    "page_of",
    "restaurant",
    "rider",
]
