"""Settings of the assistant that would make every answer fail."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register("assistant")
def check_settings(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    problems: list[CheckMessage] = []
    for name in (
        "ASSISTANT_MAX_QUESTION_CHARS",
        "ASSISTANT_MAX_ANSWER_TOKENS",
        "ASSISTANT_PREFIX_TOKEN_BUDGET",
        "ASSISTANT_HISTORY_PAGE",
        "ASSISTANT_SWEEP_S",
        "ANSWER_CACHE_HITS_S",
        "DB_POOL_THREADS",
    ):
        if getattr(settings, name) <= 0:
            problems.append(
                Error(
                    f"{name} is {getattr(settings, name)}.",
                    hint="Set it above 0.",
                    id="assistant.E001",
                )
            )
    taken = settings.ASSISTANT_PREFIX_TOKEN_BUDGET + settings.ASSISTANT_MAX_ANSWER_TOKENS + 1000
    if taken > settings.ENGINE_MAX_MODEL_LEN:
        problems.append(
            Error(
                f"ENGINE_MAX_MODEL_LEN is {settings.ENGINE_MAX_MODEL_LEN}: no room for a question.",
                hint=(
                    f"Prefix, answer, facts and question need at least {taken} tokens; raise it "
                    "or lower ASSISTANT_PREFIX_TOKEN_BUDGET."
                ),
                id="assistant.E002",
            )
        )
    return problems
