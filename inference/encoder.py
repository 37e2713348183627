"""The sentence encoder: text in, a unit vector of 384 numbers out, on ONNX Runtime.

all-MiniLM-L6-v2, prepared once by ``model_preparation``. Web servers load it: no torch, about
100 MB, under a second.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from django.conf import settings
from numpy.typing import NDArray
from tokenizers import Tokenizer

from inference.errors import InferenceError
from inference.model_preparation import encoder as preparation
from inference.model_preparation.sources import Report, sha256_of

DIMENSIONS = 384
#: Longer texts are cut: what a customer asks stands in the first words.
MAX_TOKENS = 128
_BATCH = 64


class EncoderUnusable(InferenceError):
    """The prepared encoder is missing, or its bytes are not those of its manifest."""

    code = "encoder_unusable"
    retry = False


def folder() -> Path:
    return Path(settings.VAR_DIR) / "models" / preparation.NAME


def prepare(report: Report) -> str:
    """Prepare the encoder unless that is done; its fingerprint. Raises ``ModelError``."""
    try:
        return fingerprint(folder())
    except EncoderUnusable:
        preparation.prepare(folder(), report)
    return fingerprint(folder())


def fingerprint(place: Path) -> str:
    """The SHA-256 of the encoder's network. Raises ``EncoderUnusable`` unless all bytes fit."""
    try:
        files: dict[str, str] = json.loads((place / "manifest.json").read_text("utf-8"))["files"]
        for name, expected in files.items():
            if sha256_of(place / name) != expected:
                raise EncoderUnusable(f"{place / name} is not the file that was prepared.")
        return files["encoder.onnx"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EncoderUnusable(f"There is no prepared encoder in {place}.") from error


class Encoder:
    """Thread-safe: one session, one thread a call, so that a question costs one core only."""

    def __init__(self, place: Path, *, threads: int = 1) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # it would keep the peak of the longest question
        self._session = onnxruntime.InferenceSession(
            str(place / "encoder.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {node.name for node in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def encode(self, text: str) -> NDArray[np.float32]:
        return np.asarray(self._run([self._tokenizer.encode(text).ids])[0])

    def encode_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text. Texts of one length go together: nothing is padded, so each vector is
        the one that `encode` gives."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        by_length: dict[int, list[int]] = {}
        for index, ids in enumerate(tokens):
            by_length.setdefault(len(ids), []).append(index)
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        for indices in by_length.values():
            for start in range(0, len(indices), _BATCH):
                part = indices[start : start + _BATCH]
                vectors[part] = self._run([tokens[index] for index in part])
        return vectors

    def _run(self, ids: list[list[int]]) -> NDArray[np.float32]:
        tokens = np.array(ids, np.int64)
        feed = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
        if "token_type_ids" in self._inputs:
            feed["token_type_ids"] = np.zeros_like(tokens)
        hidden = self._session.run(None, feed)[0]
        mean = hidden.mean(axis=1)
        vectors = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return np.asarray(vectors, np.float32)
