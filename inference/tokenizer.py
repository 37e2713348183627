"""Token ids from text with the model's own tokenizer and chat template, without torch.

Text never becomes a special token: the template's own marks are encoded apart from what people
wrote, so ``<|im_start|>`` in a message stays eleven ordinary characters.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from inference.errors import ModelNotPrepared

#: Stands for a message's content while the template is rendered; a private-use character that
#: no template contains.
_CONTENT = "\ue000"


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: str  # system, user or assistant
    content: str


class ChatTokenizer:
    """A model's tokenizer and chat template, loaded from its folder.

    Raises ``ModelNotPrepared`` when the folder lacks one of them.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / "tokenizer.json").is_file():
            raise ModelNotPrepared(
                f"{folder} holds no tokenizer.json. Prepare the model: manage.py prepare_model"
            )
        self.folder = folder
        self.tokenizer: Tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        # A second copy whose special tokens are ordinary text: the flag belongs to the tokenizer,
        # and two threads may encode at once.
        self._plain: Tokenizer = Tokenizer.from_str(self.tokenizer.to_str())
        self._plain.encode_special_tokens = True
        self._config = _read_json(folder / "tokenizer_config.json")
        template = self._config.get("chat_template")
        if (folder / "chat_template.jinja").is_file():
            template = (folder / "chat_template.jinja").read_text()
        if not isinstance(template, str):
            raise ModelNotPrepared(f"{folder} holds no chat template")
        self.eos_ids = self._end_of_sequence()
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _raise_exception
        self._template = environment.from_string(template)

    def encode(self, text: str) -> list[int]:
        """Ids of what a person wrote; special tokens in it are ordinary text."""
        ids: list[int] = self._plain.encode(text, add_special_tokens=False).ids
        return ids

    def count(self, text: str) -> int:
        return len(self.encode(text))

    def decode(self, ids: Sequence[int]) -> str:
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=True)
        return text

    def render(self, messages: Sequence[ChatMessage], *, answer: bool = True) -> list[int]:
        """Prompt ids of a conversation; ``answer`` opens the assistant's next turn."""
        outline = self._template.render(
            messages=[{"role": m.role, "content": _CONTENT} for m in messages],
            add_generation_prompt=answer,
            bos_token=self._special("bos_token"),
            eos_token=self._special("eos_token"),
        )
        marks = outline.split(_CONTENT)
        if len(marks) != len(messages) + 1:
            raise ModelNotPrepared(
                f"the chat template of {self.folder} does not show each message once"
            )
        ids = self._marks(marks[0])
        for message, mark in zip(messages, marks[1:], strict=True):
            ids += self.encode(message.content.strip())
            ids += self._marks(mark)
        return ids

    def _marks(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _special(self, name: str) -> str:
        token = self._config.get(name) or ""
        return token["content"] if isinstance(token, dict) else token

    def _end_of_sequence(self) -> frozenset[int]:
        """Ids that end an answer: the tokenizer's own, and those of the generation settings."""
        listed = _read_json(self.folder / "generation_config.json").get("eos_token_id")
        ids = set(listed if isinstance(listed, list) else [] if listed is None else [listed])
        own = self.tokenizer.token_to_id(self._special("eos_token"))
        return frozenset(ids if own is None else ids | {own})

    def whole(self, ids: Sequence[int]) -> list[int]:
        """The ids cut back to the end of a complete character."""
        kept = list(ids)
        while kept and self.decode(kept).endswith("\ufffd"):
            kept.pop()
        return kept


class Detokenizer:
    """Text from an answer's ids, as they come; holds back an incomplete character.

    One for a whole answer: after a failover it is fed the journaled ids first. It never sees the
    prompt, so it can never show it.
    """

    def __init__(self, tokenizer: ChatTokenizer) -> None:
        self._tokenizer = tokenizer.tokenizer
        self._stream = DecodeStream(skip_special_tokens=True)

    def feed(self, ids: Iterable[int]) -> str:
        pieces = (self._stream.step(self._tokenizer, token) for token in ids)
        return "".join(piece for piece in pieces if piece)


@lru_cache(maxsize=4)
def load_tokenizer(folder: Path) -> ChatTokenizer:
    return ChatTokenizer(folder)


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def _raise_exception(message: str) -> None:
    raise ValueError(message)
