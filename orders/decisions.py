"""What may still be done about an order, and what to do next. Pure; the house policy stands here.

- Cancelling is free until the restaurant accepts the order. Once it has accepted, and until the
  kitchen starts, cancelling is possible and the delivery fee is kept. After that it is not.
- The address may be changed until the rider picks the order up.
- The rider can be called and messaged from the app once assigned, until the order is over.
  Nobody gets a phone number.

The texts are ready to quote: complete sentences, with the reason in them.
"""

from __future__ import annotations

from dataclasses import dataclass

from .states import DeliveryState, Status

# Minutes of delay from which a person is offered in place of waiting.
LONG_DELAY = 30


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    why: str


def may_cancel(status: str, delivery_state: str, *, rider: str | None, fee: str | None) -> Decision:
    """`fee` is the delivery fee as the customer reads it, None when there was none."""
    if over := _over("it", status, delivery_state):
        return Decision(False, f"The order cannot be cancelled because {over}.")
    match status:
        case Status.PLACED:
            return Decision(
                True,
                "The order can still be cancelled free of charge under “Your orders” "
                "because the restaurant has not accepted it yet.",
            )
        case Status.ACCEPTED:
            cost = f"but the delivery fee of {fee} is kept" if fee else "free of charge"
            return Decision(
                True,
                "The order can still be cancelled under “Your orders” because the kitchen has "
                f"not started yet, {cost}.",
            )
        case Status.PREPARING:
            reason = "the kitchen has already started preparing it"
        case Status.READY:
            reason = "the food is already prepared"
        case _:
            reason = f"{rider or 'the rider'} has already picked it up"
    return Decision(False, f"The order cannot be cancelled any more because {reason}.")


def may_change_address(status: str, delivery_state: str, *, rider: str | None) -> Decision:
    if over := _over("the order", status, delivery_state):
        return Decision(False, f"The delivery address cannot be changed because {over}.")
    if status == Status.PICKED_UP:
        return Decision(
            False,
            "The delivery address cannot be changed any more because "
            f"{rider or 'the rider'} has already picked the order up.",
        )
    return Decision(
        True,
        "The delivery address can still be changed under “Your orders” until "
        f"{rider or 'a rider'} picks the order up.",
    )


def may_contact_rider(status: str, delivery_state: str, *, rider: str | None) -> Decision:
    if over := _over("the order", status, delivery_state):
        return Decision(False, f"The rider cannot be contacted any more because {over}.")
    if rider is None:
        if status == Status.PICKED_UP:
            return Decision(True, "You can contact the rider under “Your orders”.")
        return Decision(False, "No rider has been assigned to the order yet.")
    return Decision(True, f"You can call or message {rider} under “Your orders”.")


def next_step(status: str, delivery_state: str, *, rider: str | None, minutes_late: int) -> str:
    who = rider or "the rider"
    match status, delivery_state:
        case Status.CANCELLED, _:
            return "There is nothing more to do; you can place a new order at any time."
        case _, DeliveryState.FAILED:
            return "A person from our team can look into it with you: just ask for one."
        case Status.DELIVERED, _:
            return "If something is missing or wrong, report it under “Your orders”."
        case _, DeliveryState.ARRIVED:
            return (
                f"Please meet {who} at your door; if you cannot see {who}, "
                "call or message from “Your orders”."
            )
    if minutes_late >= LONG_DELAY:
        return "If you would rather not wait, a person from our team can help: just ask for one."
    match delivery_state:
        case DeliveryState.NEARBY:
            return f"Please get ready to meet {who} at your door."
        case DeliveryState.ON_THE_WAY:
            return f"Please keep your phone at hand so that {who} can reach you."
    if status == Status.PLACED:
        return "You do not need to do anything: the restaurant has to accept the order first."
    if status == Status.READY and rider is None:
        return "You do not need to do anything: we are looking for a rider."
    return "You do not need to do anything: we keep the time of arrival up to date."


def _over(subject: str, status: str, delivery_state: str) -> str | None:
    """Why nothing can be changed any more, as the end of a sentence."""
    if status == Status.DELIVERED:
        return f"{subject} has already been delivered"
    if status == Status.CANCELLED:
        return f"{subject} has been cancelled"
    if delivery_state == DeliveryState.FAILED:
        return "the delivery has failed"
    return None
