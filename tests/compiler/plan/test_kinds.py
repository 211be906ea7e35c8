"""Plans of models whose layers are of several kinds."""

from dataclasses import replace

import pytest

from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.knowledge.architectures.shape import Shape
from ftc.compiler.plan.memory.activations import (
    cache_bytes,
    formula_bytes,
    layer_bytes,
    layer_margins,
    mean_layer_bytes,
    stored_bytes,
)
from ftc.compiler.plan.memory.states import trained_bytes
from ftc.compiler.plan.memory.weights import base_weights
from ftc.compiler.plan.method.adapter import decide_freezing, matched
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.time.roofline import operations
from tests.compiler.conftest import BuildKnown
from tests.compiler.plan.test_activations import make_job

BAMBA = {
    "architectures": ["BambaForCausalLM"],
    "model_type": "bamba",
    "num_hidden_layers": 8,
    "attn_layer_indices": [3, 7],
}


def bamba() -> Shape:
    """Return six layers with a state space and two with attention."""
    shape = read_shape(BAMBA)
    assert shape is not None
    return shape


def test_a_hybrid_is_planned(build_known: BuildKnown) -> None:
    """Adapters go where kernels call modules, and each module counts in its own layers."""
    spec, facts = build_known({"/spec/method/type": "lora", "/config": BAMBA})
    plan = make_plan(spec, facts)

    targets = plan.decisions.lora.lora_targets
    assert targets is not None
    assert "mamba.in_proj" in targets.value or "in_proj" in targets.value
    assert not {"out_proj", "mamba.out_proj"} & set(targets.value)
    rank = plan.decisions.lora.lora_rank
    assert rank is not None
    shape = bamba()
    sides = {name: shape.linear_shapes[name] for name in targets.value}
    counted = sum(kind.count * (kind.in_features + kind.out_features) for kind in sides.values())
    assert plan.trainable_parameters == rank.value * counted
    assert plan.memory.allocated_bytes > 2 * shape.parameters


def test_only_attention_has_a_cache_and_a_square() -> None:
    """Two layers of eight keep keys and values, and multiply each token with all before it."""
    job = replace(make_job("BambaForCausalLM"), shape=bamba(), answer_tokens=64)
    all_layers = replace(job, shape=replace(bamba(), kinds=(), order=()))
    assert cache_bytes(job) / cache_bytes(all_layers) == pytest.approx(3 / 9)
    assert operations(job) < operations(all_layers)


def test_a_layer_that_is_trained_counts_as_it_is(build_known: BuildKnown) -> None:
    """The last layer has attention, the one before it a state space of another size."""
    spec, _ = build_known({"/spec/method/type": "freeze", "/spec/method/layers": 2})
    shape = bamba()
    found = decide_freezing(spec, shape)
    assert found is not None
    assert found.parameters == sum(kind.parameters for kind in shape.kinds)


def test_a_pattern_finds_a_module_only_where_it_is() -> None:
    """Layers with a state space have no query projection."""
    assert matched(bamba(), r".*q_proj") == (("q_proj", 3), ("q_proj", 7))


def test_a_tower_is_held_and_never_trained() -> None:
    """Frozen parameters are in memory as they are, beside what is trained."""
    job = make_job("LlamaForCausalLM")
    with_tower = replace(job, shape=replace(job.shape, frozen_parameters=1000))
    held = base_weights(with_tower).shared_bytes - base_weights(job).shared_bytes
    assert held == 1000 * job.load_bytes
    assert trained_bytes(with_tower) == trained_bytes(job)


def test_layers_that_keep_more_have_a_margin() -> None:
    """The classes of the first table have a formula; a state space keeps far more than it says."""
    assert layer_margins(make_job("LlamaForCausalLM").shape) == ((1, 1),)
    assert min(max(layer_margins(bamba()))) > 3


def test_each_kind_of_layer_keeps_its_own() -> None:
    """The layers add up, each with the margin of its kind; one recomputed counts as the largest."""
    job = replace(make_job("LlamaForCausalLM"), shape=bamba(), checkpointing=False)
    counts = [kind.count for kind in job.shape.kinds]
    side = 0 if job.full else 1
    each = [formula_bytes(job, pair[side]) for pair in layer_margins(job.shape)]
    assert len(set(each)) == 2
    whole = sum(count * size for count, size in zip(counts, each, strict=True))
    assert stored_bytes(job, 0) == whole < job.shape.layers * layer_bytes(job)
    assert mean_layer_bytes(job) == whole / job.shape.layers
    assert layer_bytes(job) == max(each)
    some = replace(job, checkpointing=2)
    kept = [job.shape.order[n] for n in range(job.shape.layers) if n % 2]
    assert stored_bytes(some, 0) == sum(each[kind] for kind in kept)
    assert stored_bytes(replace(job, checkpointing=True), 0) == 0
