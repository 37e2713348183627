"""Editors and the cached answers: write, preview, publish, compare, roll back, import, try."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from assistant import cached_answers
from assistant.answer_cache import AnswerCache
from assistant.cached_answers import Place
from assistant.models import CachedAnswer, CachedAnswerHits, Category, Intent
from orders.models import Order
from tests.assistant import answers


def url(page: str, *args: Any) -> str:
    return reverse(f"admin:assistant_cachedanswer_{page}", args=args)


def body(client: Client, page: str, *args: Any, **query: str) -> str:
    response = client.get(url(page, *args), query)
    assert response.status_code == 200
    return str(response.content.decode())


@pytest.fixture
def rain(demo: None) -> Category:
    CachedAnswer.objects.update(state="draft", current=None)
    CachedAnswer.objects.all().delete()
    return Category.objects.create(slug="rain", title="Rain", may_cache=True)


@pytest.fixture
def answer(rain: Category) -> CachedAnswer:
    row = cached_answers.create(
        Place(category=rain, order_status="picked_up"), "It rains on {{ the_rider }}.", author=None
    )
    cached_answers.publish(row, author=None)
    return row


@pytest.fixture
def writer(demo: None) -> Client:
    """May write drafts, and not publish."""
    user = User.objects.create_user("writer", is_staff=True)
    wanted = ("view_cachedanswer", "add_cachedanswer", "change_cachedanswer")
    user.user_permissions.set(Permission.objects.filter(codename__in=wanted))
    client = Client()
    client.force_login(user)
    return client


def fields(category: Category, **changed: Any) -> dict[str, Any]:
    values = {
        "category": category.pk,
        "intent": "",
        "order_status": "*",
        "delivery_state": "*",
        "language": "en",
        "valid_until_0": "",
        "valid_until_1": "",
        "template": "It pours.",
        "seen": "",
    }
    return {**values, **changed}


# ---- writing and publishing ----------------------------------------------------------------------


def test_an_editor_writes_and_publishes_an_answer(editor: Client, rain: Category) -> None:
    page = editor.post(url("add"), fields(rain, _publish="1"), follow=True).content.decode()
    assert "every new question gets it" in page and "● Live" in page
    row = CachedAnswer.objects.get()
    assert row.state == "live" and row.current is not None
    assert row.current.author == User.objects.get(username="editor")
    hit = AnswerCache().find("rain", "", None, "en")
    assert hit is not None and hit.text == "It pours."


def test_a_writer_saves_drafts_that_nobody_is_given(writer: Client, answer: CachedAnswer) -> None:
    page = body(writer, "change", answer.pk)
    assert "Save and publish" not in page and "right to publish" in page
    sent = fields(answer.category, order_status="picked_up", template="A draft.", seen=1)
    writer.post(url("change", answer.pk), {**sent, "_continue": "1"})
    answer.refresh_from_db()
    assert answer.current is not None and answer.current.number == 1
    assert cached_answers.newest_version(answer).template == "A draft."  # type: ignore[union-attr]
    # By hand it does not work either.
    page = writer.post(
        url("change", answer.pk), {**sent, "seen": 2, "_publish": "1"}, follow=True
    ).content.decode()
    assert "Nothing was changed." in page and "need the right to publish" in page
    for name, args in (("retire", [answer.pk]), ("roll_back", [answer.pk, 2])):
        writer.post(url(name, *args))
    answer.refresh_from_db()
    assert answer.state == "live" and answer.current.number == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"template": ""}, "The answer is empty."),
        ({"template": "At {{ eta_tiem }}."}, "did you mean “eta_time”?"),
        ({"template": "<b>Hi</b>"}, "HTML is not possible"),
        ({"template": "Call +1 555 0160."}, "looks like a phone number"),
        ({"template": "Asha is coming."}, "“Asha” is the name of a rider"),
        ({"template": "For Maya."}, "“Maya” is the name of a rider or customer"),
        ({"template": "x" * 1001}, "1,000 is the most"),
        ({"order_status": "placed", "delivery_state": "nearby"}, "never has the delivery state"),
        ({"order_status": "picked_up"}, "is live already"),
        ({"valid_until_0": "2020-01-01", "valid_until_1": "10:00"}, "validity has ended"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_lost(
    editor: Client, answer: CachedAnswer, changed: dict[str, Any], said: str
) -> None:
    sent = fields(answer.category, **changed, _publish="1")
    response = editor.post(url("add"), sent, follow=True)
    assert said in response.content.decode()
    assert CachedAnswer.objects.count() == 1
    if response.redirect_chain == []:
        assert sent["template"].replace("<", "&lt;").replace(">", "&gt;") in (
            response.content.decode()
        )


def test_two_editors_do_not_overwrite_each_other(editor: Client, answer: CachedAnswer) -> None:
    cached_answers.save(answer, "Someone else's.", author=None)
    sent = fields(answer.category, order_status="picked_up", template="Mine.", seen=1)
    page = editor.post(url("change", answer.pk), {**sent, "_publish": "1"}).content.decode()
    assert "Someone has saved this answer" in page and "Someone else&#x27;s." in page
    assert "Mine." in page and 'name="seen" value="2"' in page
    editor.post(url("change", answer.pk), {**sent, "seen": 2, "_publish": "1"})
    answer.refresh_from_db()
    assert answer.current is not None and answer.current.template == "Mine."


def test_retire_history_and_roll_back(editor: Client, answer: CachedAnswer) -> None:
    sent = fields(answer.category, order_status="picked_up", seen=1)
    sent["template"] = "It snows on {{ the_rider }}."
    editor.post(url("change", answer.pk), {**sent, "_publish": "1"})
    page = body(editor, "history", answer.pk)
    assert "<del>rains</del><ins>snows</ins> on {{ the_rider }}." in page
    assert "Was live from" in page and "QuickBite Support" in page
    assert "editor" in page
    editor.post(url("roll_back", answer.pk, 1))
    answer.refresh_from_db()
    assert answer.current is not None
    assert (answer.current.number, answer.current.note) == (3, "Version 1 again")
    editor.post(url("retire", answer.pk))
    answer.refresh_from_db()
    assert answer.state == "retired"
    done = [entry.get_change_message() for entry in LogEntry.objects.all()]
    assert "Retired." in done and "Rolled back to version 1; it is live." in done
    assert editor.get(url("retire", answer.pk)).status_code == 404
    assert editor.post(url("roll_back", answer.pk, 77), follow=True).status_code == 200


def test_only_drafts_are_deleted(admin: Client, answer: CachedAnswer) -> None:
    assert admin.post(url("delete", answer.pk), {"post": "yes"}).status_code == 403
    draft = cached_answers.create(Place(category=answer.category), "x", author=None)
    admin.post(url("delete", draft.pk), {"post": "yes"})
    admin.post(
        url("changelist"),
        {"action": "delete_selected", "_selected_action": [answer.pk], "post": "yes"},
    )
    assert CachedAnswer.objects.get() == answer


def test_many_are_published_from_the_list(editor: Client, rain: Category) -> None:
    rows = [cached_answers.create(Place(category=rain), f"{n}", author=None) for n in "ab"]
    page = editor.post(
        url("changelist"),
        {"action": "publish_chosen", "_selected_action": [row.pk for row in rows]},
        follow=True,
    ).content.decode()
    assert "1 published." in page and "is live already" in page
    assert CachedAnswer.objects.filter(state="live").count() == 1


# ---- preview, matrix, test box -------------------------------------------------------------------


def test_the_preview_fills_in_the_chosen_order(editor: Client, answer: CachedAnswer) -> None:
    order = Order.objects.filter(delivery_state="on_the_way").select_related("rider").first()
    assert order is not None and order.rider is not None
    sent = {"template": "{{ the_rider }} has it. <3", "order": order.number}
    found = editor.post(url("preview"), sent).json()
    assert found["text"] == f"{order.rider.first_name} has it. <3"
    assert found["values"]["rider_name"] == order.rider.first_name
    found = editor.post(url("preview"), {**sent, "template": "{{ cancelled_time }}"}).json()
    assert found["text"] == "" and "has not been cancelled" in found["misfit"]
    found = editor.post(url("preview"), {**sent, "template": "{{ x }}"}).json()
    assert found["problems"] == ["There is no placeholder “x”."]
    found = editor.post(url("preview"), {"template": "Hi {{ total }}", "order": ""}).json()
    assert "there is no order" in found["misfit"]
    assert editor.get(url("preview")).status_code == 404


def test_the_matrix_shows_what_is_live_missing_and_stale(
    editor: Client, answer: CachedAnswer
) -> None:
    CachedAnswerHits.objects.create(answer=answer, day=answer.created_at.date(), count=41)
    Intent.objects.create(category=answer.category, slug="hail", title="Hail")
    page = body(editor, "matrix")
    shared = re.findall(r'aria-label="(Rain, [^"]+)"', page)
    assert len(shared) == 20
    assert "Rain, Picked up, nearby: Live, shared with other states, given 41 times" in shared
    assert "Rain, Placed, rider assigned: missing; write one" in shared
    assert "Hail, Picked up, nearby: Live, shared with the whole category" in page
    cached_answers.save(answer, "A newer draft.", author=None)
    assert "version 2 is a draft that nobody has published" in body(editor, "matrix")
    Category.objects.filter(pk=answer.category_id).update(fixed_reply="Ask the sky.")
    assert "Always the fixed reply" in body(editor, "matrix")


def test_a_missing_cell_leads_to_a_form_for_it(editor: Client, rain: Category) -> None:
    page = body(editor, "matrix")
    link = re.search(r'href="(\?|[^"]+add/\?[^"]+order_status=ready[^"]+)"', page)
    assert link is not None
    form = editor.get(link[1].replace("&amp;", "&")).content.decode()
    assert '<option value="ready" selected' in form


class Understood:
    category, intent, confidence, sure, reason = "rain", "", 0.93, True, "clear"


def test_the_test_box_says_which_answer_and_why(
    editor: Client, answer: CachedAnswer, monkeypatch: Any
) -> None:
    from assistant import answer_previews

    order = Order.objects.filter(delivery_state="on_the_way").first()
    assert order is not None
    monkeypatch.setattr(answer_previews, "understander", lambda: lambda text, **kw: Understood())
    page = body(editor, "test", question="does it rain?", order=order.number)
    assert "This prepared answer is given." in page and "It rains on" in page
    assert "0.93" in page and "Sure enough" in page
    monkeypatch.setattr(Understood, "sure", False)
    page = body(editor, "test", question="does it rain?", order=order.number)
    assert "the model answers" in page and "If it were sure, it would say" in page
    page = body(editor, "test", question="does it rain?", order="")
    assert "No live answer for this category" in page
    monkeypatch.setattr(answer_previews, "understander", lambda: None)
    page = body(editor, "test", question="<script>alert(1)</script>")
    assert "classifier is not prepared" in page and "<script>alert(1)" not in page
    assert not CachedAnswerHits.objects.exists()


# ---- files ---------------------------------------------------------------------------------------


def upload(client: Client, text: str) -> str:
    file = SimpleUploadedFile("answers.csv", text.encode(), content_type="text/csv")
    response = client.post(url("import"), {"file": file})
    return str(response.content.decode())


def test_a_file_is_shown_before_it_is_imported(editor: Client, answer: CachedAnswer) -> None:
    page = upload(
        editor,
        "category,order_status,state,text\n"
        "rain,picked_up,live,It snows on {{ the_rider }}.\nrain,ready,live,New.\n",
    )
    assert "2 answers would change" in page
    assert "<del>rains</del><ins>snows</ins>" in page
    assert CachedAnswer.objects.count() == 1
    hidden = dict(re.findall(r'name="(payload|version)" value="([^"]+)"', page))
    editor.post(url("import"), {**hidden, "confirm": "1"})
    answer.refresh_from_db()
    assert CachedAnswer.objects.filter(state="live").count() == 2
    assert answer.current is not None and answer.current.template.startswith("It snows")
    # The same page again: what it would change is no longer what was seen.
    page = editor.post(url("import"), {**hidden, "confirm": "1"}).content.decode()
    assert "Nothing would change" in page


def test_bad_lines_are_listed(editor: Client, writer: Client, answer: CachedAnswer) -> None:
    page = upload(editor, "category,text\nrain,Good.\nsnow,Bad.\n")
    assert "1 line cannot be imported" in page and "no category “snow”" in page
    assert "confirm" not in page
    page = upload(writer, "category,state,text\nrain,live,Good.\n")
    assert "need the right to publish" in page
    assert "Please choose a CSV file." in editor.post(url("import")).content.decode()
    editor.post(url("import"), {"confirm": "1", "payload": "%%%"})
    assert CachedAnswer.objects.count() == 1


def test_the_export_opens_in_a_spreadsheet(editor: Client, answer: CachedAnswer) -> None:
    response = editor.get(url("export"))
    assert response["Content-Type"].startswith("text/csv")
    text = response.content.decode("utf-8-sig")
    assert "rain,,picked_up,*,en,live,,It rains on {{ the_rider }}." in text


def test_without_the_right_nothing_is_shown(demo: None, answer: CachedAnswer) -> None:
    user = User.objects.create_user("nobody", is_staff=True)
    client = Client()
    client.force_login(user)
    for page in ("matrix", "test", "export", "import", "changelist"):
        assert client.get(url(page)).status_code == 403
    for page in ("change", "history"):
        assert client.get(url(page, answer.pk)).status_code == 403
    assert client.post(url("preview"), {"template": "x"}).status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="view_cachedanswer"))
    user = User.objects.get(pk=user.pk)
    client.force_login(user)
    page = client.get(url("change", answer.pk)).content.decode()
    assert "It rains on" in page and "Save as draft" not in page
    assert client.get(url("matrix")).status_code == 200
    assert client.post(url("retire", answer.pk)).status_code == 403


def test_all_pages_open_with_the_shipped_answers(editor: Client, rain: Category) -> None:
    answers.install()
    page = body(editor, "matrix")
    assert page.count("qb-cell--live") > 60
    row = CachedAnswer.objects.filter(state="live").first()
    assert row is not None
    for name, args in (("change", [row.pk]), ("history", [row.pk]), ("changelist", [])):
        body(editor, name, *args)
