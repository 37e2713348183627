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
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    runs: list[tuple[bool, str, str]] = []  # whether it stays, the old words, the new ones
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        old_words, new_words = "".join(before[i1:i2]), "".join(after[j1:j2])
        stays = tag == "equal" and not (old_words.isspace() and i1 > 0 and i2 < len(before))
        if runs and runs[-1][0] == stays:
            _, was, came = runs.pop()
            old_words, new_words = was + old_words, came + new_words
        runs.append((stays, old_words, new_words))
    pieces: list[Piece] = []
    for stays, old_words, new_words in runs:
        if stays:
            pieces.append(Piece("same", old_words))
            continue
        if old_words:
            pieces.append(Piece("old", old_words))
        if new_words:
            pieces.append(Piece("new", new_words))
    return pieces
