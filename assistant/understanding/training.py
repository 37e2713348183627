"""Train the head from the example questions. scikit-learn is used here only.

Thresholds come from questions that the models have not seen: the examples are cut in
`FOLDS` parts, each judged by models trained on the others, and those judgements are certified
(`thresholds.certify`) for all categories together and for each on its own; the stricter counts.
"""

import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.understanding.classifier import INSIDE_ONLY, normal
from assistant.understanding.head import Head, Linear, Machine
from assistant.understanding.thresholds import GRID, Certificate, certify

#: Raised when the way of training changes, so that set-ups train anew.
RECIPE = 1
FOLDS = 3
#: The error among prepared answers that is certified on held-out examples. These are chosen to
#: be hard: near misses and several questions at once are many times as frequent as in chats, where
#: the same threshold errs far less often.
TARGET = 0.09
LEVEL = 0.95
_SEED = 20
_SVM_COST, _GAMMA, _LR_COST = 5.0, 1.0, 20.0


@dataclass(frozen=True, slots=True)
class Example:
    text: str
    category: str
    intent: str = ""


@dataclass(frozen=True, slots=True)
class Trained:
    head: Head
    certificate: Certificate
    #: Share of held-out examples with the right category.
    accuracy: float


def fingerprint(examples: Iterable[Example], cacheable: Iterable[str], encoder: str) -> str:
    """Of everything that the head follows from."""
    lines = sorted(f"{e.category}\t{e.intent}\t{e.text}" for e in examples)
    content = json.dumps([RECIPE, TARGET, encoder, sorted(cacheable), lines], ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


def train(
    examples: Sequence[Example], vectors: NDArray[np.float32], cacheable: frozenset[str]
) -> Trained:
    """The head for these examples; the same examples give the same head."""
    labels = np.array([example.category for example in examples])
    intents = {
        category: _intent_model(examples, vectors, category) for category in sorted(cacheable)
    }
    held_out = _held_out(vectors, labels)
    classes = np.unique(labels)
    predicted = classes[held_out.argmax(axis=1)]
    certificate, thresholds = _thresholds(
        predicted, held_out.max(axis=1), predicted == labels, cacheable & set(classes)
    )
    categories, machine = _fit(vectors, labels)
    return Trained(
        head=Head(
            categories=categories,
            machine=machine,
            thresholds=thresholds,
            intents={name: model for name, model in intents.items() if model is not None},
        ),
        certificate=certificate,
        accuracy=float((predicted == labels).mean()),
    )


def prepared_texts(examples: Iterable[Example]) -> list[str]:
    return [normal(example.text) for example in examples]


def _thresholds(
    predicted: NDArray[Any],
    confidence: NDArray[np.float32],
    right: NDArray[np.bool_],
    cacheable: frozenset[str],
) -> tuple[Certificate, dict[str, float]]:
    served = np.isin(predicted, sorted(cacheable))
    common = certify(confidence[served], right[served], target=TARGET, level=LEVEL)
    thresholds: dict[str, float] = {}
    for category in sorted(cacheable):
        own = predicted == category
        # Looser than the common bound: one category has too few examples for more.
        floor = _own_floor(confidence[own], right[own])
        thresholds[category] = max(common.threshold, floor)
    return common, thresholds


def _own_floor(confidence: NDArray[np.float32], right: NDArray[np.bool_]) -> float:
    """The loosest threshold at which a category by itself errs in at most twice the target."""
    for threshold in reversed(GRID):
        chosen = confidence >= threshold
        if chosen.any() and float((~right[chosen]).mean()) <= 2 * TARGET:
            return threshold
    return 1.01


def _held_out(vectors: NDArray[np.float32], labels: NDArray[Any]) -> NDArray[np.float32]:
    from sklearn.model_selection import StratifiedKFold

    classes = np.unique(labels)
    probabilities = np.zeros((len(labels), len(classes)), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a category with fewer examples than folds
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=_SEED).split(vectors, labels)
        for rest, part in folds:
            categories, machine = _fit(vectors[rest], labels[rest])
            columns = np.searchsorted(classes, list(categories.classes))
            head = Head(categories=categories, machine=machine, thresholds={})
            probabilities[np.ix_(part, columns)] = head.probabilities(vectors[part])
    return probabilities


def _fit(vectors: NDArray[np.float32], labels: NDArray[Any]) -> tuple[Linear, Machine]:
    from sklearn.svm import SVC

    machine = SVC(C=_SVM_COST, gamma=_GAMMA, cache_size=400).fit(vectors, labels)
    return _linear(vectors, labels), Machine(
        support=machine.support_vectors_.astype(np.float32),
        counts=machine.n_support_.astype(np.int64),
        duals=machine.dual_coef_.astype(np.float32),
        bias=machine.intercept_.astype(np.float32),
        gamma=_GAMMA,
    )


def _linear(vectors: NDArray[np.float32], labels: NDArray[Any]) -> Linear:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # sixty steps are enough here
        model = LogisticRegression(C=_LR_COST, max_iter=60, tol=1e-3).fit(vectors, labels)
    return Linear(
        classes=tuple(str(slug) for slug in model.classes_),
        weights=model.coef_.astype(np.float32),
        bias=model.intercept_.astype(np.float32),
    )


def _intent_model(
    examples: Sequence[Example], vectors: NDArray[np.float32], category: str
) -> Linear | None:
    chosen = [index for index, e in enumerate(examples) if e.category == category]
    labels = np.array([examples[index].intent for index in chosen])
    if len(set(labels)) < 2:
        return None
    return _linear(vectors[chosen], labels)


def only_known(counts: Mapping[str, int]) -> frozenset[str]:
    """Categories with enough examples to learn; the near misses always."""
    return frozenset(slug for slug, count in counts.items() if count >= 5) | INSIDE_ONLY
