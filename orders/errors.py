"""Errors of this app. Each says what the customer may read and whether trying again can help."""

from typing import ClassVar


class OrderError(Exception):
    """Root of every error that this app raises on purpose."""

    code: ClassVar[str] = "order_error"
    retry: ClassVar[bool] = False
    customer_text: ClassVar[str] = "Something went wrong with this order."


class OrderNotFound(OrderError):
    """There is no such order for this customer.

    Someone else's order raises the same error as one that never existed, so that nobody can find
    out which numbers are taken.
    """

    code = "order_not_found"
    customer_text = "We can't find this order among yours."

    def __init__(self, number: str) -> None:
        super().__init__("no such order for this customer")
        self.number = number


class NotACustomer(OrderError):
    """The signed-in user has no customer record (a member of staff, for example)."""

    code = "not_a_customer"
    customer_text = "This account has no orders."


class InvalidEvent(OrderError):
    """An order event that cannot be read: `field` says where, `why` what is wrong with it."""

    code = "invalid_event"

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field}: {why}")
        self.field = field
        self.why = why


class InvalidOrder(OrderError):
    """An order that cannot be placed: no items, a discount above its price, and the like."""

    code = "invalid_order"


class AppendOnly(OrderError):
    """An attempt to change or delete a recorded event."""

    code = "append_only"
