"""Bring the classifier up to date with the example questions in the database."""

from collections.abc import Callable
from pathlib import Path

from assistant.models import Category, ExampleQuestion
from assistant.understanding import classifier, store, training
from inference import encoder

Report = Callable[[str], None]


def prepare(report: Report, *, threads: int = 2) -> str:
    """Prepare the encoder, train unless the current head fits the examples; the head's name.

    Raises the encoder's ``ModelError`` where it cannot be had.
    """
    network = encoder.prepare(report)
    examples, cacheable = _read()
    wanted = training.fingerprint(examples, cacheable, network)
    if (name := store.current()) and _is(name, wanted):
        return name
    report(f"Training the understanding of questions on {len(examples)} examples …")
    machine = encoder.Encoder(_folder(), threads=threads)
    vectors = machine.encode_many(training.prepared_texts(examples))
    trained = training.train(examples, vectors, cacheable)
    name = store.save(
        trained.head,
        {
            "trained_on": wanted,
            "encoder": network,
            "examples": len(examples),
            "held_out_accuracy": round(trained.accuracy, 4),
            "certificate": {
                "on": "held-out examples",
                "target": training.TARGET,
                "confidence": training.LEVEL,
                "threshold": trained.certificate.threshold,
                "served": trained.certificate.served,
                "wrong": trained.certificate.wrong,
                "bound": round(trained.certificate.bound, 4),
            },
            "thresholds": trained.head.thresholds,
        },
    )
    classifier.forget()
    return name


def _is(name: str, wanted: str) -> bool:
    try:
        return bool(store.load(name).manifest["trained_on"] == wanted)
    except store.HeadUnusable:
        return False


def _read() -> tuple[list[training.Example], frozenset[str]]:
    """Every active example, in a fixed order, and the categories that may be cached."""
    rows = (
        ExampleQuestion.objects.filter(active=True, language="en", category__active=True)
        .order_by("category__slug", "intent__slug", "text")
        .values_list("text", "category__slug", "intent__slug")
    )
    examples = [training.Example(text, slug, intent or "") for text, slug, intent in rows]
    counts: dict[str, int] = {}
    for example in examples:
        counts[example.category] = counts.get(example.category, 0) + 1
    known = training.only_known(counts)
    cacheable = Category.objects.filter(active=True, may_cache=True).values_list("slug", flat=True)
    return [e for e in examples if e.category in known], frozenset(cacheable) & known


def _folder() -> Path:
    return encoder.folder()
