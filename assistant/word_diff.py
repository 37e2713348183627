"""What changed between two texts, word by word. Pure."""

import difflib
import re
from typing import Literal, NamedTuple


class Piece(NamedTuple):
    kind: Literal["same", "old", "new"]
    text: str


def diff(old: str, new: str) -> list[Piece]:
    """The new text's pieces in order, with what was taken out before what came in."""
    # A placeholder is one word.
    before, after = (re.findall(r"\{\{.*?\}\}|\s+|\w+|.", text, re.DOTALL) for text in (old, new))
    pieces: list[Piece] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            pieces.append(Piece("same", "".join(before[i1:i2])))
            continue
        if i1 < i2:
            pieces.append(Piece("old", "".join(before[i1:i2])))
        if j1 < j2:
            pieces.append(Piece("new", "".join(after[j1:j2])))
    return pieces
