"""Staff's view of the assistant: conversations to read, answers and the prompt's parts to edit."""

from assistant.admin import cached_answers, conversations, prompt, runs, understanding

__all__ = ["cached_answers", "conversations", "prompt", "runs", "understanding"]
