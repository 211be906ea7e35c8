"""What is recomputed: the planned bytes against a real Llama's, and the planner's choice."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.activations import checkpoint_bytes, input_host_bytes, layer_bytes
from ftc.compiler.plan.memory.peak import measure
from ftc.compiler.plan.memory.phases import phases
from ftc.compiler.plan.plan import Recomputing
from ftc.compiler.plan.planner import make_frame, make_plan
from ftc.compiler.plan.reasons import sentence
from ftc.compiler.plan.search.layout import search
from ftc.compiler.plan.search.space import partly_recomputed
from ftc.compiler.plan.summary.context_parallel import count_context_gpus
from ftc.compiler.plan.time.roofline import host_seconds, passes
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
ROOT = Path(__file__).parents[3]
TRACE = "tests.compiler.plan.kept_storages"
# of `kept_storages`
CONFIG = {
    "vocab_size": 64,
    "hidden_size": 128,
    "intermediate_size": 320,
    "num_hidden_layers": 7,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
}
ROWS, LENGTH = 2, 256
WAYS: tuple[Recomputing, ...] = (False, True, 2, 4, 6, "selective")
GIB = 2**30


def make_job(checkpointing: Recomputing) -> Job:
    """Return the traced Llama's job; a CPU's fused kernel keeps what FlashAttention does."""
    shape = read_shape({"architectures": ["LlamaForCausalLM"], **CONFIG})
    assert shape is not None
    return Job(
        shape=shape,
        full=True,
        trainable=shape.parameters,
        load_bytes=2,
        compute_bytes=2,
        attention="flash_attention_2",
        sharding="single",
        world=1,
        micro=ROWS,
        accumulation=1,
        length_tokens=LENGTH,
        checkpointing=checkpointing,
        gpu=True,
    )


def kept_bytes(job: Job) -> int:
    """Return what the plan says that all layers keep of a micro-batch."""
    return job.tokens * (checkpoint_bytes(job) + job.stored_layers * layer_bytes(job))


@pytest.mark.prove
def test_a_real_llama_keeps_what_is_planned_and_learns_the_same() -> None:
    """What recomputing saves is planned to 1 %, and no loss differs by a bit."""
    told = json.dumps(WAYS), json.dumps([CONFIG, ROWS, LENGTH])
    command = [sys.executable, "-m", TRACE, *told]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert "Unexpected keyword arguments: every_n_layers" in printed["switched"]  # of FTC541
    stored, *others = printed["ways"]
    assert len(set(stored["losses"])) == len(stored["losses"])
    planned = kept_bytes(make_job(False))
    for way, found in zip(WAYS[1:], others, strict=True):
        assert found["losses"] == stored["losses"]
        saved = stored["bytes"] - found["bytes"]
        assert planned - kept_bytes(make_job(way)) == pytest.approx(saved, rel=0.01)


def test_a_part_is_between_all_and_nothing() -> None:
    """In what is kept, at the peak of the backward pass, and in time."""
    jobs = [make_job(way) for way in (True, "selective", 2, 4, False)]
    for figure in (kept_bytes, lambda job: phases(job)["layer_backward"]):
        sizes = [figure(job) for job in jobs]
        assert sizes == sorted(sizes)
    times = [passes(make_job(way)) for way in (True, 2, 4, False)]
    assert times == sorted(times, reverse=True)
    assert [make_job(way).recomputed_layers for way in (True, 2, 4, 6, False)] == [7, 4, 2, 2, 0]


def test_what_is_on_the_host_is_not_on_the_device() -> None:
    """The inputs of seven layers, copied there and back."""
    here, there = make_job(True), make_job("offload")
    inputs = 7 * ROWS * LENGTH * 128 * 2
    assert kept_bytes(here) - kept_bytes(there) == inputs == input_host_bytes(there)
    assert input_host_bytes(here) == 0
    assert host_seconds(there, 1.0) - host_seconds(here, 1.0) == pytest.approx(2 * inputs / 16e9)


def choose(build_known: BuildKnown, gib: float, **more: Any) -> Any:
    """Return the plan of a full fine-tune on a GPU of so much memory."""
    edits = {
        "/spec/method/type": "full",
        "/spec/training/liger": False,
        "/facts/hardware/memory_bytes": round(gib * GIB),
    }
    return make_plan(*build_known({**edits, **more}))


SWITCHED = [
    *(
        {
            "/spec/objective/type": objective,
            "/spec/objective/vllm": engine,
            "/spec/method/type": method,
            "/facts/data/rewards": {"rows": 400, "numbered_rows": 400},
        }
        for objective in ("grpo", "rloo")
        for engine in ("off", "colocate")
        for method in ("lora", "full")
    ),
    *(
        {"/spec/objective/type": objective, "/spec/objective/reference": "adapter_off"}
        for objective in ("dpo", "kto")
    ),
]


@pytest.mark.parametrize("edits", SWITCHED)
def test_a_trainer_that_switches_recomputing_has_all_or_nothing(
    build_known: BuildKnown, edits: Mapping[str, Any]
) -> None:
    """TRL switches it on again without its options, so the search tries none."""
    edits = {"/spec/method/type": "lora", "/facts/hardware/memory_bytes": 12 * GIB, **edits}
    frame = make_frame(*build_known(edits))
    assert partly_recomputed(frame, "single") == ()
    assert search(frame).chosen.way.checkpointing in (True, False)


def test_weights_that_are_gathered_again_are_not_recomputed_selectively(
    build_known: BuildKnown,
) -> None:
    """PyTorch stops at an operation of ZeRO-3's backward pass that the forward pass lacks."""
    frame = make_frame(*build_known({"/spec/method/type": "full"}))
    assert "selective" in partly_recomputed(frame, "fsdp")
    assert "selective" not in partly_recomputed(frame, "zero3")


def test_a_precomputed_reference_leaves_parts_open(build_known: BuildKnown) -> None:
    """DPO without a reference at each step may recompute some layers."""
    edits = {"/spec/objective/type": "dpo", "/spec/method/type": "lora"}
    found = {
        choose(build_known, gib, **edits).decisions.batch.gradient_checkpointing.value
        for gib in (20, 21, 22, 23, 24, 28, 32, 40, 48)
    }
    assert found - {True, False}


def test_activations_go_to_the_host_where_nothing_else_fits(build_known: BuildKnown) -> None:
    """One row of 20,000 tokens: on a larger card they stay, on a smaller one nothing fits."""
    names = ("mean", "p50", "p90", "p95", "p99", "max")
    edits: dict[str, Any] = {f"/facts/data/lengths/{name}": 20_000 for name in names}
    edits |= {"/facts/data/lengths/histogram": [[20_000, 4000]], "/spec/data/max_length": 20_000}
    edits |= {"/spec/method/type": "qlora", "/facts/model/context_tokens": 131_072}
    edits |= {"/facts/hardware/host_ram_bytes": 256 * GIB}
    plans = [choose(build_known, gib, **edits) for gib in (40, 16, 8)]

    ways = [plan.decisions.batch.gradient_checkpointing for plan in plans]
    assert [plan.memory.fits for plan in plans] == [True, True, False]
    assert [way.value == "offload" for way in ways] == [False, True, False]
    assert ways[1].source == "derived"


def test_the_planner_recomputes_no_more_than_it_must(build_known: BuildKnown) -> None:
    """With less and less memory nothing, some layers, all of them; a written value stays."""
    sizes = [320, 240, 160, 150, 138, 120]
    rows = {"/spec/training/micro_batch": 8, "/spec/training/global_batch": 8}
    plans = [choose(build_known, gib, **rows) for gib in sizes]
    fitting = [plan for plan in plans if plan.memory.fits]
    found = [plan.decisions.batch.gradient_checkpointing for plan in fitting]
    values = [decision.value for decision in found]
    assert values[0] is False
    partial = [x for x in found if not isinstance(x.value, bool)]
    assert partial, values
    assert all(x.source == "derived" and sentence(x.because) for x in partial)
    assert [plan.time_seconds for plan in fitting] == sorted(plan.time_seconds for plan in fitting)
    written = choose(build_known, 320, **{"/spec/training/gradient_checkpointing": 2})
    assert written.decisions.batch.gradient_checkpointing.value == 2
    assert written.decisions.batch.gradient_checkpointing.source == "spec"


def test_context_parallelism_is_counted_where_one_row_is_too_long(build_known: BuildKnown) -> None:
    """With the counted GPUs a row's share fits, with half of them it does not."""
    _, facts = build_known({})
    job = replace(make_job(True), micro=1, length_tokens=2**25)
    gpus = count_context_gpus(job, facts.hardware)
    assert gpus is not None
    assert gpus > 1
    shares = (replace(job, length_tokens=2**25 // n) for n in (gpus, gpus // 2))
    assert [measure(share, facts.hardware).fits for share in shares] == [True, False]
    assert count_context_gpus(make_job(True), facts.hardware) is None
