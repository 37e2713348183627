"""Order events as they come in: one frozen dataclass, checked when it is made.

`OrderEventIn.parse(data)` reads a decoded JSON object; an event made in Python passes the same
checks. So whatever reaches `services.record_events` is well formed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .errors import InvalidEvent
from .states import CancelReason, EventType, FailureReason, LateReason, RefundState

MAX_SEQUENCE = 2**63 - 1
MAX_CENTS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class OrderEventIn:
    """One thing that happened to one order.

    `sequence` counts up within `source` and order; `event_id` is unique for good, so a re-sent
    event is recognised. Raises `InvalidEvent` when a value cannot be right.
    """

    event_id: str
    order: str
    source: str
    sequence: int
    type: str
    occurred_at: datetime
    payload: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _text("event_id", self.event_id, 64)
        _text("order", self.order, 16)
        _text("source", self.source, 32)
        _whole("sequence", self.sequence, 1, MAX_SEQUENCE)
        if self.type not in EventType.values:
            raise InvalidEvent("type", "unknown")
        if not isinstance(self.occurred_at, datetime) or self.occurred_at.utcoffset() is None:
            raise InvalidEvent("occurred_at", "needs a date and time with a zone")
        _check_payload(EventType(self.type), self.payload)

    @classmethod
    def parse(cls, data: Any) -> OrderEventIn:
        """Read one decoded JSON object. Raises `InvalidEvent`, never anything else."""
        if not isinstance(data, Mapping):
            raise InvalidEvent("event", "not an object")
        known = set(cls.__dataclass_fields__)
        if missing := known - {"payload"} - set(data):
            raise InvalidEvent(min(missing), "missing")
        if extra := set(data) - known:
            raise InvalidEvent(str(next(iter(extra)))[:40], "unknown field")
        values = {name: data[name] for name in known & set(data)}
        return cls(**{**values, "occurred_at": _moment("occurred_at", data["occurred_at"])})


def _check_payload(kind: EventType, payload: Any) -> None:
    if not isinstance(payload, Mapping):
        raise InvalidEvent("payload", "not an object")
    allowed = {"expected_at", "late_reason"}
    match kind:
        case EventType.RIDER_ASSIGNED:
            allowed |= {"rider"}
            _text("payload.rider", payload.get("rider"), 40)
        case EventType.CANCELLED:
            allowed |= {"reason"}
            _choice("payload.reason", payload.get("reason", CancelReason.CUSTOMER), CancelReason)
        case EventType.DELIVERY_FAILED:
            allowed |= {"reason"}
            _choice(
                "payload.reason", payload.get("reason", FailureReason.NOBODY_HOME), FailureReason
            )
        case EventType.REFUND_CHANGED:
            allowed = {"state", "amount"}
            _choice("payload.state", payload.get("state"), RefundState)
            nothing = payload["state"] == RefundState.NONE
            _whole("payload.amount", payload.get("amount"), 0 if nothing else 1, MAX_CENTS)
            if nothing and payload["amount"]:
                raise InvalidEvent("payload.amount", "no refund has no amount")
        case EventType.ETA_CHANGED:
            _moment("payload.expected_at", payload.get("expected_at"))
    if extra := set(payload) - allowed:
        raise InvalidEvent("payload", f"unknown field {str(next(iter(extra)))[:40]}")
    if "expected_at" in payload:
        _moment("payload.expected_at", payload["expected_at"])
    if "late_reason" in payload:
        _choice("payload.late_reason", payload["late_reason"], LateReason)


def _text(name: str, value: Any, limit: int) -> None:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InvalidEvent(name, "needs text")
    if len(value) > limit:
        raise InvalidEvent(name, f"longer than {limit} characters")


def _whole(name: str, value: Any, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidEvent(name, f"needs a whole number from {low} to {high}")


def _choice(name: str, value: Any, choices: Any) -> None:
    if not isinstance(value, str) or value not in choices.values:
        raise InvalidEvent(name, "unknown")


def _moment(name: str, value: Any) -> datetime:
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InvalidEvent(name, "needs a date and time in ISO 8601") from None
    if moment.utcoffset() is None:
        raise InvalidEvent(name, "needs a zone")
    return moment
