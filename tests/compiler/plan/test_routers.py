"""The modules that choose among experts get no adapter unless the spec names them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.knowledge.architectures.derived import derived_table, read_entry
from ftc.compiler.knowledge.architectures.module_names import find_module_names
from ftc.compiler.knowledge.architectures.shape import Shape, is_router
from ftc.compiler.plan.method.adapter import decide_adapter
from tests.compiler.conftest import BuildKnown

CASES: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[1] / "knowledge/derived_cases.json").read_text(encoding="utf-8")
)
CHOOSES = re.compile(r".*\b(gate|router)\b.*")


def sparse_shapes() -> dict[str, Shape]:
    """Return a model with experts of each class that has linear modules among its routers."""
    shapes = {name: read_shape(rows[0]["config"]) for name, rows in CASES.items()}
    return {
        name: shape
        for name, shape in shapes.items()
        if shape is not None and shape.experts and routers_of(shape)
    }


def routers_of(shape: Shape) -> list[str]:
    """Return the targets whose module is, or is inside, a `gate` or a `router`."""
    names = find_module_names(shape.architecture)
    assert names is not None
    return [key for key in shape.linear_shapes if CHOOSES.fullmatch(names.linears[key])]


SPARSE = sparse_shapes()


def test_several_classes_have_linear_routers() -> None:
    """The routers of other classes are parameters rather than modules, so LoRA skips them."""
    assert {"DbrxForCausalLM", "Gemma4ForCausalLM", "HunYuanMoEV1ForCausalLM"} <= SPARSE.keys()


@pytest.mark.parametrize("name", sorted(SPARSE))
@pytest.mark.parametrize("targets", ["auto", "attention"])
def test_no_router_is_a_target(build_known: BuildKnown, name: str, targets: str) -> None:
    """The defaults leave routers out, and the reason says so."""
    shape = SPARSE[name]
    spec, *_ = build_known({"/spec/method/targets": targets})
    adapter = decide_adapter(spec, shape)
    assert adapter is not None
    assert not {*adapter.targets.value} & {*routers_of(shape)}
    assert adapter.targets.value
    if targets == "auto" and adapter.targets.because.key != "lora_targets.apart":
        assert adapter.targets.because.key in ("lora_targets.routers", "lora_targets.narrow")


@pytest.mark.parametrize("name", ["Qwen2MoeForCausalLM", "Qwen3NextForCausalLM"])
def test_no_gate_with_one_output_is_a_target(build_known: BuildKnown, name: str) -> None:
    """An adapter on the gate of the shared expert would be larger than the gate."""
    shape = read_shape(CASES[name][0]["config"])
    assert shape is not None
    assert shape.linear_shapes["shared_expert_gate"].out_features == 1
    spec, *_ = build_known({"/spec/method/targets": "auto"})
    adapter = decide_adapter(spec, shape)
    assert adapter is not None
    assert "shared_expert_gate" not in adapter.targets.value
    assert adapter.targets.because.key in ("lora_targets.narrow", "lora_targets.apart")
    named, *_ = build_known({"/spec/method/targets": ("shared_expert_gate",)})
    adapter = decide_adapter(named, shape)
    assert adapter is not None
    assert adapter.modules == ("shared_expert_gate",)


@pytest.mark.parametrize(
    ("name", "narrow"),
    [
        (
            "Gemma3nForCausalLM",
            {"correction_coefs", "prediction_coefs", "modality_router", "linear_left"},
        ),
        ("Qwen3_5ForCausalLM", {"in_proj_a", "in_proj_b"}),
        ("Step3p7ForConditionalGeneration", {"g_proj"}),
        ("xLSTMForCausalLM", {"igate_preact", "fgate_preact"}),
    ],
)
def test_no_module_narrower_than_a_head_is_a_target(
    build_known: BuildKnown, name: str, narrow: set[str]
) -> None:
    """They weigh heads, streams or experts with single numbers, or are of a low rank already."""
    entry = derived_table()[name]
    shape = read_entry(name, entry, {})
    assert shape is not None
    assert narrow <= shape.linear_shapes.keys()
    spec, *_ = build_known({"/spec/method/targets": "auto"})
    adapter = decide_adapter(spec, shape)
    assert adapter is not None
    assert not narrow & {*adapter.targets.value}
    assert {"q_proj", "q", "in_proj_qkv"} & {*adapter.targets.value}
    assert adapter.targets.because.key == "lora_targets.narrow"


@pytest.mark.parametrize("name", ["DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM"])
def test_no_module_without_gradients_is_a_target(build_known: BuildKnown, name: str) -> None:
    """The indexer of sparse attention runs without gradients: its adapter would never change."""
    shape = read_entry(name, derived_table()[name], {})
    assert shape is not None
    indexer = {"wq_b", "wk", "weights_proj"}
    assert indexer <= shape.linear_shapes.keys()
    spec, *_ = build_known({"/spec/method/targets": "auto"})
    adapter = decide_adapter(spec, shape)
    assert adapter is not None
    assert not indexer & {*adapter.targets.value}
    assert "q_b_proj" in adapter.targets.value


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_class_has_targets(build_known: BuildKnown, name: str) -> None:
    """Whatever is left out, the modules that mix tokens or feed forward remain."""
    spec, *_ = build_known({"/spec/method/targets": "auto"})
    for case in CASES[name]:
        shape = read_shape(case["config"])
        if shape is None:
            continue
        adapter = decide_adapter(spec, shape)
        assert adapter is not None
        assert adapter.targets.value, case["config"]
        assert adapter.parameters > 0


def test_a_router_that_the_spec_names_is_a_target(build_known: BuildKnown) -> None:
    """Targets that the spec names are kept."""
    spec, *_ = build_known({"/spec/method/targets": ("q_proj", "router.proj")})
    adapter = decide_adapter(spec, SPARSE["Gemma4ForCausalLM"])
    assert adapter is not None
    assert adapter.targets.value == ("q_proj", "router.proj")
    assert "proj" in adapter.modules


@pytest.mark.parametrize(
    ("module", "chooses"),
    [
        ("mlp.gate", True),
        ("mlp.gate.wg", True),
        ("router.proj", True),
        ("self_attention.experts.router.layer", True),
        ("mlp.gate_proj", False),
        ("mlp.shared_expert_gate", False),
        ("self_attn.forget_gate.f_a_proj", False),
        ("altup.modality_router", False),
    ],
)
def test_routers_are_told_by_their_place(module: str, *, chooses: bool) -> None:
    """The gate of a feed-forward or attention layer is not a router."""
    assert is_router(module) is chooses
