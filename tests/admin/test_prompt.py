"""Editing the prompt in the admin: published as it is saved, refused when it is too long."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from assistant import prompt_defaults, prompts
from assistant.models import Policy, PromptExample, PromptVersion, SystemText
from tests.admin.conftest import Talk

LONG = "the rider has the order and the kitchen is busy " * 20


@pytest.fixture
def policy(demo: None) -> Policy:
    prompts.publish_prefix()
    found = Policy.objects.first()
    assert found is not None
    return found


def page_of(policy: Policy, act: str = "change") -> str:
    return reverse(f"admin:assistant_policy_{act}", args=[policy.pk])


def fields(policy: Policy, **changed: Any) -> dict[str, Any]:
    values = {"title": policy.title, "text": policy.text, "position": policy.position}
    return {**values, "active": "on", **changed}


def tight(settings: Any, room: int) -> None:
    """Leave so many tokens of the budget."""
    used = prompts.edited_prefix().tokens(prompts.tokenizer())
    settings.ASSISTANT_PREFIX_TOKEN_BUDGET = used + room


def test_an_editor_changes_a_policy_and_the_next_answer_has_it(
    editor: Client, policy: Policy
) -> None:
    before = prompts.current_version()
    answer = editor.post(page_of(policy), fields(policy, text="Cancel whenever."), follow=True)
    after = prompts.current_version()
    assert after.hash != before.hash
    assert "Cancel whenever." in after.policies
    assert f"every answer uses prompt {after.hash[:12]}" in answer.content.decode()


def test_saving_an_untouched_page_changes_no_prompt(editor: Client, demo: None) -> None:
    """A browser sends every line's end as two characters."""
    row = PromptExample.objects.create(question="When?", facts="- Soon.\n- Late.", answer="Soon.")
    before = prompts.publish_prefix()
    sent = {
        "question": row.question,
        "facts": row.facts.replace("\n", "\r\n"),
        "answer": row.answer,
        "position": 0,
        "active": "on",
    }
    answer = editor.post(reverse("admin:assistant_promptexample_change", args=[row.pk]), sent)
    assert answer.status_code == 302
    assert prompts.current_version().hash == before.hash


def test_a_policy_over_the_budget_is_refused_with_a_clear_message(
    editor: Client, policy: Policy, settings: Any
) -> None:
    tight(settings, 20)
    before = prompts.current_version()
    answer = editor.post(page_of(policy), fields(policy, text=LONG))
    page = answer.content.decode()
    assert answer.status_code == 200
    assert f"{settings.ASSISTANT_PREFIX_TOKEN_BUDGET:,} is the most" in page
    assert LONG.strip() in page  # what was typed is not lost
    assert Policy.objects.get(pk=policy.pk).text == policy.text
    assert prompts.current_version() == before


def test_a_new_part_over_the_budget_is_refused(
    editor: Client, policy: Policy, settings: Any
) -> None:
    tight(settings, 20)
    sent = {"question": "When?", "facts": LONG, "answer": "Soon.", "position": 0, "active": "on"}
    answer = editor.post(reverse("admin:assistant_promptexample_add"), sent)
    assert "is the most" in answer.content.decode()
    assert not PromptExample.objects.filter(facts__startswith="the rider").exists()
    # One that is switched off costs nothing.
    answer = editor.post(
        reverse("admin:assistant_promptexample_add"),
        {k: v for k, v in sent.items() if k != "active"},
    )
    assert answer.status_code == 302


def listed(**changed: dict[str, Any]) -> dict[str, Any]:
    """The list's form with all rows as they stand, but for `changed` by title."""
    rows = list(Policy.objects.order_by("position", "id"))
    sent: dict[str, Any] = {
        "form-TOTAL_FORMS": len(rows),
        "form-INITIAL_FORMS": len(rows),
        "_save": "Save",
    }
    for n, row in enumerate(rows):
        values = {"id": row.pk, "position": row.position, "active": row.active}
        for name, value in {**values, **changed.get(row.title, {})}.items():
            if value is not False:
                sent[f"form-{n}-{name}"] = value
    return sent


def test_the_list_reorders_and_switches(editor: Client, policy: Policy) -> None:
    address = reverse("admin:assistant_policy_changelist")
    editor.post(address, listed(Address={"position": 1}, Refunds={"active": False}))
    texts = prompts.current_version().policies
    assert texts[0] == Policy.objects.get(title="Address").text
    assert Policy.objects.get(title="Refunds").text not in texts


def test_only_the_outcome_of_a_list_counts(editor: Client, policy: Policy, settings: Any) -> None:
    """One goes on and another off: after the first of the two rows the whole would be too long."""
    Policy.objects.create(title="Long", text=LONG, position=1, active=False)
    Policy.objects.create(title="Other", text=LONG, position=2)
    tight(settings, 5)
    address = reverse("admin:assistant_policy_changelist")
    refused = editor.post(address, listed(Long={"active": "on"}))
    assert "is the most" in refused.content.decode()
    assert not Policy.objects.get(title="Long").active
    taken = editor.post(address, listed(Long={"active": "on"}, Other={"active": False}))
    assert taken.status_code == 302
    assert Policy.objects.get(title="Long").active


def test_switching_on_many_at_once_is_refused_as_a_whole(
    editor: Client, policy: Policy, settings: Any
) -> None:
    extra = Policy.objects.create(title="Long", text=LONG, position=99, active=False)
    prompts.publish_prefix()
    tight(settings, 20)
    address = reverse("admin:assistant_policy_changelist")
    answer = editor.post(
        address, {"action": "switch_on", "_selected_action": [extra.pk]}, follow=True
    )
    page = answer.content.decode()
    assert "Nothing was changed." in page and "is the most" in page
    assert "switched on" not in page
    assert not Policy.objects.get(pk=extra.pk).active
    answer = editor.post(
        address, {"action": "switch_off", "_selected_action": [policy.pk]}, follow=True
    )
    assert "1 switched off." in answer.content.decode()
    assert policy.text not in prompts.current_version().policies


@pytest.mark.parametrize("how", ["page", "list"])
def test_deleting_a_part_publishes_without_it(editor: Client, policy: Policy, how: str) -> None:
    if how == "page":
        editor.post(page_of(policy, "delete"), {"post": "yes"})
    else:
        editor.post(
            reverse("admin:assistant_policy_changelist"),
            {"action": "delete_selected", "_selected_action": [policy.pk], "post": "yes"},
        )
    assert not Policy.objects.filter(pk=policy.pk).exists()
    assert policy.text not in prompts.current_version().policies


def test_without_a_system_text_the_built_in_one_is_used(editor: Client, demo: None) -> None:
    row = SystemText.objects.get()
    editor.post(reverse("admin:assistant_systemtext_delete", args=[row.pk]), {"post": "yes"})
    assert not SystemText.objects.exists()
    assert prompts.current_version().system == prompt_defaults.SYSTEM
    address = reverse("admin:assistant_systemtext_changelist")
    assert editor.get(address).status_code == 200
    add = reverse("admin:assistant_systemtext_add")
    assert editor.post(add, {"text": "You are brief."}).status_code == 302
    assert prompts.current_version().system == "You are brief."
    assert editor.get(add).status_code == 403  # one is enough
    assert b"You are brief." in editor.get(address, follow=True).content


def test_a_deletion_that_would_be_too_long_is_refused(
    editor: Client, demo: None, settings: Any
) -> None:
    """The built-in system text may be longer than the one that it replaces."""
    row = SystemText.objects.get()
    SystemText.objects.update(text="Be brief.")
    before = prompts.publish_prefix()
    tight(settings, 3)
    address = reverse("admin:assistant_systemtext_delete", args=[row.pk])
    answer = editor.post(address, {"post": "yes"}, follow=True)
    page = answer.content.decode()
    assert "Nothing was changed." in page
    assert "was deleted successfully" not in page
    assert SystemText.objects.exists()
    assert prompts.current_version() == before


def test_without_a_model_nothing_is_saved_and_it_says_how_to_get_one(
    editor: Client, policy: Policy, settings: Any, tmp_path: Any
) -> None:
    settings.VAR_DIR = tmp_path
    for address in (page_of(policy), reverse("admin:assistant_policy_changelist")):
        assert "prepare_model" in editor.get(address).content.decode()
    answer = editor.post(page_of(policy), fields(policy, text="Changed."))
    page = answer.content.decode()
    assert "cannot be counted" in page and "prepare_model" in page
    assert Policy.objects.get(pk=policy.pk).text == policy.text


def test_the_budget_and_the_prompt_in_force_are_in_sight(editor: Client, policy: Policy) -> None:
    version = prompts.current_version()
    left = 1800 - version.tokens
    for address in (page_of(policy), reverse("admin:assistant_policy_changelist")):
        page = editor.get(address).content.decode()
        assert f"<strong>{left:,}</strong> of 1,800 tokens left" in page
        assert reverse("admin:assistant_promptversion_change", args=[version.pk]) in page
        assert "differ from it" not in page
    Policy.objects.filter(pk=policy.pk).update(text="Changed elsewhere.")
    assert "differ from it" in editor.get(page_of(policy)).content.decode()


def test_a_prompt_version_reads_as_a_whole(editor: Client, talk: Talk) -> None:
    old = prompts.publish_prefix()
    PromptExample.objects.create(question="When, please?", facts="- Soon.", answer="Very soon.")
    new = prompts.publish_prefix()
    page = editor.get(reverse("admin:assistant_promptversion_change", args=[new.pk]))
    shown = page.content.decode()
    for text in (new.hash, "When, please?", "- Soon.", "Very soon.", "● In force"):
        assert text in shown
    page = editor.get(reverse("admin:assistant_promptversion_change", args=[old.pk]))
    assert "● In force" not in page.content.decode()
    assert PromptVersion.objects.count() == 2
