"""Shape and colour of every state; a circle fills up while an order is under way."""

from orders.admin.shared import Looks
from orders.states import DeliveryState, EventOutcome, RefundState, Status

STATUS = Looks(
    {
        Status.PLACED: ("○", "plain"),
        Status.ACCEPTED: ("◔", "plain"),
        Status.PREPARING: ("◑", "warning"),
        Status.READY: ("◕", "warning"),
        Status.PICKED_UP: ("●", "info"),
        Status.DELIVERED: ("✓", "success"),
        Status.CANCELLED: ("✕", "danger"),
    }
)
DELIVERY = Looks(
    {
        DeliveryState.UNASSIGNED: ("○", "plain"),
        DeliveryState.ASSIGNED: ("◔", "plain"),
        DeliveryState.AT_RESTAURANT: ("◑", "plain"),
        DeliveryState.ON_THE_WAY: ("▸", "info"),
        DeliveryState.NEARBY: ("◕", "info"),
        DeliveryState.ARRIVED: ("●", "info"),
        DeliveryState.DELIVERED: ("✓", "success"),
        DeliveryState.FAILED: ("✕", "danger"),
    }
)
REFUND = Looks(
    {
        RefundState.REQUESTED: ("○", "plain"),
        RefundState.UNDER_WAY: ("◑", "plain"),
        RefundState.REFUNDED: ("✓", "plain"),
        RefundState.DECLINED: ("✕", "plain"),
    }
)
OUTCOME = Looks(
    {
        EventOutcome.APPLIED: ("✓", "success"),
        EventOutcome.LATE: ("◷", "warning"),
        EventOutcome.REFUSED: ("✕", "danger"),
    }
)
