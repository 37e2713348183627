"""The design language holds its promises: contrast on both themes, and a small widget."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[2] / "assistant" / "static" / "assistant"

#: Ink and ground that carry text together (WCAG 2.2 AA: 4.5), and outlines on them (3).
TEXT = [
    ("on-brand", "brand"), ("on-brand", "brand-strong"), ("brand-ink", "surface"),
    ("brand-ink", "ground"), ("brand-ink", "brand-soft"), ("brand-ink", "raised"),
    ("ink", "ground"), ("ink", "surface"), ("ink", "raised"), ("ink", "bad-soft"),
    ("muted", "ground"), ("muted", "surface"), ("muted", "raised"), ("good", "good-soft"),
    ("warn", "warn-soft"), ("warn", "surface"), ("bad", "bad-soft"), ("bad", "surface"),
]  # fmt: skip
OUTLINES = [("edge", "surface"), ("edge", "ground"), ("brand", "surface"), ("good", "surface")]


def _themes() -> dict[str, dict[str, str]]:
    """The colours by theme, as ``tokens.css`` has them."""
    light, dark, *_ = (STATIC / "tokens.css").read_text().split("@media")
    colours = [dict(re.findall(r"--qb-([\w-]+): #(\w{6})", part)) for part in (light, dark)]
    return {"light": colours[0], "dark": colours[0] | colours[1]}


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_pair_can_be_read(theme: str) -> None:
    colours = _themes()[theme]
    wanted = [(*pair, 4.5) for pair in TEXT] + [(*pair, 3.0) for pair in OUTLINES]
    weak = [
        (ink, ground, round(found, 2))
        for ink, ground, least in wanted
        if (found := _contrast(colours[ink], colours[ground])) < least
    ]
    assert weak == []


def test_the_widgets_own_colours_are_the_tokens() -> None:
    css = (STATIC / "widget.js").read_text()
    light, dark = css.split("prefers-color-scheme: dark", 1)
    tokens = _themes()
    for theme, part in (("light", light), ("dark", dark)):
        own = dict(re.findall(r"var\(--qb-([\w-]+), (#\w{6})\)", part))
        assert own
        assert {name: f"#{tokens[theme][name]}" for name in own} == own


def test_the_widget_is_small() -> None:
    served = gzip.compress((STATIC / "widget.js").read_bytes(), 9)
    assert len(served) <= 20 * 1024
