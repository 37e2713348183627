"""The widget's source holds together: no word is lost, and none is missing."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

STATIC = Path(__file__).parents[2] / "assistant" / "static" / "assistant"


def _source() -> str:
    return (STATIC / "widget.js").read_text()


def _words() -> list[str]:
    """The keys of the table of words, as often as they stand there."""
    table = re.search(r"const WORDS = \{\n(.*?)\n *\};", _source(), re.DOTALL)
    assert table
    return re.findall(r"^ *(\w+):", table[1], re.MULTILINE)


def test_no_word_hides_another() -> None:
    twice = [key for key, times in Counter(_words()).items() if times > 1]
    assert twice == []


def test_every_word_that_is_said_is_there() -> None:
    said = set(re.findall(r'say\("(\w+)"', _source()))
    states = set(re.findall(r'become\("(\w+)"\)', _source())) - {"idle"}
    assert {"signedOut", "online"} <= said | states
    assert (said | states) - set(_words()) == set()
