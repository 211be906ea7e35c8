"""A model's folder without weights: config and tokenizer."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

CONFIG: Mapping[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "vocab_size": 1024,
    "torch_dtype": "bfloat16",
}
TEMPLATE = "{% for m in messages %}{{ m['role'] }} {{ m['content'] }}</s>{% endfor %}"

SpecMaker = Callable[..., Path]


@pytest.fixture
def make_spec(tmp_path: Path) -> SpecMaker:
    """Return a function that writes a spec with such a folder and 200 short rows."""

    def make(**sections: Any) -> Path:
        model = tmp_path / "model"
        model.mkdir()
        (model / "config.json").write_text(json.dumps(CONFIG))
        words = {word: number for number, word in enumerate(("<unk>", "</s>", "where", "order"))}
        tokenizer = Tokenizer(WordLevel(words, unk_token="<unk>"))
        tokenizer.pre_tokenizer = Whitespace()
        tokenizer.save(str(model / "tokenizer.json"))
        settings = {"eos_token": "</s>", "unk_token": "<unk>", "chat_template": TEMPLATE}
        (model / "tokenizer_config.json").write_text(json.dumps(settings))
        rows = [f"where is order {n},{('refund', 'delivery')[n % 2]}" for n in range(200)]
        (tmp_path / "tickets.csv").write_text("\n".join(["prompt,completion", *rows]) + "\n")
        spec = {
            "name": "triage",
            "model": "./model",
            "data": "tickets.csv",
            "method": "lora",
            "hardware": "1x A100-80GB",
            **sections,
        }
        path = tmp_path / "spec.json"
        path.write_text(json.dumps(spec))
        return path

    return make
