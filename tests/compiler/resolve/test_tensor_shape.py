"""A model that no table describes is planned from the names and sides of its tensors."""

import json
import struct
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.derived import UNLIMITED_TOKENS
from ftc.compiler.plan.memory.peak import shape_of
from ftc.compiler.plan.method.adapter import attention_modules, expert_module_parameters
from ftc.compiler.resolve.facts import ModelFacts, Unknown
from ftc.compiler.resolve.model.config import Config
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.model.weight_files.tensor_shape import read_tensors

ROOT = Path(__file__).parents[3]
HIDDEN, VOCABULARY = 8, 100
SAMPLE = ("JambaForCausalLM", "LlamaForCausalLM", "Qwen3MoeForCausalLM", "Qwen3NextForCausalLM")


def make_config(**keys: Any) -> Config:
    """Return the config of a class that is in no table."""
    return Config(
        data=keys,
        sha256="",
        architecture="NovelForCausalLM",
        model_type="novel",
        shape=None,
        context_tokens=512,
        embedding_rows=VOCABULARY,
        dtype=None,
        quantized=None,
        custom_code=False,
    )


def make_dense(number: int) -> dict[str, tuple[int, ...]]:
    """Return the tensors of a layer with attention, grouped keys and a gated MLP."""
    layer = f"net.blocks.{number}"
    return {
        f"{layer}.attn.q_proj.weight": (HIDDEN, HIDDEN),
        f"{layer}.attn.k_proj.weight": (4, HIDDEN),
        f"{layer}.attn.v_proj.weight": (4, HIDDEN),
        f"{layer}.attn.o_proj.weight": (HIDDEN, HIDDEN),
        f"{layer}.mlp.gate_proj.weight": (24, HIDDEN),
        f"{layer}.mlp.up_proj.weight": (24, HIDDEN),
        f"{layer}.mlp.down_proj.weight": (HIDDEN, 24),
        f"{layer}.norm.weight": (HIDDEN,),
    }


def make_sparse(number: int, *, fused: bool) -> dict[str, tuple[int, ...]]:
    """Return the tensors of a layer with three experts: fused, or each by itself."""
    layer = f"net.blocks.{number}"
    kept = {name: sides for name, sides in make_dense(number).items() if ".mlp." not in name}
    kept[f"{layer}.mlp.gate.weight"] = (3, HIDDEN)
    if fused:
        kept[f"{layer}.mlp.experts.gate_up_proj"] = (3, 12, HIDDEN)
        kept[f"{layer}.mlp.experts.down_proj"] = (3, HIDDEN, 6)
        return kept
    for expert in range(3):
        name = f"{layer}.mlp.experts.{expert}"
        kept[f"{name}.gate_proj.weight"] = kept[f"{name}.up_proj.weight"] = (6, HIDDEN)
        kept[f"{name}.down_proj.weight"] = (HIDDEN, 6)
    return kept


def make_state(number: int) -> dict[str, tuple[int, ...]]:
    """Return the tensors of a layer with a state space and no attention."""
    layer = f"net.blocks.{number}"
    return {
        f"{layer}.mixer.A_log": (4,),
        f"{layer}.mixer.conv1d.weight": (16, 1, 4),
        f"{layer}.mixer.in_proj.weight": (40, HIDDEN),
        f"{layer}.mixer.out_proj.weight": (HIDDEN, 16),
        f"{layer}.norm.weight": (HIDDEN,),
    }


OUTSIDE = {"net.embed.weight": (VOCABULARY, HIDDEN), "net.norm.weight": (HIDDEN,)}
HEAD = {"lm_head.weight": (VOCABULARY, HIDDEN)}


def test_equal_layers() -> None:
    """The layers, their modules, the token table and the head are told apart."""
    tensors = {**OUTSIDE, **HEAD, **make_dense(0), **make_dense(1)}
    shape = read_tensors(make_config(num_attention_heads=4, num_key_value_heads=2), tensors)
    assert shape is not None
    assert (shape.layers, shape.hidden, shape.vocab, shape.tied) == (2, HIDDEN, VOCABULARY, False)
    assert (shape.heads, shape.kv_heads, shape.head_dim, shape.intermediate) == (4, 2, 2, 24)
    assert shape.kinds == ()
    assert sorted(shape.linear_shapes) == [
        *("down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"),
    ]
    assert {linear.count for linear in shape.linear_shapes.values()} == {2}
    layer = 2 * HIDDEN * HIDDEN + 2 * 4 * HIDDEN + 3 * 24 * HIDDEN
    assert shape.linear_parameters == 2 * layer
    assert shape.parameters == 2 * (layer + HIDDEN) + 2 * VOCABULARY * HIDDEN + HIDDEN


def test_layers_that_predict_more_tokens_are_left_out() -> None:
    """Layers beyond those that the config counts are not loaded, and not planned."""
    tensors = {**OUTSIDE, **make_dense(0), **make_dense(1), **make_dense(2)}
    shape = read_tensors(make_config(num_hidden_layers=2), tensors)
    assert shape is not None
    assert (shape.layers, shape.tied) == (2, True)


@pytest.mark.parametrize("fused", [False, True])
def test_experts(*, fused: bool) -> None:
    """Experts count the same fused or one by one; their router is no linear module."""
    tensors = {**OUTSIDE, **make_dense(0), **make_sparse(1, fused=fused)}
    shape = read_tensors(make_config(num_experts_per_tok=2), tensors)
    assert shape is not None
    assert (shape.experts, shape.experts_per_token, shape.expert_intermediate) == (3, 2, 6)
    assert shape.expert_parameters == 3 * (3 * 6 * HIDDEN) + 3 * HIDDEN
    assert [kind.mlp for kind in shape.kinds] == ["dense", "sparse"]
    assert shape.order == (0, 1)
    assert shape.linear_shapes["q_proj"].count == 2
    assert shape.linear_shapes["down_proj"].count == 1


def test_experts_under_each_other() -> None:
    """A matrix of all experts is no dense module: the config says how many it holds (Dbrx)."""
    tensors = {**OUTSIDE, **make_sparse(0, fused=True)}
    del tensors["net.blocks.0.mlp.experts.gate_up_proj"]
    for name in ("w1", "v1", "w2"):
        tensors[f"net.blocks.0.mlp.experts.{name}"] = (3 * 6, HIDDEN)
    del tensors["net.blocks.0.mlp.experts.down_proj"]
    config = make_config(ffn_config={"moe_num_experts": 3, "moe_top_k": 2})
    shape = read_tensors(config, tensors)
    assert shape is not None
    assert (shape.experts, shape.expert_intermediate, shape.experts_per_token) == (3, 6, 2)
    assert shape.expert_parameters == 3 * (3 * 6 * HIDDEN) + 3 * HIDDEN
    assert set(shape.linear_shapes) == {"q_proj", "k_proj", "v_proj", "o_proj"}


def test_two_equal_stacks() -> None:
    """Layers in two lists count as one list after the other."""
    first = make_dense(0) | make_dense(1)
    second = {name.replace("net.blocks", "net.more"): sides for name, sides in first.items()}
    shape = read_tensors(make_config(), {**OUTSIDE, **first, **second})
    assert shape is not None
    assert (shape.layers, shape.linear_shapes["q_proj"].count) == (4, 4)
    assert shape.parameters == sum(map(prod, ({**OUTSIDE, **first, **second}).values()))


def test_attention_by_the_place_of_a_module() -> None:
    """`targets: "attention"` finds the modules of attention blocks, and none in a state space."""
    shape = read_tensors(make_config(), {**OUTSIDE, **make_state(0), **make_dense(1)})
    assert shape is not None
    assert attention_modules(shape) == ("q_proj", "k_proj", "v_proj", "o_proj")
    shape = read_tensors(make_config(), {**OUTSIDE, **make_state(0)})
    assert shape is not None
    assert attention_modules(shape) == ()


def test_a_state_space() -> None:
    """A layer with a state is told from one with attention."""
    tensors = {**OUTSIDE, **make_state(0), **make_state(1), **make_dense(2)}
    shape = read_tensors(make_config(), tensors)
    assert shape is not None
    assert [(kind.mixer, kind.count) for kind in shape.kinds] == [
        ("state_space", 2),
        ("full_attention", 1),
    ]
    assert (shape.recurrent_layers(), shape.attention_layers()) == (2, 1)


@pytest.mark.parametrize(
    "tensors",
    [{}, {"weight": (3, 3)}, make_dense(0), {**make_dense(0), "net.embed.weight": (7, HIDDEN)}],
)
def test_no_shape_without_layers_and_a_token_table(tensors: dict[str, tuple[int, ...]]) -> None:
    """What cannot be told is None, and the plan's stand-in takes its place."""
    assert read_tensors(make_config(), tensors) is None


def write_headers(folder: Path, tensors: dict[str, tuple[int, ...]]) -> bytes:
    """Write a safetensors file with these tensors; return its bytes."""
    header, size = {}, 0
    for name, sides in tensors.items():
        width = 2
        for side in sides:
            width *= side
        header[name] = {"dtype": "BF16", "shape": sides, "data_offsets": [size, size + width]}
        size += width
    text = json.dumps(header).encode()
    data = struct.pack("<Q", len(text)) + text + bytes(size)
    folder.mkdir(exist_ok=True)
    (folder / "model.safetensors").write_bytes(data)
    return data


NOVEL = {
    "architectures": ["NovelForCausalLM"],
    "model_type": "novel",
    "vocab_size": VOCABULARY,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "max_position_embeddings": 512,
}
TENSORS = {**OUTSIDE, **make_dense(0), **make_dense(1)}


def test_a_folder_is_planned_from_its_headers(make_spec: Any, model_folder: Path) -> None:
    """The plan's shape is that of the tensors, with the parameters that the headers count."""
    (model_folder / "config.json").write_text(json.dumps(NOVEL), encoding="utf-8")
    write_headers(model_folder, TENSORS)
    facts = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(facts, ModelFacts), facts
    assert facts.shape is None
    assert (shape_of(facts).layers, shape_of(facts).hidden) == (2, HIDDEN)
    stand_in = shape_of(replace(facts, tensor_shape=None))
    assert stand_in.linear_shapes == {}


def test_a_context_that_no_config_limits(make_spec: Any, model_folder: Path) -> None:
    """A model such as xLSTM says no context, and needs none: no layer compares positions."""
    config = {key: value for key, value in NOVEL.items() if key != "max_position_embeddings"}
    (model_folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (model_folder / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    state = {
        "net.blocks.0.mlstm_layer.q.weight": (HIDDEN, HIDDEN),
        "net.blocks.0.mlstm_layer.igate_preact.weight": (2, HIDDEN),
    }
    write_headers(model_folder, {**OUTSIDE, **state})
    facts = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(facts, ModelFacts), facts
    assert facts.context_tokens == shape_of(facts).context_tokens == UNLIMITED_TOKENS
    assert shape_of(facts).recurrent_layers() == 1
    write_headers(model_folder, TENSORS)
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown)
    assert found.finding.code == "FTC102"


def test_the_hub_gives_headers_by_range_requests(
    make_spec: Any, tmp_path: Path, hub: Any, model_files: dict[str, bytes]
) -> None:
    """The headers come over the network once, then from the cache; the weights never do."""
    weights = write_headers(tmp_path / "made", TENSORS | {"net.ballast.weight": (3000, 900)})
    files = model_files | {
        "config.json": json.dumps(NOVEL).encode(),
        "model.safetensors": weights,
    }
    hub.add("models/owner/novel", files)
    spec = make_spec(model="owner/novel")
    facts = resolve_model(spec, folder=tmp_path)
    assert isinstance(facts, ModelFacts), facts
    assert facts.tensor_shape is not None
    assert facts.tensor_shape.layers == 2
    assert hub.served_bytes < len(weights) / 10
    count = sum("model.safetensors" in request for request in hub.requests)
    assert count > 0
    assert resolve_model(spec, folder=tmp_path) == facts
    assert sum("model.safetensors" in request for request in hub.requests) == count


def test_headers_that_the_hub_cannot_give(
    make_spec: Any, tmp_path: Path, hub: Any, model_files: dict[str, bytes]
) -> None:
    """A file that is no safetensors file leaves the stand-in, and no traceback."""
    files = model_files | {
        "config.json": json.dumps(NOVEL).encode(),
        "model.safetensors": b"\xff" * 400,
    }
    hub.add("models/owner/novel", files, safetensors={"parameters": {"BF16": 800}, "total": 800})
    facts = resolve_model(make_spec(model="owner/novel"), folder=tmp_path)
    assert isinstance(facts, ModelFacts), facts
    assert (facts.tensor_shape, facts.parameters) == (None, 800)


@pytest.mark.prove
@pytest.mark.parametrize("name", SAMPLE)
def test_real_classes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tensors of a real class, built on the meta device, give the shape of the table."""
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.tensor_shapes import compare, read_configs  # noqa: PLC0415 - it needs torch

    found = compare(read_configs()[name])
    for part in ("parameters", "layers", "hidden", "embedding_parameters", "head_parameters"):
        assert getattr(found.tensors, part) == getattr(found.table, part), part
    assert found.tensors.linear_parameters == pytest.approx(found.table.linear_parameters, rel=0.02)
    assert found.tensors.experts == found.table.experts
    assert found.tensors.recurrent_layers() == found.table.recurrent_layers()
    assert min(found.full, found.frozen) >= 1


def outside() -> dict[str, tuple[int, ...]]:
    """Return a token table and a last norm."""
    return {"net.tok.weight": (VOCABULARY, HIDDEN), "net.norm.weight": (HIDDEN,)}


def test_joint_projections_say_the_key_heads_and_the_gate() -> None:
    """One matrix of queries, keys and values, and one of a gate beside what it multiplies."""
    layers = {
        f"net.blocks.{number}.{name}.weight": sides
        for number in range(2)
        for name, sides in {
            "mix.wqkv": (HIDDEN + 2 * 2, HIDDEN),
            "mix.out": (HIDDEN, HIDDEN),
            "ff.up": (48, HIDDEN),
            "ff.down": (HIDDEN, 24),
        }.items()
    }
    shape = read_tensors(make_config(n_heads=4), {**outside(), **layers})
    assert shape is not None
    assert (shape.heads, shape.kv_heads, shape.head_dim) == (4, 1, 2)
    assert (shape.gated_mlp, shape.intermediate) == (True, 24)


def test_a_bias_tells_which_side_is_the_outputs() -> None:
    """A `Conv1D` stores its inputs first."""
    layers = {
        f"h.{number}.{name}": sides
        for number in range(2)
        for name, sides in {
            "attn.c_attn.weight": (HIDDEN, 3 * HIDDEN),
            "attn.c_attn.bias": (3 * HIDDEN,),
            "attn.c_proj.weight": (HIDDEN, HIDDEN),
            "attn.c_proj.bias": (HIDDEN,),
        }.items()
    }
    shape = read_tensors(make_config(n_head=4), {**outside(), **layers})
    assert shape is not None
    joint = shape.linear_shapes["c_attn"]
    assert (joint.in_features, joint.out_features) == (HIDDEN, 3 * HIDDEN)
    assert shape.kv_heads == 4


def test_stacked_experts_are_told_by_their_number() -> None:
    """A tensor with a matrix for each expert of the config needs no name that says so."""
    layers: dict[str, tuple[int, ...]] = {}
    for number in range(2):
        layer = make_sparse(number, fused=True)
        layers |= {name.replace(".experts.", ".pool."): sides for name, sides in layer.items()}
    tensors = {**outside(), **layers}
    shape = read_tensors(make_config(num_experts=3, num_experts_per_tok=2), tensors)
    assert shape is not None
    assert (shape.experts, shape.experts_per_token, shape.expert_intermediate) == (3, 2, 6)
    assert not shape.expert_modules
    unsaid = read_tensors(make_config(), tensors)
    assert unsaid is not None
    assert unsaid.experts == 0
    assert unsaid.parameters == shape.parameters


def test_experts_of_own_code_are_modules() -> None:
    """PEFT's `all-linear` adapts each of them, and bitsandbytes quantizes each of them."""
    layers = make_sparse(0, fused=False) | make_sparse(1, fused=False)
    tensors = {**outside(), **layers}
    own = read_tensors(replace(make_config(), custom_code=True), tensors)
    joined = read_tensors(make_config(), tensors)
    assert own is not None
    assert joined is not None
    assert sorted(own.expert_modules) == [(6, HIDDEN), (6, HIDDEN), (HIDDEN, 6)]
    assert joined.expert_modules == ()
    assert expert_module_parameters(own, 2) == 2 * 3 * 2 * 3 * (6 + HIDDEN)
    assert expert_module_parameters(joined, 2) == 0
