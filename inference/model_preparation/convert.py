"""Turn a GGUF file into a safetensors checkpoint: ``python -m … convert GGUF FOLDER``.

A process of its own: it holds several GB for half a minute and imports torch and transformers,
neither of which the process that asked for it should keep.
"""

import sys
from pathlib import Path


def convert(gguf: Path, folder: Path) -> None:
    """Write weights (dequantised, bfloat16), config, tokenizer and chat template to ``folder``."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    if not tokenizer.chat_template:
        raise SystemExit("The file has no chat template.")
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent,
        gguf_file=gguf.name,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
