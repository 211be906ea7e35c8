"""Folders of small models without weights, and tables beside them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tokenizers import Tokenizer

from tests.tiny_tokenizers import sentencepiece_tokenizer

CONFIG: Final = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "bos_token_id": 1,
    "eos_token_id": 2,
}
TEMPLATE: Final = (
    "{{ bos_token }}{% for m in messages %}{{ '<' + m.role + '>' + m.content | trim }}"
    "{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)


def write_model(folder: Path, *, rows: int = 0, added: Sequence[str] = ()) -> Path:
    """Write a config and a tokenizer that llama.cpp reads; `rows` more embeddings than tokens."""
    sentencepiece_tokenizer(folder, added=added)
    add_to(folder / "tokenizer_config.json", chat_template=TEMPLATE)
    tokens = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
    config = {**CONFIG, "vocab_size": tokens + rows}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def write_rows(folder: Path, *, words: int = 3) -> Path:
    """Write `tickets.csv`: 300 prompts of so many words more than a few, and four answers."""
    answers = ("refund", "delivery", "password", "invoice")
    more = " ".join(["parcel"] * words)
    rows = [f"where is order {n} {more}?,{answers[n % 4]}" for n in range(300)]
    path = folder / "tickets.csv"
    path.write_text("\n".join(["prompt,completion", *rows]) + "\n", encoding="utf-8")
    return path


def add_to(path: Path, **keys: Any) -> None:
    """Set keys of a JSON file."""
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(data | keys), encoding="utf-8")
