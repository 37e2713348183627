"""The groups that a deployment starts with. Members are added in the admin."""

from typing import Any

from django.contrib.auth.models import Group, Permission
from django.db.models import Q

#: May edit the prompt's parts, the examples and the cached answers, which they also publish, and
#: read conversations, orders and engine runs.
STAFF_EDITORS = "Staff editors"

_EDITED = (
    "systemtext",
    "policy",
    "promptexample",
    "category",
    "intent",
    "examplequestion",
    "cachedanswer",
)
_READ = {
    "assistant": ("conversation", "message", "promptversion", "cachedanswerversion", *_EDITED),
    "orders": ("order", "orderitem", "orderevent", "customer", "restaurant", "rider"),
    "inference": ("generation",),
}


def install(**kwargs: Any) -> None:
    """Create the group, or add what it lacks; rights that somebody added to it stay."""
    wanted = Q()
    for app, models in _READ.items():
        for model in models:
            codenames = [f"view_{model}"]
            if model in _EDITED:
                codenames += [f"{act}_{model}" for act in ("add", "change", "delete")]
            wanted |= Q(content_type__app_label=app, codename__in=codenames)
    wanted |= Q(content_type__app_label="assistant", codename="publish_answer")
    group, _ = Group.objects.get_or_create(name=STAFF_EDITORS)
    group.permissions.add(*Permission.objects.filter(wanted))
