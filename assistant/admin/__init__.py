"""Staff's view of the assistant: conversations to read, the prompt's parts to edit."""

from assistant.admin import conversations, prompt, runs

__all__ = ["conversations", "prompt", "runs"]
