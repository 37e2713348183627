"""The two small models on a question's vector, as plain arrays: scikit-learn trains them
(`training`), NumPy alone serves them.

Both give a probability for every category, and the mean of the two counts: a support vector
machine with an RBF kernel, whose pairwise decisions are turned into one score a category as
scikit-learn does ("ovr"), and a logistic regression. Sub-intents have a logistic regression each.
"""

import hashlib
import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Linear:
    """A logistic regression: one row of weights a class, or one row for two classes."""

    classes: tuple[str, ...]
    weights: Array
    bias: Array

    def probabilities(self, vectors: Array) -> Array:
        scores = vectors @ self.weights.T + self.bias
        if len(self.classes) == 2:
            scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
        return softmax(scores)


@dataclass(frozen=True)
class Machine:
    """A support vector machine with kernel exp(-gamma · distance²) over unit vectors."""

    support: Array  # (vectors, dimensions), grouped by class
    counts: NDArray[np.int64]  # support vectors of each class
    duals: Array  # (classes - 1, vectors), as libsvm keeps them
    bias: Array  # one for each pair
    gamma: float

    def scores(self, vectors: Array) -> Array:
        """(questions, classes): votes of the pairwise decisions, ties broken by their sizes."""
        kernel = np.exp(-2 * self.gamma * (1 - vectors @ self.support.T))
        ends = np.cumsum(self.counts)
        starts = ends - self.counts
        classes = len(self.counts)
        # For each class, the part that its support vectors add to each of its pairs.
        parts = [
            kernel[:, start:end] @ self.duals[:, start:end].T
            for start, end in zip(starts, ends, strict=True)
        ]
        votes = np.zeros((len(vectors), classes), np.float32)
        sums = np.zeros_like(votes)
        pair = 0
        for first in range(classes):
            for second in range(first + 1, classes):
                decision = parts[first][:, second - 1] + parts[second][:, first] + self.bias[pair]
                sums[:, first] += decision
                sums[:, second] -= decision
                votes[:, first] += decision > 0
                votes[:, second] += decision <= 0
                pair += 1
        ranked: Array = votes + sums / (3 * (np.abs(sums) + 1))
        return ranked


@dataclass(frozen=True)
class Head:
    """What a trained classifier is. `thresholds` has no entry for what is never sure."""

    categories: Linear
    machine: Machine
    thresholds: dict[str, float]
    intents: dict[str, Linear] = field(default_factory=dict)

    @property
    def classes(self) -> tuple[str, ...]:
        return self.categories.classes

    def probabilities(self, vectors: Array) -> Array:
        """(questions, categories)."""
        mean = (self.categories.probabilities(vectors) + softmax(self.machine.scores(vectors))) / 2
        return mean.astype(np.float32)

    def intent(self, category: str, vector: Array) -> str:
        """The sub-intent, or "" where none is likely enough: then the category's answer fits.

        A category without questions of a general kind has no such answer, so less will do there.
        """
        model = self.intents.get(category)
        if model is None:
            return ""
        probabilities = model.probabilities(vector[None])[0]
        best = int(probabilities.argmax())
        enough = 0.5 if "" in model.classes else 0.35
        return model.classes[best] if probabilities[best] >= enough else ""


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Array = powers / powers.sum(axis=1, keepdims=True)
    return shares


def pack(head: Head) -> bytes:
    """The head as an ``.npz`` file of arrays and strings, without pickle; the same head gives
    the same bytes."""
    names = list(head.thresholds)
    arrays: dict[str, Any] = {
        **_linear("categories", head.categories),
        "machine.support": head.machine.support,
        "machine.counts": head.machine.counts,
        "machine.duals": head.machine.duals,
        "machine.bias": head.machine.bias,
        "machine.gamma": np.float64(head.machine.gamma),
        "thresholds.names": np.array(names, dtype=np.str_),
        "thresholds.values": np.array([head.thresholds[name] for name in names]),
        "intents": np.array(sorted(head.intents), dtype=np.str_),
    }
    for name, model in head.intents.items():
        arrays |= _linear(f"intents.{name}", model)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def unpack(content: bytes) -> Head:
    """Raises ``ValueError`` or ``KeyError`` where the file is no head."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return Head(
            categories=_read("categories", arrays),
            machine=Machine(
                support=arrays["machine.support"],
                counts=arrays["machine.counts"],
                duals=arrays["machine.duals"],
                bias=arrays["machine.bias"],
                gamma=float(arrays["machine.gamma"]),
            ),
            thresholds={
                str(name): float(value)
                for name, value in zip(
                    arrays["thresholds.names"], arrays["thresholds.values"], strict=True
                )
            },
            intents={str(name): _read(f"intents.{name}", arrays) for name in arrays["intents"]},
        )


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _linear(name: str, model: Linear) -> dict[str, Any]:
    return {
        f"{name}.classes": np.array(model.classes, dtype=np.str_),
        f"{name}.weights": model.weights,
        f"{name}.bias": model.bias,
    }


def _read(name: str, arrays: Any) -> Linear:
    return Linear(
        classes=tuple(str(slug) for slug in arrays[f"{name}.classes"]),
        weights=arrays[f"{name}.weights"],
        bias=arrays[f"{name}.bias"],
    )
