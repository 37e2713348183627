"""Understanding: the classifier's files, the served arithmetic, and what it does without them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant import understanding_defaults
from assistant.understanding import classifier, store, training
from assistant.understanding.head import Head, pack, unpack
from assistant.understanding.thresholds import certify, clopper_pearson_upper
from inference import encoder

TOPICS = ("address", "cancel", "late", "other")


def vectors(count: int, *, spread: float = 0.25) -> tuple[Any, Any]:
    """Unit vectors around one direction a topic, and their topics."""
    random = np.random.default_rng(7)
    labels = np.array([TOPICS[index % len(TOPICS)] for index in range(count)])
    centres = {topic: np.eye(16)[place] for place, topic in enumerate(TOPICS)}
    rows = np.array([centres[label] + spread * random.standard_normal(16) for label in labels])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32), labels


@pytest.fixture
def trained() -> training.Trained:
    rows, labels = vectors(400)
    examples = [
        training.Example(f"question {index}", str(label), "how" if index % 8 < 4 else "")
        for index, label in enumerate(labels)
    ]
    return training.train(examples, rows, frozenset({"address", "cancel", "late"}))


@pytest.fixture
def place(tmp_path: Path, settings: Any) -> Path:
    """A private folder for heads, with a stand-in for the encoder's files."""
    settings.VAR_DIR = tmp_path
    network = encoder.folder()
    network.mkdir(parents=True)
    (network / "encoder.onnx").write_bytes(b"network")
    (network / "tokenizer.json").write_bytes(b"{}")
    files = {name: encoder.sha256_of(network / name) for name in ("encoder.onnx", "tokenizer.json")}
    (network / "manifest.json").write_text(json.dumps({"files": files}))
    classifier.forget()
    return tmp_path


def keep(head: Head) -> str:
    return store.save(head, {"encoder": encoder.fingerprint(encoder.folder()), "trained_on": "x"})


def test_clopper_pearson_gives_the_published_bounds() -> None:
    assert clopper_pearson_upper(0, 149) == pytest.approx(0.0199, abs=1e-4)
    assert clopper_pearson_upper(0, 1) == pytest.approx(0.95)
    assert clopper_pearson_upper(1, 20) == pytest.approx(0.2161, abs=1e-4)
    assert clopper_pearson_upper(5, 5) == 1.0
    assert clopper_pearson_upper(0, 0) == 1.0
    assert clopper_pearson_upper(50, 2000) < clopper_pearson_upper(5, 200)


def test_the_threshold_loosens_until_the_bound_breaks_and_not_beyond() -> None:
    confidence = np.linspace(0.3, 1.0, 1000)
    right = confidence >= 0.6  # everything under 0.6 is wrong
    found = certify(confidence, right, target=0.05)
    assert found.threshold == pytest.approx(0.59, abs=0.021)
    assert found.bound <= 0.05
    assert clopper_pearson_upper(found.wrong, found.served) == found.bound
    # The first failing step ends it, even where a looser one would look good again.
    broken = np.where((confidence > 0.8) & (confidence < 0.9), False, True)
    assert certify(confidence, broken, target=0.05).threshold >= 0.88


def test_too_few_answers_certify_nothing() -> None:
    found = certify(np.full(20, 0.99), np.ones(20, bool), target=0.02)
    assert found.threshold > 1


def test_numpy_serves_what_scikit_learn_trained(trained: training.Trained) -> None:
    from sklearn.svm import SVC

    rows, labels = vectors(400)
    machine = SVC(C=5.0, gamma=1.0).fit(rows, labels)
    others, _ = vectors(80, spread=0.6)
    np.testing.assert_allclose(
        trained.head.machine.scores(others), machine.decision_function(others), atol=1e-3
    )


def test_training_is_the_same_each_time(trained: training.Trained) -> None:
    rows, labels = vectors(400)
    examples = [
        training.Example(f"question {index}", str(label), "how" if index % 8 < 4 else "")
        for index, label in enumerate(labels)
    ]
    again = training.train(examples, rows, frozenset({"address", "cancel", "late"}))
    assert pack(again.head) == pack(trained.head)


def test_a_head_survives_its_file(trained: training.Trained) -> None:
    head = unpack(pack(trained.head))
    rows, _ = vectors(20)
    assert head.classes == TOPICS
    np.testing.assert_array_equal(head.probabilities(rows), trained.head.probabilities(rows))
    assert head.thresholds == trained.head.thresholds
    assert head.probabilities(rows).sum(axis=1) == pytest.approx(1)


def test_only_categories_that_may_be_cached_have_a_threshold(trained: training.Trained) -> None:
    assert set(trained.head.thresholds) == {"address", "cancel", "late"}


def test_the_written_head_is_the_one_in_use(place: Path, trained: training.Trained) -> None:
    name = keep(trained.head)
    assert store.current() == name
    assert store.load(name).head.classes == TOPICS


@pytest.mark.parametrize("damage", ["flip", "gone", "manifest", "encoder", "format", "current"])
def test_any_mismatch_turns_understanding_off(
    place: Path, trained: training.Trained, damage: str
) -> None:
    name = keep(trained.head)
    folder = store.folder() / name
    manifest = json.loads((folder / "manifest.json").read_text())
    if damage == "flip":
        content = bytearray((folder / "head.npz").read_bytes())
        content[len(content) // 2] ^= 1
        (folder / "head.npz").write_bytes(bytes(content))
    elif damage == "gone":
        (folder / "head.npz").unlink()
    elif damage == "manifest":
        (folder / "manifest.json").write_text("{")
    elif damage == "encoder":
        (encoder.folder() / "encoder.onnx").write_bytes(b"another network")
    elif damage == "format":
        (folder / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))
    else:
        (store.folder() / "current").unlink()
    classifier.forget()

    found = classifier.understand("Where is my order?")

    assert (found.category, found.sure, found.reason) == ("", False, "classifier_off")
    assert classifier.status()


def test_a_newer_head_takes_over_without_a_restart(
    place: Path, trained: training.Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classifier, "_LOOK_EVERY_S", -1.0)
    monkeypatch.setattr(classifier, "Encoder", lambda folder: Fixed())
    first = keep(trained.head)
    watching = classifier.Classifier()
    assert watching.loaded().name == first
    strict = Head(trained.head.categories, trained.head.machine, {"late": 1.01})
    second = keep(strict)
    assert watching.loaded().name == second != first


class Fixed:
    """An encoder that sees one topic in every text."""

    def encode(self, text: str) -> Any:
        return np.eye(16, dtype=np.float32)[TOPICS.index(text)]


def test_sure_only_above_the_threshold_and_never_for_near_misses(
    place: Path, trained: training.Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classifier, "Encoder", lambda folder: Fixed())
    keep(Head(trained.head.categories, trained.head.machine, {"late": 0.3, "cancel": 1.01}))
    watching = classifier.Classifier()
    late, cancel = watching.understand("late"), watching.understand("cancel")
    address, near = watching.understand("address"), watching.understand("other")
    assert (late.category, late.sure, late.reason) == ("late", True, "sure")
    assert (cancel.category, cancel.sure, cancel.reason) == ("cancel", False, "unsure")
    assert (address.category, address.sure, address.reason) == ("address", False, "never_sure")
    assert near.category != "other"
    assert (near.sure, near.reason) == (False, "near_miss")


def test_the_fingerprint_follows_texts_labels_and_encoder() -> None:
    one = [training.Example("a", "late")]
    base = training.fingerprint(one, {"late"}, "e")
    assert base == training.fingerprint(list(one), ["late"], "e")
    assert base != training.fingerprint([training.Example("a", "cancel")], {"late"}, "e")
    assert base != training.fingerprint(one, set(), "e")
    assert base != training.fingerprint(one, {"late"}, "f")


def test_texts_are_read_alike_whatever_the_keyboard() -> None:
    assert classifier.normal("where’s  my\n“order”") == 'where\'s my "order"'


# ---- the shipped data -------------------------------------------------------------------------


def test_the_shipped_examples_are_well_formed() -> None:
    examples = list(understanding_defaults.shipped_examples())
    categories = {entry["slug"]: entry for entry in understanding_defaults.shipped_categories()}
    assert len(examples) > 10_000
    texts = [example.text for example in examples]
    assert len(set(texts)) == len(texts)
    for example in examples:
        assert example.text == example.text.strip()
        assert 0 < len(example.text) <= 500
        assert example.category in categories
        if example.intent:
            assert example.intent in categories[example.category]["intents"], example
    used = {(example.category, example.intent) for example in examples if example.intent}
    offered = {(slug, i) for slug, entry in categories.items() for i in entry.get("intents", {})}
    assert used == offered
    assert {example.category for example in examples} == set(categories)


def test_no_text_stands_in_two_categories() -> None:
    seen: dict[str, str] = {}
    for example in understanding_defaults.shipped_examples():
        key = " ".join(example.text.lower().split())
        assert seen.setdefault(key, example.category) == example.category, example.text


def test_no_phone_number_or_address_of_a_person_is_shipped() -> None:
    pattern = re.compile(r"(?<!\d)\+?\d[\d ()-]{8,}\d(?!\d)|[\w.+-]+@[\w-]+\.\w{2,}")
    assert [
        e.text for e in understanding_defaults.shipped_examples() if pattern.search(e.text)
    ] == []


def test_what_must_not_be_cached_is_not() -> None:
    cacheable = {
        e["slug"] for e in understanding_defaults.shipped_categories() if e.get("may_cache")
    }
    assert not cacheable & {
        "multi", "needs_context", "other", "off_topic", "abuse", "prompt_injection",
        "human_agent", "allergy_question", "safety_incident",
    }  # fmt: skip


@pytest.mark.django_db
def test_a_new_database_gets_categories_once_and_examples_on_demand() -> None:
    from assistant.models import Category, ExampleQuestion, Intent

    assert Category.objects.filter(slug="allergy_question").exclude(fixed_reply="").exists()
    assert Intent.objects.filter(category__slug="payment_issue").count() == 7
    assert understanding_defaults.install_categories() == 0
    assert understanding_defaults.install_examples() == ExampleQuestion.objects.count() > 10_000
    assert understanding_defaults.install_examples() == 0
