"""Every state of every kind has a look of its own: a page must never meet one without."""

import pytest
from django.db.models import TextChoices

from assistant.admin.conversations import HOLDERS
from assistant.models import Conversation
from orders.admin import Looks, looks
from orders.states import DeliveryState, EventOutcome, RefundState, Status

KINDS = [
    (looks.STATUS, Status),
    (looks.DELIVERY, DeliveryState),
    (looks.REFUND, set(RefundState) - {RefundState.NONE}),
    (looks.OUTCOME, EventOutcome),
    (HOLDERS, Conversation.Holder),
]


@pytest.mark.parametrize(("look", "states"), KINDS)
def test_every_state_is_told_by_shape_word_and_colour(
    look: Looks, states: type[TextChoices] | set[TextChoices]
) -> None:
    assert set(look.by_state) == set(states)
    assert set(look.tones) == {state.value for state in states}
    shapes = {shape for shape, _ in look.by_state.values()}
    assert len(shapes) == len(look.by_state)


def test_a_badge_has_the_value_and_words() -> None:
    assert looks.STATUS.badge(Status.PICKED_UP) == ("picked_up", f"● {Status.PICKED_UP.label}")
