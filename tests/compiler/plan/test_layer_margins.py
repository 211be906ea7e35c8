"""The margins of the kinds of layers, against traces of the real classes."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.derived import derived_table, read_entry
from ftc.compiler.plan.memory.activations import mean_layer_bytes

ROOT = Path(__file__).parents[3]
MARGINS = ROOT / "compiler/plan/memory/layer_margins.json"
SAMPLE = ("CwmForCausalLM", "Lfm2ForCausalLM", "Qwen3_5ForCausalLM")
#: Qwen3.5-4B as published, but for the number of layers and the rows of the embedding.
REAL = {
    "attention_bias": False,
    "full_attention_interval": 4,
    "head_dim": 256,
    "hidden_size": 2560,
    "intermediate_size": 9216,
    "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"],
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_value_head_dim": 128,
    "num_attention_heads": 16,
    "num_hidden_layers": 4,
    "num_key_value_heads": 4,
    "tie_word_embeddings": True,
    "vocab_size": 512,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
pytestmark = [pytest.mark.prove, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give the script that writes the table."""
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return import_module("layer_margins")


@pytest.mark.parametrize("name", SAMPLE)
def test_the_table_is_what_a_trace_gives(name: str, traces: Any) -> None:
    """Traced again, a class has the same margins for each kind of layer."""
    bases = json.loads((ROOT / ".ci/architecture_bases.json").read_text(encoding="utf-8"))
    assert traces.trace(name, bases[name]) == json.loads(MARGINS.read_bytes())[name]


def test_kinds_of_one_name_have_one_margin(traces: Any) -> None:
    """Layers of one mixer and MLP but of two sizes count together, as two margins."""
    saved = [9.0, 3.0, 5.0, 4.0]
    assert traces._most(["a/dense", "a/dense", "b/dense", "b/dense"], saved) == {
        "a/dense": 3.0,
        "b/dense": 5.0,
    }
    name = "LagunaForCausalLM"
    bases = json.loads((ROOT / ".ci/architecture_bases.json").read_text(encoding="utf-8"))
    given = traces.miniature(bases[name])
    heads = given["num_attention_heads"]
    given["num_attention_heads_per_layer"] = [heads, 2 * heads] * 3
    assert {len(margins) for margins in traces.trace(name, bases[name], given).values()} == {2}


@pytest.mark.parametrize("weights", ["full", "frozen"])
def test_the_sum_fits_a_class_at_its_real_width(weights: str, traces: Any) -> None:
    """The layers of Qwen3.5-4B keep what is planned, within a twentieth."""
    transformers: Any = import_module("transformers")
    name = "Qwen3_5ForCausalLM"
    shape = read_entry(name, derived_table()[name], REAL)
    assert shape is not None
    config = transformers.AutoConfig.for_model("qwen3_5_text", **REAL)
    kept = sum(traces.saved_bytes(name, config, weights, shape.layers))
    planned = shape.layers * mean_layer_bytes(traces.make_job(shape, weights))
    assert planned == pytest.approx(kept, rel=0.05)
