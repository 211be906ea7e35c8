"""Copies that a run makes of weights, gradients and masks: on the device, the host and the disk."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.activations import layer_bytes, mean_layer_bytes
from ftc.compiler.plan.memory.attention import mask_bytes
from ftc.compiler.plan.memory.host import (
    checkpoint_bytes,
    disk_bytes,
    download_bytes,
    loading_bytes,
    merge_bytes,
    saved_bytes,
)
from ftc.compiler.plan.memory.phases import parts_of_phases
from ftc.compiler.plan.memory.states import moment_bytes, step_copies
from ftc.compiler.plan.planner import make_frame, make_plan
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec
from tests.compiler.plan.test_libraries import DENSE, SPARSE, make_job, read

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
GIB = 2**30
LLAMA, QWEN = read("LlamaForCausalLM", DENSE), read("Qwen3MoeForCausalLM", SPARSE)
FULL = make_job(LLAMA, full=True, trainable=LLAMA.parameters, load_bytes=4)


@pytest.mark.parametrize("passes", [1, 2])
def test_ddps_buckets_are_there_in_every_phase(passes: int) -> None:
    """With one pass per step too, and in evaluations; earlier gradients are there with two."""
    whole = 4 * LLAMA.parameters
    job = replace(FULL, accumulation=passes, sharding="ddp", world=2)
    apart = {name: parts.get("gradients", 0) for name, parts in parts_of_phases(job).items()}
    assert apart.pop("layer_backward") >= 2 * whole
    wanted = {"loss": whole * passes, "optimizer_step": 2 * whole, "evaluation": whole}
    assert apart == {"load": 0, **wanted}


def test_a_ladder_has_no_line_that_needs_more(build_known: BuildKnown) -> None:
    """All gradients stay between the passes of a step, which can need more than a larger pass."""
    edits = {
        "/spec/method/type": "full",
        "/spec/training/global_batch": 4,
        "/spec/training/gradient_checkpointing": True,
        "/facts/hardware/memory_bytes": 500 * GIB,
    }
    plan = make_plan(*build_known(edits))
    sizes = [rung.memory_bytes for rung in plan.rungs]
    assert sizes == sorted(set(sizes), reverse=True)
    assert plan.ladder == tuple((rung.micro, rung.accumulation) for rung in plan.rungs)
    assert plan.ladder[0] == (4, 1)
    assert len(plan.ladder) == 1


@pytest.mark.parametrize(("checkpointing", "layers"), [(False, 4), (True, 1)])
def test_merged_experts_are_kept_by_layers(checkpointing: bool, layers: int) -> None:
    """Each stored layer keeps the sum of base and adapters, and one layer has a gradient."""
    job = make_job(QWEN, checkpointing=checkpointing)
    merged = 3 * 64 * 256 * 512 * 2
    adapted = parts_of_phases(replace(job, adapts_experts=True))
    base = parts_of_phases(job)
    more = {name: adapted[name].get("copies", 0) - base[name].get("copies", 0) for name in base}
    assert more["layer_backward"] == layers * merged + merged // 3
    assert more["loss"] == (0 if checkpointing else layers * merged)
    assert more["evaluation"] == merged


@pytest.mark.parametrize(
    ("config", "window", "layers"),
    [
        ({"sliding_window": 512}, 512, 22),
        ({"sliding_window": None}, 0, 0),
        ({"sliding_window": 64, "layer_types": ["full_attention"] * 26}, 0, 0),
    ],
)
def test_a_config_says_how_many_layers_have_windows(
    config: dict[str, Any], window: int, layers: int
) -> None:
    """Gemma 3's default is five layers of six."""
    shape = read_shape({"architectures": ["Gemma3ForCausalLM"], **config})
    assert shape is not None
    assert (shape.window_tokens, shape.window_layers) == (window, layers)


def test_a_switch_turns_windows_on() -> None:
    """Qwen 2.5's first layers are without windows, and all are unless the switch is on."""
    config = {"num_hidden_layers": 28, "sliding_window": 4096, "max_window_layers": 21}
    assert read("Qwen2ForCausalLM", config).window_layers == 0
    assert read("Qwen2ForCausalLM", {**config, "use_sliding_window": True}).window_layers == 7


def make_local(length: int, **changes: Any) -> Job:
    """Return a Gemma 3 with windows of 512 tokens, and one row."""
    shape = read("Gemma3ForCausalLM", {"sliding_window": 512})
    return make_job(shape, length_tokens=length, **changes)


def test_rows_as_long_as_a_window_take_a_mask() -> None:
    """Of a single row too, in the layers with a window: 16 bits of every pair, and the keys."""
    short, long = make_local(511), make_local(512)
    shape = long.shape
    mask = 2 * (2 * (shape.heads - shape.kv_heads) * shape.head_dim + 512)
    assert not short.windowed
    assert long.windowed
    assert layer_bytes(long) - layer_bytes(short) == mask
    more = mean_layer_bytes(long) - mean_layer_bytes(short)
    assert more == pytest.approx(mask * shape.window_layers / shape.layers)
    assert layer_bytes(replace(long, attention="flash_attention_2")) < layer_bytes(long)


@pytest.mark.parametrize(
    ("changes", "masks"),
    [
        ({}, 1),
        ({"packed": True}, 2),
        ({"attention": "flash_attention_2"}, 0),
    ],
)
def test_masks_are_shared_by_layers(changes: dict[str, Any], masks: int) -> None:
    """One byte for every pair of tokens, for each kind of layers that has a mask."""
    job = make_local(1024, **changes)
    assert mask_bytes(job) == masks * 1024**2
    without = parts_of_phases(replace(job, attention="flash_attention_2"))
    parts = parts_of_phases(job)
    assert (parts["loss"]["activations"] > without["loss"]["activations"]) == bool(masks)


def test_loading_takes_host_memory_for_copies() -> None:
    """Weights of the file's type are its pages; others are copies, and so are joined experts."""
    eight: dict[str, Any] = {"world": 8, "sharding": "ddp"}
    whole = 4 * LLAMA.parameters
    assert loading_bytes(replace(FULL, **eight)) == 8 * (whole + GIB)
    assert loading_bytes(replace(FULL, world=8, sharding="fsdp")) == whole + 8 * GIB
    assert loading_bytes(replace(FULL, reference="copy")) == 2 * whole + GIB
    # one 16-bit file of a few hundred MB is in memory while it is read
    lora = make_job(LLAMA, **eight)
    assert loading_bytes(lora) == 8 * (2 * LLAMA.parameters + GIB)
    large = replace(LLAMA, parameters=10 * GIB, expert_parameters=0)
    assert loading_bytes(make_job(large, **eight)) == 8 * 6 * GIB
    sparse = replace(large, expert_parameters=9 * GIB)
    assert loading_bytes(make_job(sparse, **eight)) == 8 * (18 + 1) * GIB
    assert loading_bytes(make_job(sparse, storage="nf4", **eight)) == 8 * 6 * GIB
    assert loading_bytes(make_job(sparse, world=8, sharding="zero3")) == 8 * 6 * GIB


def test_a_checkpoint_has_all_that_the_trainer_saves() -> None:
    """Frozen layers as well; below ZeRO-3 DeepSpeed writes the weights once more."""
    part = LLAMA.parameters // 10
    frozen = replace(FULL, trainable=part, frozen_bytes=2)
    saved = 4 * part + 2 * (LLAMA.parameters - part)
    assert saved_bytes(frozen) == saved
    assert checkpoint_bytes(frozen) == saved + 8 * part
    assert saved_bytes(make_job(LLAMA, trainable=1000)) == 4 * 1000
    narrow = replace(FULL, load_bytes=2, world=2)
    for sharding, each in (("zero1", 16), ("zero2", 16), ("zero3", 14)):
        job = replace(narrow, sharding=sharding)  # type: ignore[arg-type]
        assert checkpoint_bytes(job) == each * LLAMA.parameters


def test_a_tower_is_on_the_disk(build_known: BuildKnown) -> None:
    """In the merged folder and in memory while it is made."""
    spec, _ = build_known({})
    seeing = replace(LLAMA, frozen_parameters=10**9)
    plain, job = make_job(LLAMA), make_job(seeing)
    sizes = [disk_bytes(spec, each, {}, validated=True) for each in (plain, job)]
    assert sizes[1] - sizes[0] == 2 * 2 * 10**9
    assert merge_bytes(job) > merge_bytes(plain)


def test_eight_bit_optimizers_keep_a_trained_embedding_in_fp32() -> None:
    """PEFT's trained copy as well, and none that is frozen."""
    words = LLAMA.embedding_parameters
    lora = make_job(LLAMA, optimizer="adamw-8bit", trainable=words, saved_parameters=words)
    eight = round(words * 2 * (1 + 4 / 256))
    assert moment_bytes(lora, 4) == eight
    assert moment_bytes(replace(lora, trains_embedding=True), 4) == 8 * words
    full = replace(FULL, optimizer="adamw-8bit")
    frozen = replace(full, trains_embedding=False)
    assert moment_bytes(full, 4) - moment_bytes(frozen, 4) == 8 * words - eight


def test_adafactor_steps_all_experts_of_a_layer_at_once() -> None:
    """They are one weight: gate and up of 64 experts, squared and twice multiplied in fp32."""
    job = make_job(QWEN, full=True, trainable=QWEN.parameters, load_bytes=4, optimizer="adafactor")
    assert step_copies(job) == 64 * 2 * 256 * 512 * 12


@pytest.mark.parametrize(
    ("rows", "prompt", "at_once"), [(1000, 256, 16), (3, 256, 3), (99, 9000, 1)]
)
def test_an_evaluation_that_answers_is_a_phase(
    build_known: BuildKnown, rows: int, prompt: int, at_once: int
) -> None:
    """Keys and values of as many rows as the bundle answers at once."""
    edits = {"/spec/training/evaluation/samples": rows, "/facts/data/lengths/prompt_max": prompt}
    frame = make_frame(*build_known(edits))
    frame = replace(frame, max_length=replace(frame.max_length, value=16_384))
    job = frame.job("single", checkpointing=True, micro=1)
    assert job.written_length_tokens > prompt
    assert job.written_rows == min(at_once, 8192 // job.written_length_tokens or 1)
    cache = parts_of_phases(job)["answers"]["cache"]
    shape = job.shape
    token = 2 * 2 * shape.kv_heads * shape.head_dim * (shape.layers + 1)
    assert cache == token * job.written_rows * job.written_length_tokens
    silent = replace(job, written_rows=0)
    assert "answers" not in parts_of_phases(silent)


def test_a_download_has_the_tower(build_known: BuildKnown) -> None:
    """Where the files on the Hub are not listed."""
    _, facts = build_known({"/facts/model/weights_bytes": None, "/facts/model/origin": "table"})
    assert download_bytes(facts) == 2 * facts.model.parameters
