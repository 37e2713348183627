"""The words of an order's life, and which of them go together.

The database constraints in `models` and the fold in `fold` are both written from this module, so
the rules stand in one place.
"""

from django.db.models import TextChoices


class Status(TextChoices):
    PLACED = "placed", "Placed"
    ACCEPTED = "accepted", "Accepted"
    PREPARING = "preparing", "Preparing"
    READY = "ready", "Ready"
    PICKED_UP = "picked_up", "Picked up"
    DELIVERED = "delivered", "Delivered"
    CANCELLED = "cancelled", "Cancelled"


class DeliveryState(TextChoices):
    UNASSIGNED = "unassigned", "No rider yet"
    ASSIGNED = "assigned", "Rider assigned"
    AT_RESTAURANT = "at_restaurant", "Rider at the restaurant"
    ON_THE_WAY = "on_the_way", "On the way"
    NEARBY = "nearby", "Nearby"
    ARRIVED = "arrived", "Arrived"
    DELIVERED = "delivered", "Delivered"
    FAILED = "failed", "Failed"


class RefundState(TextChoices):
    NONE = "none", "None"
    REQUESTED = "requested", "Requested"
    UNDER_WAY = "under_way", "Under way"
    REFUNDED = "refunded", "Refunded"
    DECLINED = "declined", "Declined"


class EventType(TextChoices):
    PLACED = "placed", "Placed"
    ACCEPTED = "accepted", "Accepted by the restaurant"
    PREPARING = "preparing", "Kitchen started"
    READY = "ready", "Ready for the rider"
    PICKED_UP = "picked_up", "Picked up"
    DELIVERED = "delivered", "Delivered"
    CANCELLED = "cancelled", "Cancelled"
    RIDER_ASSIGNED = "rider_assigned", "Rider assigned"
    RIDER_UNASSIGNED = "rider_unassigned", "Rider taken off"
    RIDER_AT_RESTAURANT = "rider_at_restaurant", "Rider at the restaurant"
    RIDER_NEARBY = "rider_nearby", "Rider nearby"
    RIDER_ARRIVED = "rider_arrived", "Rider arrived"
    DELIVERY_FAILED = "delivery_failed", "Delivery failed"
    ETA_CHANGED = "eta_changed", "New time of arrival"
    REFUND_CHANGED = "refund_changed", "Refund changed"


class EventOutcome(TextChoices):
    """What an event did on its arrival."""

    APPLIED = "applied", "Applied"
    LATE = "late", "Late: kept in its place"
    REFUSED = "refused", "Refused"


class Vehicle(TextChoices):
    BICYCLE = "bicycle", "Bicycle"
    SCOOTER = "scooter", "Scooter"
    CAR = "car", "Car"


class Currency(TextChoices):
    USD = "USD", "US dollar"
    EUR = "EUR", "Euro"
    GBP = "GBP", "Pound sterling"


# The reasons are codes; `wording` turns them into the clause that a customer reads.
class LateReason(TextChoices):
    KITCHEN_BUSY = "kitchen_busy", "Kitchen busy"
    NO_RIDER = "no_rider", "No rider free"
    TRAFFIC = "traffic", "Traffic"
    WEATHER = "weather", "Bad weather"
    RIDER_DELAYED = "rider_delayed", "Rider delayed by an earlier delivery"
    ADDRESS = "address", "Address hard to find"


class CancelReason(TextChoices):
    CUSTOMER = "customer", "The customer asked"
    RESTAURANT_CLOSED = "restaurant_closed", "Restaurant closed"
    SOLD_OUT = "sold_out", "Sold out"
    NO_RIDER = "no_rider", "No rider found"
    PAYMENT = "payment", "Payment did not go through"
    DELIVERY_FAILED = "delivery_failed", "Delivery failed"


class FailureReason(TextChoices):
    NOBODY_HOME = "nobody_home", "Nobody answered"
    ADDRESS_NOT_FOUND = "address_not_found", "Address not found"
    DAMAGED = "damaged", "Damaged on the way"
    ACCIDENT = "accident", "Rider had an accident"


TERMINAL = frozenset({Status.DELIVERED, Status.CANCELLED})
BEFORE_PICK_UP = (Status.PLACED, Status.ACCEPTED, Status.PREPARING, Status.READY)

# Which delivery states an order of each status may have. A failed delivery stays `picked_up`
# until it is cancelled: the food left the restaurant, and nothing more happens by itself.
_WAITING = (DeliveryState.UNASSIGNED, DeliveryState.ASSIGNED, DeliveryState.AT_RESTAURANT)
ALLOWED: dict[Status, tuple[DeliveryState, ...]] = {
    **dict.fromkeys(BEFORE_PICK_UP, _WAITING),
    Status.PICKED_UP: (
        DeliveryState.ON_THE_WAY,
        DeliveryState.NEARBY,
        DeliveryState.ARRIVED,
        DeliveryState.FAILED,
    ),
    Status.DELIVERED: (DeliveryState.DELIVERED,),
    Status.CANCELLED: (DeliveryState.UNASSIGNED, DeliveryState.FAILED),
}
