"""The journal as its readers see it: from any offset, through losses and repetitions."""

import asyncio
from contextlib import aclosing

import pytest
import redis

from inference import journal
from inference.attempt import JournalWriter, _Answer
from inference.errors import MalformedEntry
from inference.journal import Piece, Transcript, follow, read
from inference.messages import (
    Begin,
    Chunk,
    Detail,
    Lease,
    Outcome,
    Terminal,
    decode_entry,
    pack_ids,
)
from inference.store import JobStore
from tests.inference.test_store import P, a_job, claim_one


async def started(store: JobStore, text: str = "", *, job_id: str = "a") -> Lease:
    """A claimed job with this text journaled, one token a character."""
    await store.create(a_job(job_id))
    lease = await claim_one(store)
    if text:
        await write(store, lease, 0, text)
    return lease


async def write(store: JobStore, lease: Lease, at: int, text: str) -> None:
    ids = [ord(character) for character in text]
    await store.append(lease, expected=at, ids=ids, at=at, text=text)


async def reading(store: JobStore, offset: int = 0) -> tuple[str, Transcript]:
    """What a reader at this offset is shown, and the transcript it ends with."""
    shown = ""
    async with asyncio.timeout(5), aclosing(follow(store, "a", offset)) as found:
        async for piece in found:
            if isinstance(piece, Transcript):
                return shown, piece
            assert piece.offset == offset + len(shown), "a gap or a repetition"
            shown += piece.text
    raise AssertionError("no end")


@pytest.mark.parametrize("offset", [0, 3, 7])
async def test_a_finished_answer_reads_the_same_from_any_offset(
    store: JobStore, offset: int
) -> None:
    lease = await started(store, "Héllo 🍕")
    assert await store.finish("a", Outcome.DONE, lease=lease, expected=7)
    shown, transcript = await reading(store, offset)
    assert shown == "Héllo 🍕"[offset:]
    assert transcript.text == transcript.final_text == "Héllo 🍕"
    assert transcript.ids == [ord(character) for character in "Héllo 🍕"]


async def test_readers_that_join_midway_miss_nothing(store: JobStore) -> None:
    lease = await started(store)
    readers = []
    for at, character in enumerate("The soup is warm."):
        await write(store, lease, at, character)
        readers.append((at // 2, asyncio.create_task(reading(store, at // 2))))
        await asyncio.sleep(0)
    await store.finish("a", Outcome.DONE, lease=lease, expected=17)
    for offset, reader in readers:
        shown, _ = await reader
        assert shown == "The soup is warm."[offset:]


async def test_a_reader_ahead_of_the_journal_waits_for_it(store: JobStore) -> None:
    lease = await started(store, "The soup")
    ahead = asyncio.create_task(reading(store, 12))
    await write(store, lease, 8, " is")
    await asyncio.sleep(0.05)
    assert not ahead.done()
    await write(store, lease, 11, " warm.")
    await store.finish("a", Outcome.DONE, lease=lease, expected=17)
    shown, _ = await ahead
    assert shown == "warm."


async def test_cancelled_readers_leave_the_others_alone(store: JobStore) -> None:
    lease = await started(store)
    readers = [asyncio.create_task(reading(store)) for _ in range(30)]
    text = "Somebody waves from the window."
    for at, character in enumerate(text):
        await write(store, lease, at, character)
        readers[at % 20].cancel()
    await store.finish("a", Outcome.DONE, lease=lease, expected=len(text))
    results = await asyncio.gather(*readers, return_exceptions=True)
    assert [shown for shown, _ in results[20:]] == [text] * 10  # type: ignore[misc]


@pytest.mark.parametrize(
    ("keep", "replacement", "expected"),
    [
        (9, "A person can tell you.", "The soup A person can tell you."),
        (0, "Sorry.", "Sorry."),
        (17, "", "The soup is free."),
        (None, "", "The soup is free."),
    ],
)
async def test_a_guarded_end_takes_text_back(
    store: JobStore, keep: int | None, replacement: str, expected: str
) -> None:
    lease = await started(store, "The soup is free.")
    detail = Detail(keep=keep, replacement=replacement)
    await store.finish("a", Outcome.GUARDED, "promise", lease=lease, expected=17, detail=detail)
    shown, transcript = await reading(store)
    assert shown == "The soup is free."  # pieces are never taken back, the end is
    assert transcript.final_text == expected
    assert transcript.end is not None
    assert transcript.end.apply(shown) == expected


async def test_only_a_guarded_end_takes_text_back() -> None:
    assert Terminal(outcome=Outcome.DONE, keep=2, replacement="x").apply("text") == "text"


async def test_a_later_attempt_cuts_ids_and_leaves_text(store: JobStore) -> None:
    lease = await started(store, "soup")
    await store.append(lease, expected=4, ids=[240, 159], at=4, text="")  # half an emoji
    await store.release(lease, failed=True, reason="test")
    lease = await claim_one(store, "h2")
    assert lease.length == 6
    await store.begin(lease, 4)
    transcript = await read(store, "a")
    assert (len(transcript.ids), transcript.text) == (4, "soup")
    await write(store, lease, 4, "!")
    assert (await read(store, "a")).ids[4:] == [ord("!")]


async def test_a_tail_that_is_written_again_is_read_once() -> None:
    # A reader that stayed connected has seen the chunks that Redis lost; then come these.
    transcript = Transcript()
    for entry in (
        Begin(attempt=1, keep=0),
        Chunk(attempt=1, expected=0, ids=(1, 2), at=0, text="ab"),
        Chunk(attempt=1, expected=2, ids=(3,), at=2, text="c"),
        Chunk(attempt=1, expected=2, ids=(3, 4), at=2, text="cd"),
        Begin(attempt=1, keep=0),
        Chunk(attempt=1, expected=0, ids=(1, 2, 3, 4), at=4, text="e"),
    ):
        transcript.apply(entry)
    assert (transcript.ids, transcript.text) == ([1, 2, 3, 4], "abcde")


async def test_a_writer_sends_again_what_redis_lost(
    store: JobStore, clean_redis: redis.Redis
) -> None:
    lease = await started(store)
    answer = _Answer(ids=[])
    writer = JournalWriter(store, lease, answer)
    reader = asyncio.create_task(reading(store))
    answer.ids += [1, 2]
    answer.text += "ab"
    await writer.flush()
    before = clean_redis.dump(P.job("a")), clean_redis.dump(P.journal("a"))
    answer.ids += [3]
    answer.text += "c"
    await writer.flush()
    await asyncio.sleep(0.05)  # the reader has seen it
    clean_redis.restore(P.job("a"), 0, before[0], replace=True)
    clean_redis.restore(P.journal("a"), 0, before[1], replace=True)
    answer.ids += [4]
    answer.text += "d"
    assert await writer.finish(Outcome.DONE, "", Detail())
    shown, transcript = await reader
    assert shown == "abcd"
    assert transcript.ids == [1, 2, 3, 4]
    again = await read(store, "a")
    assert (again.ids, again.text) == ([1, 2, 3, 4], "abcd")


async def test_a_later_attempts_writer_sends_again_what_redis_lost(
    store: JobStore, clean_redis: redis.Redis
) -> None:
    lease = await started(store, "soup")
    before = clean_redis.dump(P.job("a")), clean_redis.dump(P.journal("a"))
    await store.append(lease, expected=4, ids=[240, 159], at=4, text="")  # half an emoji
    await store.release(lease, failed=True, reason="test")
    lease = await claim_one(store, "h2")
    answer = _Answer(ids=[ord(c) for c in "soup"], text="soup")
    writer = JournalWriter(store, lease, answer)
    await writer.begin()
    # Redis comes back from before the first attempt's last words; its claim lives again.
    clean_redis.restore(P.job("a"), 0, before[0], replace=True)
    clean_redis.restore(P.journal("a"), 0, before[1], replace=True)
    answer.ids += [ord("!")]
    answer.text += "!"
    assert await writer.finish(Outcome.DONE, "", Detail())
    transcript = await read(store, "a")
    assert (transcript.ids, transcript.text) == ([ord(c) for c in "soup!"], "soup!")


async def test_a_job_that_redis_forgot_is_put_up_again(
    store: JobStore, clean_redis: redis.Redis
) -> None:
    lease = await started(store)
    answer = _Answer(ids=[1, 2], text="ab")
    writer = JournalWriter(store, lease, answer)
    await writer.flush()
    reader = asyncio.create_task(reading(store))
    await asyncio.sleep(0.05)
    clean_redis.flushall()
    assert await store.renew(lease)
    assert clean_redis.zcard(P.leases) == 1  # it is a job again: it can be stopped, it can expire
    answer.ids += [3]
    answer.text += "c"
    assert await writer.finish(Outcome.DONE, "", Detail())
    shown, transcript = await reader
    assert (shown, transcript.ids, transcript.text) == ("abc", [1, 2, 3], "abc")
    assert (await read(store, "a")).text == "abc"


async def test_an_answer_whose_time_is_over_is_not_put_up_again(
    store: JobStore, clean_redis: redis.Redis
) -> None:
    await store.create(a_job(total_s=0.05))
    lease = await claim_one(store)
    await asyncio.sleep(0.1)
    clean_redis.flushall()
    assert not await store.renew(lease)
    assert not await store.exists("a")


MALFORMED = [
    {"type": "chunk", "attempt": "1", "expected": "0", "ids": b"\x01", "at": "0", "text": "x"},
    {"type": "chunk", "attempt": "1", "expected": "x", "ids": b"", "at": "0", "text": "x"},
    {"type": "chunk", "attempt": "1", "expected": "0", "ids": b"", "at": "0", "text": b"\xff"},
    {"type": "begin", "attempt": "1"},
    {"type": "poem"},
    {"no": "type"},
    {"type": "end", "outcome": "odd", "detail": ""},
    {"type": "end", "outcome": "done", "detail": "{"},
]


@pytest.mark.parametrize("fields", MALFORMED)
def test_what_cannot_be_read_is_malformed(fields: dict[str, str | bytes]) -> None:
    encoded = {k.encode(): v.encode() if isinstance(v, str) else v for k, v in fields.items()}
    with pytest.raises(MalformedEntry):
        decode_entry(encoded)


@pytest.mark.parametrize(("expected", "at"), [(3, 2), (2, 3)])
def test_a_hole_is_malformed(expected: int, at: int) -> None:
    transcript = Transcript(ids=[1, 2], text="ab")
    with pytest.raises(MalformedEntry):
        transcript.apply(Chunk(attempt=1, expected=expected, ids=(3,), at=at, text="c"))


async def test_an_answer_that_cannot_be_read_on_has_failed_for_everyone(
    store: JobStore, clean_redis: redis.Redis
) -> None:
    lease = await started(store, "soup")
    reader = asyncio.create_task(reading(store))
    clean_redis.xadd(P.journal("a"), {"type": "poem"})
    clean_redis.xadd(
        P.journal("a"),
        {"type": "chunk", "attempt": 1, "expected": 4, "ids": pack_ids([1]), "at": 4, "text": "x"},
    )
    for shown, transcript in (await reader, await reading(store)):
        assert shown == "soup"
        assert transcript.end is not None
        assert transcript.end.outcome is Outcome.FAILED
        assert transcript.end.reason.startswith("malformed")
    assert (await read(store, "a")).end is not None
    assert not await store.renew(lease)  # its host stops, too


async def test_a_long_journal_is_read_page_by_page(
    store: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_PAGE", 3)
    lease = await started(store)
    for at in range(10):
        await write(store, lease, at, "abcdefghij"[at])
    assert (await read(store, "a")).text == "abcdefghij"
    await store.finish("a", Outcome.DONE, lease=lease, expected=10)
    piece, _ = [found async for found in follow(store, "a", 2)]
    assert piece == Piece(2, "cdefghij")
