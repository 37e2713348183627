"""The assistant's tables, a file for each subject."""

from assistant.models.cached_answers import (
    AnswerCacheVersion,
    CachedAnswer,
    CachedAnswerHits,
    CachedAnswerVersion,
)
from assistant.models.conversation import UNFINISHED, Conversation, Message
from assistant.models.periodic import PeriodicRun
from assistant.models.prompt import Policy, PromptExample, PromptVersion, SystemText
from assistant.models.understanding import Category, ExampleQuestion, Intent

__all__ = [
    "UNFINISHED",
    "AnswerCacheVersion",
    "CachedAnswer",
    "CachedAnswerHits",
    "CachedAnswerVersion",
    "Category",
    "Conversation",
    "ExampleQuestion",
    "Intent",
    "Message",
    "PeriodicRun",
    "Policy",
    "PromptExample",
    "PromptVersion",
    "SystemText",
]
