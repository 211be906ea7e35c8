"""What optimizers keep: by the plan's formulas, and by the pinned stack's own classes."""

from dataclasses import replace
from typing import Any, get_args

import pytest

from ftc.compiler.knowledge.architectures.architecture import Shape, read_shape
from ftc.compiler.plan.job import Job, Optimizer
from ftc.compiler.plan.memory.host import checkpoint_bytes, host_ram_bytes
from ftc.compiler.plan.memory.phases import phases
from ftc.compiler.plan.memory.states import (
    RULES,
    master_bytes,
    moment_bytes,
    paged_bytes,
    step_bytes,
)
from ftc.compiler.plan.method.adapter import adapter_parameters

CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 512,
    "intermediate_size": 1024,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1024,
    "tie_word_embeddings": False,
}


def shape() -> Shape:
    """Return the shape of a small Llama."""
    found = read_shape(CONFIG)
    assert found is not None
    return found


def full(optimizer: Optimizer = "adamw", **changes: Any) -> Job:
    """Return a full fine-tune of it in fp32 on one GPU."""
    job = Job(
        shape=shape(),
        full=True,
        trainable=shape().parameters,
        load_bytes=4,
        compute_bytes=4,
        optimizer=optimizer,
        attention="sdpa",
        sharding="single",
        world=1,
        micro=1,
        accumulation=1,
        length_tokens=64,
        checkpointing=True,
        gpu=True,
    )
    return replace(job, **changes)


def lora(optimizer: Optimizer = "adamw", **changes: Any) -> Job:
    """Return a LoRA of rank 8 on query and value."""
    targets = ("q_proj", "v_proj")
    count = adapter_parameters(shape(), targets, 8)
    return replace(full(optimizer), full=False, trainable=count, targets=targets, rank=8, **changes)


def test_every_optimizer_has_a_rule_and_a_name() -> None:
    """Names are the Trainer's, each once."""
    assert set(RULES) == set(get_args(Optimizer))
    assert len({rule.name for rule in RULES.values()}) == len(RULES)


def test_states_per_weight() -> None:
    """Two fp32 moments, two bytes and their scales, one, factored to next to nothing, none."""
    weights = shape().parameters
    per_weight = {name: moment_bytes(lora(name), 4) / lora().trainable for name in RULES}
    assert per_weight["adamw"] == 8
    assert per_weight["adamw-8bit"] == pytest.approx(2 + 8 / 256, rel=1e-4)
    assert per_weight["lion"] == 4
    assert per_weight["lion-8bit"] == pytest.approx(1 + 4 / 256, rel=1e-4)
    assert per_weight["sgd"] == 0
    assert moment_bytes(full("adafactor"), 4) < 0.02 * 4 * weights


def test_paged_states_leave_the_device_where_their_tensors_are_large() -> None:
    """An adapter's matrices of rank 8 are below 100,000 values and stay."""
    assert paged_bytes(lora("paged-adamw")) == 0
    job = full("paged-adamw")
    assert paged_bytes(job) + moment_bytes(job, 4) == 8 * job.trainable
    assert paged_bytes(job) > 0.99 * 8 * job.trainable
    assert host_ram_bytes(job, 0) >= paged_bytes(job)


def test_an_eight_bit_optimizer_keeps_an_embedding_in_fp32() -> None:
    """The Trainer's override, for all of its weights."""
    eight, embedding = moment_bytes(full("adamw-8bit"), 4), shape().embedding_parameters
    others = shape().parameters - embedding
    assert eight == pytest.approx(8 * embedding + (2 + 8 / 256) * others, rel=1e-4)


def test_deepspeed_keeps_a_master_and_states_of_a_flat_tensor() -> None:
    """12 bytes under AdamW; what is paged is not on the device, nothing flat is factored."""
    assert master_bytes(full()) == 12
    assert master_bytes(full("adamw-8bit")) == 4 + 2 + 8 / 256
    assert master_bytes(full("paged-adamw")) == 4
    assert master_bytes(full("adafactor")) == 8


def test_steps_that_copy() -> None:
    """A fused AdamW works in place; SGD copies gradients; Adafactor one matrix a few times."""
    assert step_bytes(full(), 4) == 0
    assert step_bytes(full("adamw-8bit"), 4) == 0
    assert step_bytes(full("sgd"), 4) == 4 * shape().parameters
    assert step_bytes(full("adafactor"), 4) == 12 * 512 * 1024
    assert step_bytes(full("adafactor"), 2) == 20 * 512 * 1024


def test_the_peak_and_a_checkpoint_follow_the_optimizer() -> None:
    """Less state, less of both."""
    order: tuple[Optimizer, ...] = ("adamw", "lion", "adamw-8bit", "adafactor")
    steps = [phases(full(name, length_tokens=1))["optimizer_step"] for name in order]
    saved = [checkpoint_bytes(full(name)) for name in order]
    assert steps[0] > steps[1] > steps[2]
    assert saved == sorted(saved, reverse=True)
    assert checkpoint_bytes(full("paged-adamw")) == checkpoint_bytes(full())


def test_doras_magnitudes_are_trained_too() -> None:
    """One per output of each adapted module."""
    targets = ("q_proj", "v_proj")
    more = adapter_parameters(shape(), targets, 8, dora=True)
    assert more - adapter_parameters(shape(), targets, 8) == 2 * (512 + 256)


@pytest.mark.parametrize("name", ["adamw", "adamw-8bit", "lion", "lion-8bit", "adafactor", "sgd"])
def test_the_pinned_optimizers_keep_what_the_plan_says(name: Optimizer, tmp_path: Any) -> None:
    """One step of transformers' own choice for that name, on every weight of a real Llama."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(**{k: v for k, v in CONFIG.items() if k != "architectures"})
    model = transformers.LlamaForCausalLM(config)
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), optim=RULES[name].name, report_to=[]
    )
    optimizer = transformers.Trainer(model=model, args=arguments).create_optimizer()
    tokens = torch.arange(8)[None]
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    kept = [
        value
        for state in optimizer.state.values()
        for key, value in state.items()
        if torch.is_tensor(value) and value.numel() > 1 and not key.startswith("qmap")
    ]
    measured = sum(value.numel() * value.element_size() for value in kept)
    assert moment_bytes(full(name), 4) == pytest.approx(measured, rel=0.005, abs=64)
