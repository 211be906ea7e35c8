"""Shared by the tests of resolve: specs through the real entry point, small models, a local hub."""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from ftc.spec.load import load_document
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document
from ftc.spec.validate import validate

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ '<|' + m.role + '|>' + m.content | trim }}"
    "{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 320,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}

MakeSpec = Callable[..., Spec]


@pytest.fixture
def make_spec(tmp_path: Path) -> MakeSpec:
    """Return a function that writes a spec beside the data and reads it as ftc does."""

    def make(**sections: Any) -> Spec:
        data = {"name": "x", "model": "./model", "data": "data.csv", "hardware": "cpu", **sections}
        path = tmp_path / "spec.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        document = load_document(str(path))
        assert isinstance(document, Document), document
        spec = validate(document)
        assert isinstance(spec, Spec), spec
        return spec

    return make


@pytest.fixture(scope="session")
def tokenizer_json() -> str:
    """Train a byte-level BPE on a few sentences."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<unk>", "<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["where is my card", "the card has not arrived"] * 9, trainer)
    return tokenizer.to_str()


@pytest.fixture
def model_files(tokenizer_json: str) -> dict[str, bytes]:
    """Return the small files of a model, as a repository of the Hub holds them."""
    tokenizer_config = {
        "bos_token": "<s>",
        "eos_token": {"__type": "AddedToken", "content": "</s>", "lstrip": False},
        "unk_token": "<unk>",
        "pad_token": None,
        "chat_template": TEMPLATE,
    }
    return {
        "config.json": json.dumps(CONFIG).encode(),
        "tokenizer.json": tokenizer_json.encode(),
        "tokenizer_config.json": json.dumps(tokenizer_config).encode(),
    }


@pytest.fixture
def model_folder(tmp_path: Path, model_files: dict[str, bytes]) -> Path:
    """Write the model's files to the folder `model` beside the spec."""
    folder = tmp_path / "model"
    folder.mkdir()
    for name, data in model_files.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Run a local hub with an empty cache, and point the Hub's variables at them."""
    module = _load("local_hub")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    for name in ("HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with module.serve() as served:
        monkeypatch.setenv("HF_ENDPOINT", served.endpoint)
        yield served


def _load(name: str) -> Any:
    """Import a module of this folder by its path: tests are no package."""
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"resolve_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
