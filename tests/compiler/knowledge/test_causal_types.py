"""The table of causal types is the registry of the pinned transformers."""

import ast
import inspect
import json
import textwrap
from importlib import import_module
from pathlib import Path

import pytest

from ftc.compiler.knowledge.architectures.causal_types import (
    has_causal_class,
    has_renamed_tensors,
    reads_ahead,
    reads_tokens,
)
from ftc.compiler.knowledge.architectures.derived import encoder_table

TABLE = Path(__file__).parents[3] / "compiler/knowledge/architectures/causal_types.json"

#: Miniatures of the classes without an entry in the table of architectures: those that have one are
#: trained in rehearsals, or built as decoders.
SMALL: dict[str, dict[str, int]] = {
    "cpmant": {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 2, "dim_ff": 64},
    "git": {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 2},
    "trocr": {"decoder_layers": 2, "d_model": 64, "decoder_attention_heads": 2},
    "xlm": {"n_layers": 2, "emb_dim": 64, "n_heads": 2},
    "xlnet": {"n_layer": 2, "d_model": 64, "n_head": 2, "d_inner": 64},
}


def test_the_table_is_the_real_registry(*, update_golden: bool) -> None:
    """Every type that has both a config and a causal class."""
    auto = pytest.importorskip("transformers.models.auto")
    causal = auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    configs = auto.configuration_auto.CONFIG_MAPPING_NAMES
    read = causal | {entry["model_type"]: name for name, entry in encoder_table().items()}
    real = {
        "source": "transformers 5.23.0, models/auto/modeling_auto.py and configuration_auto.py",
        "types": sorted(set(causal) & set(configs)),
        "tokenless": sorted(kind for kind, name in causal.items() if not names_tokens(name)),
        "ahead": sorted(filter(looks_ahead, SMALL)),
        "renamed": sorted(kind for kind, name in read.items() if has_renames(kind, name)),
    }
    if update_golden:
        TABLE.write_text(json.dumps(real, indent=1) + "\n", encoding="utf-8")
    assert json.loads(TABLE.read_text(encoding="utf-8")) == real


def looks_ahead(kind: str) -> bool:
    """Return whether the last token changes the predictions for earlier tokens, in a miniature."""
    torch = pytest.importorskip("torch")
    transformers = import_module("transformers")
    torch.manual_seed(1)
    config = transformers.AutoConfig.for_model(kind, vocab_size=100, **SMALL[kind])
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    row = torch.arange(5, 25)[None]
    other = row.clone()
    other[0, -1] = 50
    with torch.no_grad():
        first, second = model(input_ids=row).logits, model(input_ids=other).logits
    return bool((first[0, :-2] - second[0, :-2]).abs().max() > 1e-5)


def has_renames(kind: str, name: str) -> bool:
    """Return whether transformers renames tensors of a class as it loads them, beyond their layers.

    A `WeightConverter` joins or splits tensors of the layers and leaves the names around them.
    """
    mapping = import_module("transformers.conversion_mapping").get_checkpoint_conversion_mapping
    joins = import_module("transformers.core_model_loading").WeightConverter
    found = [*(mapping(kind) or ()), *(mapping(name) or ())]
    return any(not isinstance(each, joins) for each in found)


def names_tokens(name: str) -> bool:
    """Return whether the code of a class's forward pass has the name of its tokens."""
    forward = getattr(import_module("transformers"), name).forward
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(forward))))
    return any(isinstance(node, ast.Name) and node.id == "input_ids" for node in ast.walk(tree))


def test_a_drafting_model_reads_no_tokens() -> None:
    """Its class ignores `input_ids`; all others of the registry read them."""
    assert not reads_tokens("gemma4_assistant")
    assert all(map(reads_tokens, ("gemma4", "qwen2", "novel", None)))


def test_a_class_may_read_ahead() -> None:
    """XLNet is trained to predict tokens in any order, from all others."""
    assert all(map(reads_ahead, ("xlnet", "xlm", "cpmant")))
    assert not any(map(reads_ahead, ("git", "qwen3", None)))


def test_some_types_have_weights_of_other_names() -> None:
    """Nemotron-H is published with `backbone.` in the place of `model.`, so is Nomic's encoder."""
    assert all(map(has_renamed_tensors, ("nemotron_h", "nomic_bert")))
    assert not any(map(has_renamed_tensors, ("qwen3", "llama", "xlm-roberta", "novel")))


def test_types_of_other_classes_are_none() -> None:
    """A causal type is found; an encoder, an invented name and an empty one are not."""
    assert has_causal_class("qwen2")
    assert not any(has_causal_class(name) for name in ("t5", "novel", ""))
