"""Answers customers: conversations, the way of a question, the wire protocol."""
