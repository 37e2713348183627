"""The models of this checkout: one folder each under ``var/models``, prepared once.

A folder holds ``tokenizer.json``, ``tokenizer_config.json``, the chat template and, but for the
simulated engine, ``config.json`` and safetensors weights; ``manifest.json`` says where all of it
came from. A folder is written under a temporary name and renamed, so one that exists is whole.
"""

import errno
import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from django.conf import settings

from inference.errors import ModelNotPrepared
from inference.model_preparation import sources, tokenizer
from inference.model_preparation.catalogue import GGUF_MODELS, SIMULATED, GgufModel
from inference.model_preparation.errors import (
    ChecksumMismatch,
    ConversionFailed,
    ModelError,
    NoSpace,
    SourceUnavailable,
)
from inference.model_preparation.sources import Report

__all__ = [
    "ChecksumMismatch",
    "ConversionFailed",
    "ModelError",
    "ModelNotPrepared",
    "NoSpace",
    "SourceUnavailable",
    "fingerprint",
    "prepare",
    "resolve",
]

MANIFEST = "manifest.json"
#: Part of every converted model's fingerprint: raise it when the conversion changes its output.
CONVERSION = "safetensors-bfloat16-1"
REPOSITORY = Path(__file__).resolve().parent.parent


def resolve(name: str) -> Path:
    """The folder of a model named in the settings: a known name, a local path or a hub name.

    A known model that could not be had is answered with the one that took its place. Raises
    ``ModelNotPrepared`` with the command that helps.
    """
    if is_local_path(name):
        folder = Path(name).expanduser().resolve()
        if not (folder / "tokenizer.json").is_file():
            raise ModelNotPrepared(f"{folder} holds no tokenizer.json, so it is no model folder.")
        return folder
    folder = _folder(name)
    if is_complete(folder):
        return folder
    stand_in = _stand_in(name)
    if stand_in is not None and is_complete(_folder(stand_in)):
        return _folder(stand_in)
    raise ModelNotPrepared(
        f"The model {name} is not prepared. Run: python manage.py prepare_model {name}"
    )


def fingerprint(folder: Path) -> str:
    """A stable id of the folder's weights and tokenizer, the same on every host that has them.

    Cheap: from the manifest, else from the small files and the weights' names and sizes.
    """
    manifest = folder / MANIFEST
    changed = manifest.stat().st_mtime_ns if manifest.exists() else folder.stat().st_mtime_ns
    return _fingerprint(folder, changed)


@functools.lru_cache(maxsize=16)
def _fingerprint(folder: Path, _changed: int) -> str:
    if (manifest := _read_manifest(folder)) is not None:
        return str(manifest["fingerprint"])
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.name in {"config.json", "tokenizer.json"}:
            digest.update(file.read_bytes())
        elif file.suffix == ".safetensors":
            digest.update(f"{file.name}:{file.stat().st_size}".encode())
    return digest.hexdigest()[:16]


def prepare(name: str, report: Report) -> Path:
    """Make the named model usable and return its folder; at once when that is done already.

    ``report`` gets one line for each step. Raises a ``ModelError`` (``ModelNotPrepared`` for a path
    that holds no model); then nothing half-written is left. The returned folder is another
    model's when this one could not be had.
    """
    if is_local_path(name):
        folder = resolve(name)
        report(f"Using the model in {folder}.")
        return folder
    folder = _folder(name)
    if is_complete(folder):
        report(f"Model {name} is ready ({folder}).")
        return folder
    if (stand_in := _stand_in(name)) is not None and is_complete(_folder(stand_in)):
        report(
            f"Using {stand_in} in place of {name}, which could not be fetched; to try again, "
            f"delete {_note(name)}."
        )
        return _folder(stand_in)
    try:
        return _prepare_new(name, folder, report)
    except SourceUnavailable as error:
        model = GGUF_MODELS.get(name)
        if model is None or model.fallback is None:
            raise
        report(f"{error} Preparing the smaller {model.fallback} instead of {name}.")
        folder = prepare(model.fallback, report)
        _note(name).write_text(model.fallback, encoding="utf-8")
        return folder
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise NoSpace(
            f"The disk that holds {_root()} is full. Free some space and run this again."
        ) from error


def is_complete(folder: Path) -> bool:
    """Whether every file that the manifest names is there with its size."""
    manifest = _read_manifest(folder)
    if manifest is None:
        return False
    for name, facts in manifest["files"].items():
        file = folder / name
        if not file.is_file() or file.stat().st_size != facts["bytes"]:
            return False
    return True


def is_local_path(name: str) -> bool:
    return name.startswith(("/", "./", "../", "~")) or (os.sep in name and Path(name).is_dir())


# ---- one model, made ----------------------------------------------------------------------------


def _prepare_new(name: str, folder: Path, report: Report) -> Path:
    _root().mkdir(parents=True, exist_ok=True)
    with _alone(name, report):
        if is_complete(folder):  # another process made it while this one waited
            return folder
        for abandoned in _root().glob(f".{folder.name}.*.tmp"):
            shutil.rmtree(abandoned)
        temporary = Path(tempfile.mkdtemp(dir=_root(), prefix=f".{folder.name}.", suffix=".tmp"))
        temporary.chmod(0o755)
        started = time.monotonic()
        try:
            facts = _write(name, temporary, report)
            for file in temporary.rglob("*"):
                if file.is_file():
                    file.chmod(0o644)  # web servers may run as another user
            _write_manifest(temporary, name, facts)
            if folder.exists():  # incomplete, or its manifest would have said so
                shutil.rmtree(folder)
            temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        _note(name).unlink(missing_ok=True)
        report(f"Model {name} is ready after {time.monotonic() - started:.0f} s ({folder}).")
        return folder


def _write(name: str, folder: Path, report: Report) -> dict[str, str]:
    """Fill the folder; return the manifest's ``source`` and, where known, ``fingerprint``."""
    if name == SIMULATED:
        report("Training the simulated engine's tokenizer on the project's own texts …")
        tokenizer.write_tokenizer(tokenizer.corpus(REPOSITORY), folder)
        return {"source": "this project's texts"}
    if name in GGUF_MODELS:
        return _write_gguf_model(GGUF_MODELS[name], folder, report)
    return _write_hub_snapshot(name, folder, report)


def _write_gguf_model(model: GgufModel, folder: Path, report: Report) -> dict[str, str]:
    free = shutil.disk_usage(_root()).free
    if free < model.bytes_needed:
        raise NoSpace(
            f"{model.title} needs {model.bytes_needed / 1e9:.1f} GB in {_root()}, and "
            f"{free / 1e9:.1f} GB are free. Free some space, or set QUICKBITE_VAR to another disk."
        )
    # Kept when something fails, so that a second try fetches only what is missing.
    downloads = _root() / ".downloads" / model.name
    downloads.mkdir(parents=True, exist_ok=True)
    gguf = downloads / "model.gguf"
    if gguf.exists():
        sources.check_sha256(gguf, model.gguf_sha256, what=gguf.name)
        source = "an earlier download"
    else:
        source = sources.fetch_gguf(model, gguf, downloads, report)
    _convert(gguf, folder, report)
    shutil.rmtree(downloads)
    identity = hashlib.sha256(f"{model.gguf_sha256}:{CONVERSION}".encode()).hexdigest()
    return {
        "source": source,
        "source_sha256": model.gguf_sha256,
        "fingerprint": identity[:16],
    }


def _convert(gguf: Path, folder: Path, report: Report) -> None:
    """Run the conversion as a process of its own, saying every few seconds that it still works."""
    report(f"Converting to safetensors ({gguf.stat().st_size / 1e6:.0f} MB, up to a minute) …")
    command: list[str | Path] = [sys.executable, "-m", "inference.model_preparation.convert"]
    command += [gguf, folder]
    # Everything it needs is in the file: the hub must not be asked, nor the terminal written to.
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=REPOSITORY, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            while True:
                try:
                    process.wait(timeout=10)
                    break
                except subprocess.TimeoutExpired:
                    report(f"  … still converting ({time.monotonic() - started:.0f} s)")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if process.returncode == 0:
            return
        output.seek(0)
        text = output.read().decode(errors="replace")
    if process.returncode == -9:
        detail = "it was killed, most likely for want of memory: about 4 GB must be free"
    elif "No module named" in text:
        detail = "torch or transformers is missing: pip install -r requirements/cpu.txt"
    elif "No space left" in text:
        detail = "the disk is full: free some space"
    else:
        detail = text.strip().splitlines()[-1] if text.strip() else "no reason given"
    raise ConversionFailed(f"The conversion failed ({detail}).")


def _write_hub_snapshot(name: str, folder: Path, report: Report) -> dict[str, str]:
    """A model that the project does not know: its safetensors checkpoint from the hub, as it is."""
    if name.count("/") != 1:
        known = ", ".join([*GGUF_MODELS, SIMULATED])
        raise ModelError(
            f"There is no model {name!r}. Known here: {known}; a folder's path or a hub name "
            "(owner/name) do as well."
        )
    import huggingface_hub

    report(f"Fetching {name} from the model hub …")
    try:
        information = huggingface_hub.HfApi().model_info(name, timeout=sources.HUB_TIMEOUT_S)
        huggingface_hub.snapshot_download(
            name,
            revision=information.sha,
            local_dir=folder,
            allow_patterns=["*.json", "*.safetensors", "*.jinja", "*.txt", "*.model"],
        )
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise SourceUnavailable(f"{name} cannot be fetched from the model hub ({error}).") from None
    except Exception as error:  # the hub's client raises errors of several libraries
        line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SourceUnavailable(f"{name} cannot be fetched from the model hub ({line}).") from error
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    if not (folder / "tokenizer.json").is_file():
        raise ModelError(f"{name} has no tokenizer.json; the project needs a fast tokenizer.")
    return {"source": f"hub:{name}@{information.sha}"}


# ---- folders, manifest, lock --------------------------------------------------------------------


def _root() -> Path:
    return Path(settings.VAR_DIR) / "models"


def _folder(name: str) -> Path:
    return _root() / name.lower().replace("/", "--")


def _note(name: str) -> Path:
    """The file that names the model which took this one's place."""
    return _root() / f"{_folder(name).name}.instead"


def _stand_in(name: str) -> str | None:
    try:
        return _note(name).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return manifest if "files" in manifest and "fingerprint" in manifest else None


def _write_manifest(folder: Path, name: str, facts: dict[str, str]) -> None:
    files = {
        str(file.relative_to(folder)): {
            "bytes": file.stat().st_size,
            "sha256": sources.sha256_of(file),
        }
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    content = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]
    manifest = {
        "name": name,
        "fingerprint": content,
        **facts,
        "versions": {package: found for package in _PACKAGES if (found := _version(package))},
        "files": files,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


_PACKAGES = ("tokenizers", "transformers", "torch", "gguf")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@contextmanager
def _alone(name: str, report: Report) -> Iterator[None]:
    """Hold the model's lock: two processes that prepare the same model do the work once."""
    with (_root() / f".{_folder(name).name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"Another process is preparing {name}; waiting for it …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
