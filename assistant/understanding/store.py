"""Where a trained head lies: ``var/understanding/<hash>/``, and ``current`` names the one in use.

A folder is written whole and then renamed into place; ``current`` is replaced in one step. So a
web server sees the old head or the new one, never a half.
"""

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from assistant.understanding import head as heads
from inference import encoder

FORMAT = 1
_KEPT = 3


class HeadUnusable(Exception):
    """The trained head is missing or not what its manifest says; the text says which."""


@dataclass(frozen=True, slots=True)
class Stored:
    name: str
    head: heads.Head
    manifest: dict[str, Any]


def folder() -> Path:
    return Path(settings.VAR_DIR) / "understanding"


def current() -> str:
    """The name of the head in use; "" where there is none."""
    try:
        return (folder() / "current").read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def manifest_of(name: str) -> dict[str, Any]:
    """Raises ``HeadUnusable``."""
    try:
        manifest = json.loads((folder() / name / "manifest.json").read_text("utf-8"))
        if manifest["format"] != FORMAT:
            raise HeadUnusable("The trained classifier is of another version of this program.")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HeadUnusable("The trained classifier has no readable manifest.") from error
    return dict(manifest)


def load(name: str) -> Stored:
    """The head, once every byte of it and of its encoder is the one its manifest names.

    Raises ``HeadUnusable``.
    """
    if not name or "/" in name or name.startswith("."):
        raise HeadUnusable(
            "No classifier has been trained yet: run manage.py prepare_understanding."
        )
    manifest = manifest_of(name)
    try:
        content = (folder() / name / "head.npz").read_bytes()
        if heads.digest(content) != manifest["files"]["head.npz"]:
            raise HeadUnusable("The trained classifier's file is not the one that was written.")
        if encoder.fingerprint(encoder.folder()) != manifest["encoder"]:
            raise HeadUnusable("The classifier was trained for another sentence encoder.")
        return Stored(name, heads.unpack(content), manifest)
    except encoder.EncoderUnusable as error:
        raise HeadUnusable(str(error)) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HeadUnusable("The trained classifier cannot be read.") from error


def save(head: heads.Head, manifest: dict[str, Any]) -> str:
    """Write the head and make it the current one; its name."""
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    content = heads.pack(head)
    name = heads.digest(content + json.dumps(manifest, sort_keys=True).encode())[:16]
    whole = {"format": FORMAT, **manifest, "files": {"head.npz": heads.digest(content)}}
    if not (place / name).exists():
        written = Path(tempfile.mkdtemp(dir=place, prefix=".new."))
        written.chmod(0o755)
        (written / "head.npz").write_bytes(content)
        (written / "manifest.json").write_text(json.dumps(whole, indent=1), "utf-8")
        written.rename(place / name)
    partial = place / f".current.{os.getpid()}"
    partial.write_text(name, "ascii")
    partial.replace(place / "current")
    _forget_old(name)
    return name


def _forget_old(name: str) -> None:
    old = sorted(
        (entry for entry in folder().iterdir() if entry.is_dir() and entry.name != name),
        key=lambda entry: entry.stat().st_mtime,
        reverse=True,
    )
    for entry in old[_KEPT - 1 :]:
        shutil.rmtree(entry, ignore_errors=True)
