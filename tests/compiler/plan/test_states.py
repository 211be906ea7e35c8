"""The memory on the device between steps, and the states on the host."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ftc.compiler.plan.memory import phases
from ftc.compiler.plan.memory.host import pinned_bytes
from ftc.compiler.plan.memory.weights import layer_weights
from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.software import PLAIN_4_48
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec
from tests.compiler.plan.test_libraries import make_job, read

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
METHOD, STRATEGY = "/spec/method/type", "/spec/distribution/strategy"
OFFLOAD, COUNT = "/spec/distribution/offload", "/facts/hardware/count"
FIXED = {"/spec/training/micro_batch": 1, "/spec/training/global_batch": 8}
PARAMETERS = 7_615_616_512  # of the base case, Qwen2.5-7B
LINEAR = 6_525_288_448  # of them, in linear modules of the layers, biases apart
MATRICES = 28 * 7


def plan_of(build_known: BuildKnown, edits: Mapping[str, Any]) -> Plan:
    """Plan the base case, one row at a time."""
    return make_plan(*build_known({**FIXED, **edits}))


def static(plan: Plan) -> int:
    """Return what stays on the device while the optimizer steps."""
    return plan.memory.parts["optimizer_step"]["static"]


def test_a_base_in_4_bits(build_known: BuildKnown) -> None:
    """Half a byte a weight and its scales, the rest in 16 bits, bf16 adapters with two moments."""
    plan = plan_of(build_known, {METHOD: "qlora"})
    scales = LINEAR // 64 + LINEAR // 64 // 256 * 4 + MATRICES * 1024
    base = LINEAR // 2 + scales + 2 * (PARAMETERS - LINEAR)
    adapters = 3 * 2 * plan.trainable_parameters

    assert static(plan) == pytest.approx(base + adapters, rel=0.003)  # and cuBLAS's workspace
    assert plan.decisions.method.quantization is not None
    assert static(plan) < 0.45 * static(plan_of(build_known, {METHOD: "lora"}))


def test_scales_that_are_not_quantized_take_more(build_known: BuildKnown) -> None:
    """0.37 bits a weight (QLoRA, section 3): fp32 per 64 weights instead of a byte and a bit."""
    double = static(plan_of(build_known, {METHOD: "qlora"}))
    once = static(
        plan_of(build_known, {METHOD: "qlora", "/spec/method/double_quantization": False})
    )

    assert 8 * (once - double) / LINEAR == pytest.approx(0.373, abs=0.001)


def test_loading_rounds_one_matrix_at_a_time(build_known: BuildKnown) -> None:
    """The load never holds the model in 16 bits."""
    memory = plan_of(build_known, {METHOD: "qlora"}).memory

    assert memory.phases["load"] < PARAMETERS
    assert memory.phases["load"] < static(plan_of(build_known, {METHOD: "qlora"}))


def test_fp16_keeps_fp32_adapters(build_known: BuildKnown) -> None:
    """Loss scaling works on fp32 gradients: adapters and both moments are twice as large."""
    wide = {METHOD: "qlora", "/facts/hardware/bf16": False}
    narrow, fp16 = plan_of(build_known, {METHOD: "qlora"}), plan_of(build_known, wide)

    assert fp16.decisions.compute.precision.value == "fp16"
    assert static(fp16) - static(narrow) == 3 * 2 * narrow.trainable_parameters


def test_zero1_shares_states_and_keeps_gradients(build_known: BuildKnown) -> None:
    """States are those of ZeRO-2; gradients are whole on every process."""
    full = {METHOD: "full", COUNT: 4}
    one = plan_of(build_known, {**full, STRATEGY: "zero1"})
    two = plan_of(build_known, {**full, STRATEGY: "zero2"})
    kept = [plan.memory.parts["layer_backward"]["gradients"] for plan in (one, two)]

    assert static(one) == static(two)
    assert kept[0] - kept[1] == 2 * PARAMETERS - 2 * PARAMETERS // 4


@pytest.mark.parametrize("strategy", ["zero1", "zero2", "zero3"])
def test_an_offloaded_optimizer_leaves_the_device(build_known: BuildKnown, strategy: str) -> None:
    """Twelve bytes a weight go to the host, which holds its gradients as well."""
    full = {METHOD: "full", COUNT: 4, STRATEGY: strategy}
    here = plan_of(build_known, full)
    away = plan_of(build_known, {**full, OFFLOAD: "optimizer"})

    assert static(here) - static(away) == 12 * PARAMETERS // 4
    assert away.host_ram_bytes > here.host_ram_bytes
    assert away.host_ram_bytes > 16 * PARAMETERS


def test_offloaded_weights_leave_the_device_too(build_known: BuildKnown) -> None:
    """Between steps next to nothing stays; layers are fetched one after the other."""
    full = {METHOD: "full", COUNT: 4, STRATEGY: "zero3"}
    states = plan_of(build_known, {**full, OFFLOAD: "optimizer"})
    weights = plan_of(build_known, {**full, OFFLOAD: "parameters"})

    assert static(states) - static(weights) == 2 * PARAMETERS // 4
    assert static(weights) < 100 * 2**20
    assert weights.memory.parts["layer_backward"]["gathered"] > 0
    assert weights.host_ram_bytes - states.host_ram_bytes > 2 * PARAMETERS


@pytest.mark.parametrize(
    ("checkpointing", "fused", "vocab", "layers"),
    [
        (True, False, 128, 3),
        (False, False, 128, 4),
        (True, True, 2048, 2),
        (False, True, 2048, 3),
        (True, False, 2048, 1),
    ],
)
def test_zero_keeps_the_last_layers_whole(
    monkeypatch: pytest.MonkeyPatch, *, checkpointing: bool, fused: bool, vocab: int, layers: int
) -> None:
    """DeepSpeed 0.19.8 kept as many of twelve layers on a CPU."""
    config = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 12}
    config |= {"num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": vocab}
    shape = read("LlamaForCausalLM", config)
    job = make_job(shape, full=True, trainable=shape.parameters, sharding="zero3", world=2)
    job = replace(job, checkpointing=checkpointing)
    job = job if fused else replace(job, stack=PLAIN_4_48)
    monkeypatch.setattr(phases, "_REUSED", 9 * shape.largest_layer_parameters)
    assert phases.reused_bytes(job) == max(0, layers - 2) * layer_weights(job)
    assert phases.reused_bytes(replace(job, sharding="zero2")) == 0
    on_disk = replace(job, offload="parameters", nvme=True)
    assert phases.reused_bytes(on_disk) == 0
    monkeypatch.undo()
    parts = phases.parts_of_phases(job)
    assert phases.reused_bytes(job) == 10 * layer_weights(job)  # of a model this small, all
    assert parts["loss"]["gathered"] == parts["evaluation"]["gathered"] + 10 * layer_weights(job)


def test_offload_leaves_one_process_to_zero(build_known: BuildKnown) -> None:
    """ZeRO is chosen for one process where that is what can offload."""
    plan = plan_of(build_known, {METHOD: "full", OFFLOAD: "optimizer"})

    assert plan.decisions.distribution.sharding.value == "zero2"
    assert plan.decisions.distribution.sharding.because.key == "sharding.offload"
    assert plan.decisions.distribution.world.value == 1


def test_pinned_memory_is_rounded_up() -> None:
    """Torch's host allocator hands out powers of two."""
    assert [pinned_bytes(size) for size in (1, 2, 3, 4096, 4097)] == [1, 2, 4, 4096, 8192]


@pytest.mark.parametrize("strategy", ["ddp", "fsdp", "zero2"])
@pytest.mark.parametrize("method", ["lora", "full"])
def test_what_the_optimizer_holds_is_what_another_lacks(
    strategy: str, method: str, build_known: BuildKnown
) -> None:
    """SGD without momentum has no states: the static part is less by what AdamW has more."""
    edits = {METHOD: method, STRATEGY: strategy, COUNT: 4}
    adam = plan_of(build_known, {**edits, "/spec/training/optimizer": "adamw"})
    sgd = plan_of(build_known, {**edits, "/spec/training/optimizer": "sgd"})

    states = adam.memory.optimizer_bytes - sgd.memory.optimizer_bytes
    assert states == pytest.approx(static(adam) - static(sgd), abs=8)
    assert states > 0
