"""Writing cached answers: drafts, publishing, versions, the right to publish; files in and out."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import IntegrityError, transaction
from django.utils import timezone

from assistant import answer_news, cached_answer_files, cached_answers, word_diff
from assistant.cached_answer_selectors import cache_version
from assistant.cached_answers import Place
from assistant.errors import (
    AnswerChanged,
    CachedAnswerError,
    InvalidKey,
    InvalidTemplate,
    KeyTaken,
    MayNotPublish,
)
from assistant.models import CachedAnswer, CachedAnswerVersion, Category, Intent
from tests.orders.builders import a_rider


@pytest.fixture(autouse=True)
def empty(db: Any) -> None:
    CachedAnswer.objects.update(state="draft", current=None)
    CachedAnswer.objects.all().delete()


@pytest.fixture
def rain() -> Category:
    row, _ = Category.objects.update_or_create(
        slug="rain", defaults={"title": "Rain", "may_cache": True, "active": True}
    )
    return row


@pytest.fixture
def writer() -> User:
    return User.objects.create_user("writer", is_staff=True)


@pytest.fixture
def publisher() -> User:
    user = User.objects.create_user("publisher", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="publish_answer"))
    return user


def draft(category: Category, text: str = "It rains.", **place: Any) -> CachedAnswer:
    return cached_answers.create(Place(category=category, **place), text, author=None)


def texts(answer: CachedAnswer) -> list[str]:
    return list(answer.versions.order_by("number").values_list("template", flat=True))


# ---- states and versions -------------------------------------------------------------------------


def test_every_version_is_kept_with_its_author(
    rain: Category, writer: User, publisher: User
) -> None:
    answer = cached_answers.create(Place(category=rain), "One.", author=writer)
    cached_answers.publish(answer, author=publisher)
    cached_answers.save(answer, "Two.", author=writer)
    assert answer.current is not None and answer.current.template == "One."
    cached_answers.publish(answer, author=publisher)
    assert answer.current.template == "Two."
    cached_answers.roll_back(answer, 1, author=publisher)
    assert answer.current.template == "One."
    rows = answer.versions.order_by("number").values_list("number", "author__username", "note")
    assert list(rows) == [(1, "writer", ""), (2, "writer", ""), (3, "publisher", "Version 1 again")]
    with pytest.raises(CachedAnswerError, match="no version 9"):
        cached_answers.roll_back(answer, 9, author=publisher)


def test_the_same_text_is_no_new_version(rain: Category) -> None:
    answer = draft(rain)
    cached_answers.save(answer, " It rains.\r\n", author=None)
    assert texts(answer) == ["It rains."]


def test_a_change_behind_ones_back_is_told(rain: Category, writer: User) -> None:
    answer = draft(rain)
    cached_answers.save(answer, "It pours.", author=None, seen=1)
    with pytest.raises(AnswerChanged):
        cached_answers.save(answer, "It drizzles.", author=writer, seen=1)
    assert texts(answer) == ["It rains.", "It pours."]


def test_only_who_may_publish_changes_what_is_served(rain: Category, writer: User) -> None:
    answer = draft(rain)
    with pytest.raises(MayNotPublish):
        cached_answers.publish(answer, author=writer)
    cached_answers.publish(answer, author=None)
    cached_answers.save(answer, "A draft.", author=writer)
    for act in (
        lambda: cached_answers.publish(answer, author=writer),
        lambda: cached_answers.retire(answer, author=writer),
        lambda: cached_answers.roll_back(answer, 1, author=writer),
        lambda: cached_answers.save(
            answer, "A draft.", author=writer, valid_until=timezone.now() + timedelta(days=1)
        ),
        lambda: cached_answers.save(
            answer, "A draft.", author=writer, place=Place(category=rain, order_status="ready")
        ),
    ):
        with pytest.raises(MayNotPublish):
            act()
    answer.refresh_from_db()
    assert answer.state == "live" and answer.current is not None
    assert (answer.current.template, answer.order_status) == ("It rains.", "*")
    assert answer.valid_until is None


def test_an_ended_validity_is_not_published(rain: Category) -> None:
    answer = cached_answers.create(
        Place(category=rain), "It rains.", author=None, valid_until=timezone.now()
    )
    with pytest.raises(CachedAnswerError, match="validity has ended"):
        cached_answers.publish(answer, author=None)


def test_only_what_was_never_served_is_deleted(rain: Category) -> None:
    answer = draft(rain)
    cached_answers.publish(answer, author=None)
    with pytest.raises(CachedAnswerError, match="retire it"):
        cached_answers.delete(answer, author=None)
    cached_answers.delete(draft(rain), author=None)
    assert CachedAnswer.objects.get() == answer


# ---- keys ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_intent", [False, True])
def test_the_database_refuses_two_live_answers_for_one_key(
    rain: Category, with_intent: bool
) -> None:
    intent = Intent.objects.create(category=rain, slug="hail", title="Hail")
    more: dict[str, Any] = {"intent": intent} if with_intent else {}
    first, second = draft(rain, **more), draft(rain, **more)
    cached_answers.publish(first, author=None)
    with pytest.raises(KeyTaken, match=f"answer {first.pk} is live already"):
        cached_answers.publish(second, author=None)
    version = second.versions.get()
    with pytest.raises(IntegrityError), transaction.atomic():
        CachedAnswer.objects.filter(pk=second.pk).update(state="live", current=version)
    # In another state, language or sub-intent it is another key.
    for place in ({"order_status": "ready"}, {"language": "de"}):
        cached_answers.publish(draft(rain, **more, **place), author=None)
    cached_answers.retire(first, author=None)
    cached_answers.publish(second, author=None)


@pytest.mark.parametrize(
    "change",
    [{"state": "published"}, {"state": "live", "current": None}, {"order_status": "cooking"}],
)
def test_the_database_knows_the_states(rain: Category, change: dict[str, Any]) -> None:
    answer = draft(rain)
    with pytest.raises(IntegrityError), transaction.atomic():
        CachedAnswer.objects.filter(pk=answer.pk).update(**change)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({"order_status": "placed", "delivery_state": "nearby"}, "never has the delivery state"),
        ({"order_status": "cooking"}, "no order status “cooking”"),
        ({"delivery_state": "lost"}, "no delivery state “lost”"),
        ({"order_status": "none", "delivery_state": "nearby"}, "Without an order"),
        ({"language": "e n"}, "no language code"),
    ],
)
def test_places_that_no_order_is_in_are_refused(
    rain: Category, place: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidKey, match=said):
        draft(rain, **place)


def test_a_foreign_sub_intent_is_refused(rain: Category) -> None:
    other = Category.objects.create(slug="snow", title="Snow")
    intent = Intent.objects.create(category=other, slug="ice", title="Ice")
    with pytest.raises(InvalidKey, match="does not belong"):
        draft(rain, intent=intent)


def test_texts_are_checked_against_the_people_there_are(rain: Category) -> None:
    answer = draft(rain, "Asha comes.")
    a_rider("asha", "Asha")
    with pytest.raises(InvalidTemplate, match="“Asha” is the name of a rider"):
        draft(rain, "Asha comes.")
    # Also what was written before she came.
    with pytest.raises(InvalidTemplate):
        cached_answers.publish(answer, author=None)
    with pytest.raises(InvalidTemplate, match="Without an order"):
        draft(rain, "{{ total }}", order_status="none")


# ---- announcing ----------------------------------------------------------------------------------


def test_what_is_served_is_announced_once_committed(
    rain: Category, monkeypatch: Any, django_capture_on_commit_callbacks: Any
) -> None:
    rung: list[int] = []
    monkeypatch.setattr(answer_news, "announce", lambda: rung.append(1))
    before = cache_version()
    answer = draft(rain)
    cached_answers.save(answer, "It pours.", author=None)
    assert cache_version() == before
    with django_capture_on_commit_callbacks(execute=True):
        cached_answers.publish(answer, author=None)
        assert not rung
    assert rung and cache_version() != before
    # A change taken back leaves another stamp than one that was kept.
    seen = cache_version()
    with transaction.atomic():
        cached_answers.things_changed()
        lost = cache_version()
        transaction.set_rollback(True)
    cached_answers.things_changed()
    assert lost != cache_version() != seen


# ---- files ---------------------------------------------------------------------------------------

HEAD = "category,intent,order_status,delivery_state,language,state,valid_until,text\n"


def test_what_is_exported_comes_back_unchanged(rain: Category) -> None:
    Intent.objects.create(category=rain, slug="hail", title="Hail")
    one = draft(rain, '=HYPER("x"), or\nnot; {{ stage }}', order_status="ready")
    cached_answers.publish(one, author=None)
    draft(rain, "- a newer draft of the same key", order_status="ready")
    draft(rain, "- a list\n- of two", intent=Intent.objects.get(slug="hail"))
    retired = draft(rain, "gone", language="de")
    cached_answers.publish(retired, author=None)
    cached_answers.retire(retired, author=None)
    text = cached_answer_files.export()
    assert "'=HYPER" in text and "'- a list" in text
    outcome = cached_answer_files.import_csv(text.encode(), author=None)
    assert outcome.applied and not outcome.errors
    assert (outcome.unchanged, outcome.changing) == (3, [])
    # From an empty table the same file makes the same file.
    CachedAnswer.objects.update(state="draft", current=None)
    CachedAnswer.objects.exclude(state="nothing").delete()
    again = "".join(line for line in text.splitlines(keepends=True) if ",retired," not in line)
    assert cached_answer_files.import_csv(again.encode("utf-8-sig"), author=None).applied
    assert cached_answer_files.export() == again


def test_a_dry_run_shows_the_difference_and_changes_nothing(rain: Category) -> None:
    answer = draft(rain, "It rains at {{ eta_time }}.")
    cached_answers.publish(answer, author=None)
    data = (
        HEAD + "rain,,,,,,,It pours at {{ eta_time }}.\n" + "rain,,ready,,,live,2099-01-31,New.\n"
    ).encode()
    tried = cached_answer_files.try_out(data, author=None)
    assert not tried.errors and not tried.applied
    assert [(c.line, c.kind) for c in tried.changes] == [(2, "changed"), (3, "new")]
    kinds = [(p.kind, p.text) for p in tried.changes[0].pieces]
    assert kinds == [
        ("same", "It "), ("old", "rains"), ("new", "pours"), ("same", " at {{ eta_time }}."),
    ]  # fmt: skip
    assert CachedAnswerVersion.objects.count() == 1
    assert cached_answer_files.import_csv(data, author=None).applied
    answer.refresh_from_db()
    assert answer.current is not None and answer.current.template.startswith("It pours")
    new = CachedAnswer.objects.get(order_status="ready")
    assert new.state == "live" and new.valid_until is not None and new.valid_until.year == 2099


def test_bad_rows_are_named_with_their_lines_and_nothing_is_imported(rain: Category) -> None:
    data = HEAD + (
        "rain,,ready,,,live,,Good.\n"
        "snow,,,,,,,Bad.\n"
        'rain,,,,,,,"Two\nlines {{ nothing }}"\n'
        "rain,,placed,nearby,,,,Bad.\n"
        "rain,hail,,,,,,Bad.\n"
        "rain,,,,fr,public,,Bad.\n"
        "rain,,,,it,,soon,Bad.\n"
        "rain,,ready,,,live,,Twice.\n"
        "rain,,delivered\n"
        "\n"
        "rain,,accepted,,,,,Call +1 555 0160 now.\n"
        f"rain,,preparing,,,,,{'x' * 1001}\n"
        "rain,,placed,,,retired,,Nothing to retire.\n"
    )
    outcome = cached_answer_files.import_csv(data.encode(), author=None)
    assert not outcome.applied and not CachedAnswer.objects.exists()
    said = {error.line: error.text for error in outcome.errors}
    assert {line: text for line, text in said.items() if line == 2} == {}
    for line, words in {
        3: "no category “snow”",
        4: "no placeholder “nothing”",
        6: "never has",
        7: "no sub-intent “hail”",
        8: "no state “public”",
        9: "“soon” is no time",
        10: "The same key as line 2",
        11: "3 cells where there are 8",
        13: "phone number",
        14: "1,001 characters",
        15: "no such answer to retire",
    }.items():
        assert words in said.pop(line)
    assert not said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"\xff\xfe", "not UTF-8 (line 1)"),
        (b"category\nrain\n", "must name the column text"),
        (b"category,text,colour\n", "no column “colour”"),
        (b"category,text,text\n", "twice"),
        (b"category,text\nrain,a\0b\n", "NUL"),
        (b'category,text\nrain,"open\n', "no CSV"),
        (b"category,text\n" + b"x" * 1_500_001, "more than 1.5 MB"),
        (b"category,text\n" + b"rain,x\n" * 2001, "more than 2,000 rows"),
    ],
)
def test_files_that_are_none_are_refused_as_a_whole(rain: Category, data: bytes, said: str) -> None:
    (error, *more) = cached_answer_files.import_csv(data, author=None).errors
    assert said in error.text and error.line == 0 and not more


def test_a_spreadsheets_semicolons_are_read(rain: Category) -> None:
    data = b"text;category\nIt rains, always.;rain\n"
    assert cached_answer_files.import_csv(data, author=None).applied
    assert CachedAnswerVersion.objects.get().template == "It rains, always."


def test_importing_live_answers_needs_the_right_to_publish(rain: Category, writer: User) -> None:
    data = (HEAD + "rain,,ready,,,,,Draft.\nrain,,,,,live,,Live.\n").encode()
    outcome = cached_answer_files.import_csv(data, author=writer)
    assert [(e.line, "right to publish" in e.text) for e in outcome.errors] == [(3, True)]
    assert not CachedAnswer.objects.exists()


def test_a_difference_keeps_placeholders_whole() -> None:
    pieces = word_diff.diff("At {{ eta_time }}.", "At {{ placed_time }}!")
    assert [text for kind, text in pieces if kind != "old"] == ["At ", "{{ placed_time }}!"]
    assert word_diff.diff("same", "same") == [("same", "same")]
    # Blanks between two changes belong to them.
    assert word_diff.diff("is bringing it to you", "is on the way to you") == [
        ("same", "is "), ("old", "bringing it"), ("new", "on the way"), ("same", " to you"),
    ]  # fmt: skip
