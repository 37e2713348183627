"""What a host runs between the engine's text and the journal."""

from dataclasses import dataclass
from typing import Protocol

from django.utils.module_loading import import_string


@dataclass(frozen=True, slots=True)
class Trip:
    """The filter stops the answer: the first ``keep`` code points stay, ``replacement`` follows."""

    reason: str
    keep: int
    replacement: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Text that may be shown now, and perhaps the end of the answer."""

    release: str
    trip: Trip | None = None


class TextFilter(Protocol):
    """A pure function of the text so far, fed in pieces of any size.

    Its output may not depend on how the text was cut into pieces: after a failover the new host
    feeds the same text again and skips what was released before.
    """

    def feed(self, text: str) -> Verdict:
        """More text from the engine; what of it may be shown."""
        ...

    def close(self) -> Verdict:
        """The engine has ended; what was held back."""
        ...


class PassThrough:
    """Shows everything at once."""

    def __init__(self, context: str) -> None:
        pass

    def feed(self, text: str) -> Verdict:
        return Verdict(text)

    def close(self) -> Verdict:
        return Verdict("")


def make_filter(path: str, context: str) -> TextFilter:
    """The filter named in the settings, for one answer; ``context`` is the job's own."""
    built: TextFilter = import_string(path)(context)
    return built
