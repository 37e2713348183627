"""Who may do what, and the first page that each sees."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from assistant.models import Message
from quickbite_support import dashboard, roles
from tests.admin.conftest import Talk

INDEX = reverse("admin:index")


def test_the_demo_editor_is_a_staff_editor(demo: None) -> None:
    editor = User.objects.get(username="editor")
    assert [group.name for group in editor.groups.all()] == [roles.STAFF_EDITORS]
    assert editor.has_perm("assistant.change_policy")
    assert not editor.has_perm("orders.change_order")


def test_migrating_again_keeps_what_was_added_to_the_group(demo: None) -> None:
    group = Group.objects.get(name=roles.STAFF_EDITORS)
    added = Permission.objects.get(codename="view_periodicrun")
    group.permissions.add(added)
    group.permissions.remove(Permission.objects.get(codename="change_policy"))
    roles.install()
    codenames = set(group.permissions.values_list("codename", flat=True))
    assert {"view_periodicrun", "change_policy"} <= codenames


def test_loading_the_demo_without_the_group_gives_no_rights(db: Any) -> None:
    Group.objects.all().delete()
    call_command("load_demo", verbosity=0)
    assert not User.objects.get(username="editor").has_perm("assistant.change_policy")


def test_an_editor_reads_conversations_and_orders_but_changes_none(
    editor: Client, talk: Talk
) -> None:
    chat = talk().conversation
    for name, pk in (("assistant_conversation", chat.pk), ("orders_order", chat.order_id)):
        page = reverse(f"admin:{name}_change", args=[pk])
        assert editor.get(page).status_code == 200
        assert editor.post(page, {"holder": "closed"}).status_code == 403
    assert editor.get(reverse("admin:orders_customer_add")).status_code == 403
    assert editor.get(reverse("admin:auth_user_changelist")).status_code == 403


def test_a_customer_has_no_admin(demo: None, client: Client) -> None:
    client.force_login(User.objects.get(username="maya"))
    assert client.get(INDEX).status_code == 302


def test_the_sidebar_shows_what_one_may_see(editor: Client, admin: Client) -> None:
    users = reverse("admin:auth_user_changelist")
    policies = reverse("admin:assistant_policy_changelist")
    theirs = editor.get(INDEX).content.decode()
    assert policies in theirs and users not in theirs
    assert users in admin.get(INDEX).content.decode()


def test_staff_without_rights_are_told_so(demo: None, client: Client) -> None:
    client.force_login(User.objects.create_user("new", is_staff=True))
    page = client.get(INDEX).content.decode()
    assert "right to read messages" in page
    assert "First token" not in page


# ---- the dashboard -----------------------------------------------------------------------------


def test_the_dashboard_counts_the_last_day(admin: Client, talk: Talk) -> None:
    for _ in range(3):
        talk()
    talk(status=Message.Status.FAILED)
    talk(customer="liam", status=Message.Status.STREAMING)
    old = talk(customer="kenji").question
    Message.objects.filter(conversation=old.conversation).update(
        created_at=timezone.now() - 2 * dashboard.WINDOW
    )
    found = dashboard.answers_since(timezone.now() - dashboard.WINDOW)
    assert (found.questions, found.answers, found.unfinished) == (5, 5, 1)
    assert [(s.label, s.count, s.percent) for s in found.by_status] == [
        ("Complete", 3, 60),
        ("Streaming", 1, 20),
        ("Failed", 1, 20),
    ]
    page = admin.get(INDEX).content.decode()
    assert "200 <small>ms" in page and "the oldest for" in page


def test_an_empty_dashboard_says_so(admin: Client, clean_redis: Any) -> None:
    page = admin.get(INDEX).content.decode()
    assert "Nobody has asked anything." in page
    assert "The engine has written no answer." in page
    assert "No engine host is alive." in page


def test_the_dashboard_without_redis_names_what_is_missing(admin: Client, settings: Any) -> None:
    settings.INFERENCE_REDIS_URL = "redis://127.0.0.1:1/0"
    answer = admin.get(INDEX)
    assert answer.status_code == 200
    page = answer.content.decode()
    assert "Redis" in page and "127.0.0.1:1" not in page


@pytest.mark.parametrize(
    ("percent", "found"), [(50, 5.0), (99, 10.0), (100, 10.0), (10, 1.0), (1, 1.0)]
)
def test_a_percentile_is_a_value_that_occurred(percent: int, found: float) -> None:
    assert dashboard.percentile([float(n) for n in range(1, 11)], percent) == found


@pytest.mark.parametrize(
    ("engine", "label"), [("simulated", ["Simulated engine", "warning"]), ("vllm", None)]
)
def test_a_simulated_engine_is_named(
    settings: Any, rf: Any, engine: str, label: list[str] | None
) -> None:
    settings.ENGINE = engine
    assert dashboard.environment(rf.get("/")) == label
