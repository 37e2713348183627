"""The simulated engine's tokenizer: byte-level BPE, trained on the project's own texts.

It needs no network and no torch, and it behaves like a real model's: several characters a token,
ChatML's special tokens, any text in and the same text out.
"""

import json
from collections.abc import Iterator
from pathlib import Path

VOCABULARY = 6000
END_OF_TEXT, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"

CHAT_TEMPLATE = """\
{%- for message in messages %}
{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

#: Folders and files whose texts are the corpus, and the endings that count.
CORPUS = ("assistant", "orders", "inference", "quickbite_support", "templates", "requirements.txt")
ENDINGS = {".py", ".html", ".md", ".txt", ".json", ".js", ".css"}


def corpus(repository: Path) -> Iterator[str]:
    """The project's texts, in a fixed order, so that the same sources give the same tokenizer."""
    for name in CORPUS:
        top = repository / name
        files = sorted(top.rglob("*")) if top.is_dir() else [top]
        for file in files:
            if file.suffix in ENDINGS and file.is_file():
                yield file.read_text(encoding="utf-8", errors="replace")


def write_tokenizer(texts: Iterator[str], folder: Path) -> None:
    """Train on ``texts`` and write tokenizer, its config and the chat template to ``folder``."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END_OF_TEXT, TURN_START, TURN_END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": TURN_START,
        "eos_token": TURN_END,
        "pad_token": END_OF_TEXT,
        "add_bos_token": False,
        "chat_template": CHAT_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")
