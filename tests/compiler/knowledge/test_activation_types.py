"""Which keys of a config name an activation function, and which names transformers knows."""

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.config_types import (
    find_refused,
    knows_activation,
    list_activation_keys,
)
from tests.compiler.knowledge.test_config_types import list_types, reach

TABLE = Path(__file__).parents[3] / "compiler/knowledge/architectures/activation_types.json"
#: As nearly all classes write it: the key of the config is looked up by one of two ways.
DIRECT = re.compile(r"(?:ACT2FN\[|get_activation\()(?:self\.)?config\.(\w+)[\])]")


def find_keys(kind: str, source: str) -> Iterator[str]:
    """Yield the keys of a class that hold a text and are looked up among the functions."""
    for key in sorted(set(DIRECT.findall(source))):
        if "i" in find_refused(kind, key):  # a text is asked for, so that a number is refused
            yield key


@pytest.mark.prove
def test_the_table_is_the_real_code(*, update_golden: bool) -> None:
    """By the source of each class."""
    transformers = pytest.importorskip("transformers")
    keys: dict[str, list[str]] = {}
    for kind, config in reach(list_types()).items():
        folder = Path(inspect.getfile(config)).parent
        source = "".join(path.read_text(encoding="utf-8") for path in folder.glob("modeling_*.py"))
        if found := list(find_keys(kind, source)):
            keys[kind] = found
    real = {
        "source": "activations.py and the modeling files of transformers 5.23.0",
        "functions": sorted(transformers.activations.ACT2FN),
        "keys": keys,
    }
    if update_golden:
        TABLE.write_text(json.dumps(real, indent=1) + "\n", encoding="utf-8")
    assert json.loads(TABLE.read_text(encoding="utf-8")) == real


@pytest.mark.prove
@pytest.mark.parametrize("kind", ["llama", "qwen3_moe", "gemma3_text", "gpt2", "phi", "falcon"])
def test_the_real_classes_agree(kind: str) -> None:
    """They stop at a name that transformers does not have, in each of the keys."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    sizes: dict[str, Any] = {"vocab_size": 64, "hidden_size": 64, "num_hidden_layers": 2}
    for key in list_activation_keys(kind):
        for name in ("silu", "swiglu"):
            config = transformers.AutoConfig.for_model(kind, num_attention_heads=4, **sizes)
            setattr(config, key, name)
            try:
                with torch.device("meta"):
                    transformers.AutoModelForCausalLM.from_config(config)
                stopped = False
            except KeyError:
                stopped = True
            assert stopped is not knows_activation(name), (kind, key, name)
