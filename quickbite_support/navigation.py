"""The admin's sidebar: a room for each subject, and in each what this person may see."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

#: Title, icon, model, and the name of one of its pages where that is not the list.
_ROOMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "Conversations": (
        ("Conversations", "forum", "assistant.conversation"),
        ("Messages", "chat_bubble", "assistant.message"),
    ),
    "Orders": (
        ("Orders", "receipt_long", "orders.order"),
        ("Customers", "person", "orders.customer"),
        ("Restaurants", "restaurant", "orders.restaurant"),
        ("Riders", "pedal_bike", "orders.rider"),
        ("Order events", "timeline", "orders.orderevent"),
    ),
    "Assistant’s prompt": (
        ("System text", "article", "assistant.systemtext"),
        ("Policies", "gavel", "assistant.policy"),
        ("Example exchanges", "question_answer", "assistant.promptexample"),
        ("Prompt versions", "history", "assistant.promptversion"),
    ),
    "Answers": (
        ("Matrix", "grid_on", "assistant.cachedanswer", "matrix"),
        ("Cached answers", "quickreply", "assistant.cachedanswer"),
        ("Try a question", "science", "assistant.cachedanswer", "test"),
    ),
    "Understanding": (
        ("Categories", "category", "assistant.category"),
        ("Sub-intents", "account_tree", "assistant.intent"),
        ("Example questions", "quiz", "assistant.examplequestion"),
    ),
    "Operations": (
        ("Generations", "memory", "inference.generation"),
        ("Periodic runs", "schedule", "assistant.periodicrun"),
        ("Users", "badge", "auth.user"),
        ("Groups", "group", "auth.group"),
    ),
}


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    rooms: list[dict[str, Any]] = [
        {
            "items": [
                {"title": "Dashboard", "icon": "space_dashboard", "link": reverse("admin:index")}
            ]
        }
    ]
    for title, entries in _ROOMS.items():
        items = [_item(request, *entry) for entry in entries if _may_see(request, entry[2])]
        if items:
            rooms.append({"title": title, "separator": True, "items": items})
    return rooms


def _item(
    request: HttpRequest, title: str, icon: str, model: str, page: str = "changelist"
) -> dict[str, Any]:
    name = model.replace(".", "_")
    url = reverse(f"admin:{name}_{page}")
    item = {"title": title, "icon": icon, "link": url}
    others = {
        reverse(f"admin:{name}_{entry[3]}")
        for entries in _ROOMS.values()
        for entry in entries
        if entry[2] == model and len(entry) > 3
    }
    if page != "changelist":
        return {**item, "active": request.path == url}
    # A page with an entry of its own is not the list's as well.
    return {**item, "active": False} if request.path in others else item


def _may_see(request: HttpRequest, model: str) -> bool:
    app, name = model.split(".")
    return any(request.user.has_perm(f"{app}.{act}_{name}") for act in ("view", "change"))
