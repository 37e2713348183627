"""`understand`: the served side. No database, no waiting, any thread."""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assistant.understanding import store
from inference.encoder import Encoder
from inference.encoder import folder as encoder_folder
from orders.facts import OrderFacts

logger = logging.getLogger(__name__)

#: What a question that must not be answered from the cache looks like.
NEAR_MISS = "other"
INSIDE_ONLY = frozenset({NEAR_MISS})
#: Seconds between looks for a newly trained head.
_LOOK_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Understanding:
    """`category`: the best label, `multi` and `needs_context` included; "" while switched off.

    `sure`: a prepared answer of the category may be given. `reason` says why not: "sure",
    "unsure" (under the category's threshold), "near_miss" (looks like the category, asks for
    something else), "never_sure" (a category without threshold) or "classifier_off".
    `ranked`: the likeliest (category, sub-intent) pairs, best first, for notes.
    """

    category: str
    intent: str = ""
    confidence: float = 0.0
    sure: bool = False
    reason: str = ""
    ranked: tuple[tuple[str, str], ...] = ()


OFF = Understanding(category="", reason="classifier_off")


@dataclass(frozen=True, slots=True)
class Loaded:
    name: str
    stored: store.Stored | None
    encoder: Encoder | None
    problem: str = ""


class Classifier:
    """Keeps the current head in memory and looks once a second whether there is a newer one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: Loaded | None = None
        self._looked = 0.0

    def loaded(self) -> Loaded:
        """The head in use. A newer one is loaded by one thread while the others go on."""
        now = time.monotonic()
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded, self._looked = self._load(store.current()), now
        elif now - self._looked > _LOOK_EVERY_S and self._lock.acquire(blocking=False):
            try:
                self._looked = now
                name = store.current()
                if name != self._loaded.name:
                    self._loaded = self._load(name)
            finally:
                self._lock.release()
        return self._loaded

    def forget(self) -> None:
        """For tests, and after the files were changed by hand."""
        with self._lock:
            self._loaded = None

    def _load(self, name: str) -> Loaded:
        try:
            stored = store.load(name)
            known = self._loaded.encoder if self._loaded else None
            return Loaded(name, stored, known or Encoder(encoder_folder()))
        except store.HeadUnusable as error:
            problem = str(error)
        except Exception as error:  # a broken network file; questions go to the model
            logger.exception("the sentence encoder cannot be loaded")
            problem = f"The sentence encoder cannot be loaded ({type(error).__name__})."
        logger.warning("understanding is off: %s", problem)
        return Loaded(name, None, None, problem)

    def understand(self, text: str) -> Understanding:
        loaded = self.loaded()
        if loaded.stored is None or loaded.encoder is None:
            return OFF
        head = loaded.stored.head
        vector = loaded.encoder.encode(normal(text))
        probabilities = head.probabilities(vector[None])[0]
        order = [int(index) for index in np.argsort(-probabilities)]
        best = order[0]
        near_miss = head.classes[best] in INSIDE_ONLY
        if near_miss:
            best = next(index for index in order if head.classes[index] not in INSIDE_ONLY)
        category = head.classes[best]
        confidence = float(probabilities[best])
        threshold = head.thresholds.get(category)
        if near_miss:
            reason = "near_miss"
        elif threshold is None:
            reason = "never_sure"
        else:
            reason = "sure" if confidence >= threshold else "unsure"
        return Understanding(
            category=category,
            intent=head.intent(category, vector),
            confidence=round(confidence, 4),
            sure=reason == "sure",
            reason=reason,
            ranked=tuple(
                (head.classes[index], head.intent(head.classes[index], vector))
                for index in order[:5]
                if head.classes[index] in head.thresholds
            ),
        )


_classifier = Classifier()


def understand(
    text: str, *, history: Sequence[str] = (), facts: OrderFacts | None = None
) -> Understanding:
    """What the customer asks. About 5 ms; never raises for any text.

    `history` and `facts` are not evidence yet: the text alone decides, so an answer that stands
    in the cache for it is the same in every conversation.
    """
    return _classifier.understand(text)


def status() -> str:
    """ "" while it works, else one sentence that says why it is off. Loads the files."""
    return _classifier.loaded().problem


def forget() -> None:
    _classifier.forget()


def normal(text: str) -> str:
    """As the examples are written: one line, plain quotes."""
    plain = text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    return " ".join(plain.split())
