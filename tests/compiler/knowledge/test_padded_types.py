"""The classes that pass the padding token to their embedding, which then needs a row for it."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.config_types import pads_embedding
from tests.compiler.knowledge.test_config_types import list_types, reach

TABLE = Path(__file__).parents[3] / "compiler/knowledge/architectures/padded_types.json"
#: As nearly all classes write it, over one line or several.
DIRECT = r"(?:padding_idx\s*=\s*)?config\.pad_token_id"
NAMED = re.compile(r"Embedding\(\s*config\.vocab_size,[^()]*self\.padding_idx[,\s]")
NAMES = re.compile(r"self\.padding_idx\s*=\s*config\.pad_token_id")
PADDED = re.compile(rf"Embedding\(\s*config\.vocab_size,[^()]*\b{DIRECT}\s*\)")


def pads(source: str) -> bool:
    """Return whether a class gives the padding token to its embedding."""
    named = NAMED.search(source.replace(")", " )")) is not None and NAMES.search(source) is not None
    return named or PADDED.search(source) is not None


@pytest.mark.prove
def test_the_table_is_the_real_code(*, update_golden: bool) -> None:
    """By the source of each class."""
    kinds = []
    for kind, config in reach(list_types()).items():
        folder = Path(inspect.getfile(config)).parent
        source = "".join(path.read_text(encoding="utf-8") for path in folder.glob("modeling_*.py"))
        if pads(source):
            kinds.append(kind)
    real = {"source": "modeling files of transformers 5.23.0", "types": kinds}
    if update_golden:
        TABLE.write_text(json.dumps(real, indent=1) + "\n", encoding="utf-8")
    assert json.loads(TABLE.read_text(encoding="utf-8")) == real


@pytest.mark.prove
@pytest.mark.parametrize(
    "kind",
    ["llama", "qwen3", "mistral", "phi3", "gemma3_text", "olmo2", "gpt2", "gpt_neox", "bloom"],
)
def test_the_real_classes_agree(kind: str) -> None:
    """They stop at a padding token outside of the vocabulary, or do not look at it."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    sizes: dict[str, Any] = {"vocab_size": 64, "hidden_size": 64, "num_hidden_layers": 2}
    config = transformers.AutoConfig.for_model(kind, num_attention_heads=4, **sizes)
    config.pad_token_id = 64
    try:
        with torch.device("meta"):
            transformers.AutoModelForCausalLM.from_config(config)
        stopped = False
    except AssertionError:
        stopped = True
    assert stopped is pads_embedding(kind)
