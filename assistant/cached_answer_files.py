"""Cached answers as a CSV file: out to a spreadsheet and back, all or nothing.

One row a key. An import is tried in a transaction; whatever is wrong is said with its line, and
with one error, or for a dry run, the transaction is taken back.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from assistant import cached_answers, word_diff
from assistant.cached_answers import Author, Place, State
from assistant.errors import CachedAnswerError
from assistant.models import CachedAnswer, Category, Intent
from assistant.models.cached_answers import ANY

COLUMNS = (
    "category",
    "intent",
    "order_status",
    "delivery_state",
    "language",
    "state",
    "valid_until",
    "text",
)
#: Small enough to travel through a page as base64, under Django's limit for a form.
MAX_BYTES = 1_500_000
MAX_ROWS = 2_000
_NEEDED = ("category", "text")
#: What a spreadsheet would run as a formula is written with an apostrophe before it.
_FORMULA = ("=", "+", "-", "@", "\t")
_BEST_FIRST = {State.LIVE: 0, State.DRAFT: 1, State.RETIRED: 2}


@dataclass(frozen=True, slots=True)
class Change:
    """What one line does. `pieces` is empty where the text stays."""

    line: int
    kind: str  # "new", "changed", "published", "retired", "unchanged"
    answer: str
    pieces: list[word_diff.Piece] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LineError:
    """`line` is that of the file, counted from 1, where the row begins; 0 for the whole file."""

    line: int
    text: str


@dataclass(slots=True)
class Outcome:
    changes: list[Change] = field(default_factory=list)
    errors: list[LineError] = field(default_factory=list)
    applied: bool = False

    @property
    def changing(self) -> list[Change]:
        return [change for change in self.changes if change.kind != "unchanged"]

    @property
    def unchanged(self) -> int:
        return len(self.changes) - len(self.changing)


# ---- out -----------------------------------------------------------------------------------------


def export() -> str:
    """One row for each key: the live answer, else the newest draft, else the newest retired one."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    rows = CachedAnswer.objects.select_related("category", "intent", "current").prefetch_related(
        "versions"
    )
    chosen: dict[tuple[str, ...], CachedAnswer] = {}
    for row in sorted(rows, key=lambda row: (-_BEST_FIRST[State(row.state)], row.pk)):
        chosen[_key(cached_answers.place_of(row))] = row
    for key, row in sorted(chosen.items()):
        until = row.valid_until.isoformat() if row.valid_until else ""
        writer.writerow([*map(_safe, key), row.state, until, _safe(_text(row))])
    return out.getvalue()


def _key(place: Place) -> tuple[str, ...]:
    intent = place.intent.slug if place.intent else ""
    return (
        place.category.slug,
        intent,
        place.order_status,
        place.delivery_state,
        place.language,
    )


def _text(row: CachedAnswer) -> str:
    if row.state == State.LIVE and row.current is not None:
        return row.current.template
    newest = max(row.versions.all(), key=lambda version: version.number, default=None)
    return newest.template if newest else ""


def _safe(value: str) -> str:
    return f"'{value}" if value.startswith(_FORMULA) else value


def _unsafe(value: str) -> str:
    return value[1:] if value.startswith("'") and value[1:].startswith(_FORMULA) else value


# ---- in ------------------------------------------------------------------------------------------


def try_out(data: bytes, *, author: Author) -> Outcome:
    """A dry run: what an import would change, and everything that stands in its way."""
    return _run(data, author=author, keep=False)


def import_csv(data: bytes, *, author: Author) -> Outcome:
    """Import all rows, or with a single error none. Publishing needs the author's right to."""
    return _run(data, author=author, keep=True)


def _run(data: bytes, *, author: Author, keep: bool) -> Outcome:
    outcome = Outcome()
    try:
        rows = list(_rows(data, outcome.errors))
    except CachedAnswerError as error:
        outcome.errors.append(LineError(0, error.text))
        return outcome
    with transaction.atomic():
        seen: dict[tuple[str, ...], int] = {}
        for line, row in rows:
            try:
                with transaction.atomic():
                    outcome.changes.append(_apply(line, row, seen, author))
            except CachedAnswerError as error:
                outcome.errors.append(LineError(line, error.text))
        outcome.errors.sort(key=lambda error: error.line)
        outcome.applied = keep and not outcome.errors
        if not outcome.applied:
            transaction.set_rollback(True)
    return outcome


def _rows(data: bytes, errors: list[LineError]) -> Iterator[tuple[int, dict[str, str]]]:
    """The file's rows, each with the line on which it begins."""
    if len(data) > MAX_BYTES:
        raise CachedAnswerError(f"The file has more than {MAX_BYTES / 1_000_000} MB.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise CachedAnswerError(f"The file is not UTF-8 (line {line}); save it as such.") from None
    if "\0" in text:
        raise CachedAnswerError("The file is no CSV file: it contains NUL characters.")
    first = text.partition("\n")[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    line, count = 1, 0
    try:
        for cells in reader:
            start, line = line, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = _header(cells)
                continue
            if len(cells) != len(header):
                errors.append(
                    LineError(start, f"{len(cells)} cells where there are {len(header)} columns.")
                )
                continue
            count += 1
            if count > MAX_ROWS:
                raise CachedAnswerError(f"The file has more than {MAX_ROWS:,} rows.")
            yield start, dict(zip(header, (_unsafe(cell) for cell in cells), strict=True))
    except csv.Error as error:
        raise CachedAnswerError(f"Line {line} is no CSV: {error}.") from None
    if header is None:
        raise CachedAnswerError("The file is empty.")


def _header(cells: list[str]) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise CachedAnswerError(f"The first line must name the column {' and '.join(missing)}.")
    unknown = [name for name in names if name not in COLUMNS]
    if unknown:
        raise CachedAnswerError(
            f"There is no column “{unknown[0]}”; there are {', '.join(COLUMNS)}."
        )
    if len(set(names)) < len(names):
        raise CachedAnswerError("The first line names a column twice.")
    return names


def _apply(
    line: int, row: dict[str, str], seen: dict[tuple[str, ...], int], author: Author
) -> Change:
    place = _place(row)
    cached_answers.check_place(place)
    key = _key(place)
    if key in seen:
        raise CachedAnswerError(f"The same key as line {seen[key]}.")
    seen[key] = line
    answer = _existing(place)
    before = _text(answer) if answer else ""
    was = State(answer.state) if answer else None
    state = _state(row, was)
    until = _valid_until(row, answer)
    text = cached_answers.check_template(row["text"], place)
    unchanged = (text, until, state) == (before, answer.valid_until if answer else None, was)
    if answer is not None and unchanged:
        return Change(line, "unchanged", str(answer))
    if answer is None:
        answer = cached_answers.create(
            place, text, author=author, valid_until=until, note="Imported"
        )
    else:
        cached_answers.save(answer, text, author=author, valid_until=until, note="Imported")
    if state == State.LIVE and (was != State.LIVE or text != before):
        cached_answers.publish(answer, author=author)
    elif state == State.RETIRED and was != State.RETIRED:
        cached_answers.retire(answer, author=author)
    pieces = word_diff.diff(before, text) if text != before else []
    return Change(line, _kind(was, state), str(answer), pieces)


def _kind(was: State | None, state: State) -> str:
    if was is None:
        return "new"
    if was == state:
        return "changed"
    return {State.LIVE: "published", State.RETIRED: "retired"}.get(state, "changed")


def _place(row: dict[str, str]) -> Place:
    slug, intent = row["category"].strip(), row.get("intent", "").strip()
    category = Category.objects.filter(slug=slug).first()
    if category is None:
        raise CachedAnswerError(f"There is no category “{slug}”.")
    found = Intent.objects.filter(category=category, slug=intent).first() if intent else None
    if intent and found is None:
        raise CachedAnswerError(f"The category “{slug}” has no sub-intent “{intent}”.")
    return Place(
        category=category,
        intent=found,
        order_status=row.get("order_status", "").strip() or ANY,
        delivery_state=row.get("delivery_state", "").strip() or ANY,
        language=row.get("language", "").strip() or "en",
    )


def _existing(place: Place) -> CachedAnswer | None:
    rows = CachedAnswer.objects.filter(
        category=place.category,
        intent=place.intent,
        order_status=place.order_status,
        delivery_state=place.delivery_state,
        language=place.language,
    ).select_related("category", "intent", "current")
    return min(rows, key=lambda row: (_BEST_FIRST[State(row.state)], -row.pk), default=None)


def _state(row: dict[str, str], was: State | None) -> State:
    wanted = row.get("state", "").strip().lower()
    if not wanted:
        return was or State.DRAFT
    if wanted not in State.values:
        raise CachedAnswerError(f"There is no state “{wanted}”; there are live, draft and retired.")
    state = State(wanted)
    if state == State.DRAFT and was == State.LIVE:
        raise CachedAnswerError("It is live: leave its state, or write “retired” to stop it.")
    if state == State.RETIRED and was is None:
        raise CachedAnswerError("There is no such answer to retire.")
    return state


def _valid_until(row: dict[str, str], answer: CachedAnswer | None) -> datetime | None:
    if "valid_until" not in row:
        return answer.valid_until if answer else None
    text = row["valid_until"].strip()
    if not text:
        return None
    moment: Any = None
    try:
        moment = parse_datetime(text)
        if moment is None and (day := parse_date(text)):
            moment = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - made aware below
    except ValueError:
        pass
    if moment is None:
        raise CachedAnswerError(f"“{text}” is no time such as 2027-01-31 or 2027-01-31 18:00.")
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)
