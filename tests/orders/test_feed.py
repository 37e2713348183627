"""Events as they come in: what is well formed, and what is said of what is not."""

from typing import Any

import pytest

from orders.errors import InvalidEvent
from orders.feed import OrderEventIn

GOOD: dict[str, Any] = {
    "event_id": "e-1",
    "order": "QB-1042",
    "source": "platform",
    "sequence": 3,
    "type": "rider_assigned",
    "occurred_at": "2026-03-04T00:30:00+00:00",
    "payload": {"rider": "asha"},
}


def test_a_good_event_is_read() -> None:
    event = OrderEventIn.parse(GOOD)
    assert (event.order, event.sequence, event.payload) == ("QB-1042", 3, {"rider": "asha"})
    assert event.occurred_at.isoformat() == "2026-03-04T00:30:00+00:00"


def test_the_payload_may_be_left_out() -> None:
    data = {k: v for k, v in GOOD.items() if k != "payload"} | {"type": "ready"}
    assert OrderEventIn.parse(data).payload == {}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"event_id": ""}, "event_id"),
        ({"event_id": "a\x00b"}, "event_id"),
        ({"event_id": "x" * 65}, "event_id"),
        ({"order": 1042}, "order"),
        ({"source": "\ud800"}, "source"),
        ({"sequence": 0}, "sequence"),
        ({"sequence": True}, "sequence"),
        ({"sequence": "3"}, "sequence"),
        ({"sequence": 2**63}, "sequence"),
        ({"type": "exploded"}, "type"),
        ({"type": ["ready"]}, "type"),
        ({"occurred_at": "yesterday"}, "occurred_at"),
        ({"occurred_at": "2026-03-04T00:30:00"}, "occurred_at"),
        ({"occurred_at": None}, "occurred_at"),
        ({"payload": []}, "payload"),
        ({"payload": {}}, "payload.rider"),
        ({"payload": {"rider": "asha", "phone": "1"}}, "payload"),
        ({"payload": {"rider": "asha", "late_reason": "aliens"}}, "payload.late_reason"),
        ({"payload": {"rider": "asha", "expected_at": "soon"}}, "payload.expected_at"),
        ({"type": "eta_changed", "payload": {}}, "payload.expected_at"),
        ({"type": "cancelled", "payload": {"reason": "whim"}}, "payload.reason"),
        ({"type": "refund_changed", "payload": {"state": "refunded"}}, "payload.amount"),
        (
            {"type": "refund_changed", "payload": {"state": "refunded", "amount": -1}},
            "payload.amount",
        ),
        ({"type": "refund_changed", "payload": {"state": "none", "amount": 5}}, "payload.amount"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_bad_event_is_named_by_its_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidEvent) as raised:
        OrderEventIn.parse(GOOD | change)
    assert raised.value.field == field


@pytest.mark.parametrize("name", sorted(set(GOOD) - {"payload"}))
def test_a_missing_field_is_named(name: str) -> None:
    with pytest.raises(InvalidEvent) as raised:
        OrderEventIn.parse({k: v for k, v in GOOD.items() if k != name})
    assert raised.value.field == name


@pytest.mark.parametrize("data", [None, [], "event", 3])
def test_what_is_no_object_is_refused(data: object) -> None:
    with pytest.raises(InvalidEvent):
        OrderEventIn.parse(data)
