"""Reading the wire: whatever comes, a typed error or a frame."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant import frames
from assistant.errors import (
    AssistantError,
    BinaryFrame,
    FrameTooLarge,
    InvalidFrame,
    UnknownFrame,
    UnreadableCharacters,
)


def test_a_question_is_read() -> None:
    frame = frames.parse('{"type": "ask", "client_id": "c", "text": "Where?", "later": 1}')
    assert frame == frames.Ask(client_id="c", text="Where?")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", InvalidFrame),
        ("{", InvalidFrame),
        ("null", InvalidFrame),
        ("[1]", InvalidFrame),
        ('"ask"', InvalidFrame),
        ("{}", InvalidFrame),
        ('{"type": "ask"}', InvalidFrame),
        ('{"type": "ask", "client_id": 1, "text": "x"}', InvalidFrame),
        ('{"type": "sync", "revision": "x"}', InvalidFrame),
        ('{"type": "sync", "revision": 1e400}', InvalidFrame),
        ('{"type": "open", "offsets": {"a": "b"}}', InvalidFrame),
        ('{"type": "drop_tables"}', UnknownFrame),
        ('{"type": "ask", "client_id": "c", "text": "\\ud83d"}', UnreadableCharacters),
        ('{"type": "ask", "client_id": "c", "text": "\ud83d"}', UnreadableCharacters),
        ("[" * 20_000, InvalidFrame),
        ("x" * 40_000, FrameTooLarge),
    ],
)
def test_what_cannot_be_read_is_named(text: str, error: type[AssistantError]) -> None:
    with pytest.raises(AssistantError) as raised:
        frames.parse(text)
    assert type(raised.value) is error


def test_binary_is_refused() -> None:
    with pytest.raises(BinaryFrame):
        frames.parse(None, b"\x00\x01")


def test_the_error_says_which_message_was_not_taken() -> None:
    with pytest.raises(UnreadableCharacters) as raised:
        frames.parse('{"type": "ask", "client_id": "c7", "text": "\\udc00"}')
    assert raised.value.client_id == "c7"


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
_types = st.sampled_from(
    ["open", "ask", "choose", "stop", "retry", "resume", "sync", "history", "nonsense"]
)
_fields = st.sampled_from(
    [
        "conversation",
        "order",
        "new",
        "revision",
        "offsets",
        "client_id",
        "text",
        "message",
        "offset",
        "before",
        "no_cache",
    ]
)


@given(kind=_types, fields=st.dictionaries(_fields, _json, max_size=5))
def test_any_json_is_a_frame_or_a_typed_error(kind: str, fields: dict[str, object]) -> None:
    try:
        frames.parse(json.dumps({"type": kind, **fields}))
    except AssistantError as error:
        assert error.text
        assert error.code


@given(st.text(max_size=60))
def test_any_text_is_a_frame_or_a_typed_error(text: str) -> None:
    try:
        frames.parse(text)
    except AssistantError as error:
        assert error.text
