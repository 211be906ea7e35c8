"""The planned allocations of libraries, compared with the pinned libraries on a CPU."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.architecture import Shape, read_shape
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.host import copied_bytes
from ftc.compiler.plan.memory.states import reducer_bytes
from ftc.compiler.plan.memory.weights import expert_gradients, kept_matrices, merged_experts

ROOT = Path(__file__).parents[3]
SCRIPT = "tests.compiler.plan.real_libraries"
SIDES, RANK, WINDOW = 4096, 4, 64
LENGTHS = [32, 63, 64, 128]
HEADS = {"num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 4}
DENSE = {**HEADS, "hidden_size": 1024, "intermediate_size": 4096, "vocab_size": 8000}
SPARSE = {
    **HEADS,
    "hidden_size": 512,
    "head_dim": 64,
    "intermediate_size": 512,
    "moe_intermediate_size": 256,
    "num_experts": 64,
    "num_experts_per_tok": 2,
    "vocab_size": 1000,
}


def make_job(shape: Shape, **changes: Any) -> Job:
    """Return LoRA on one process, or a job with these changes."""
    job = Job(
        shape=shape,
        full=False,
        trainable=0,
        load_bytes=2,
        compute_bytes=2,
        attention="sdpa",
        sharding="single",
        world=1,
        micro=1,
        accumulation=1,
        length_tokens=8,
        checkpointing=False,
        gpu=True,
    )
    return replace(job, **changes)


def read(name: str, config: dict[str, Any]) -> Shape:
    """Return the shape of a class with this configuration."""
    shape = read_shape({"architectures": [name], **config})
    assert shape is not None
    return shape


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return what the script prints."""
    cases = {
        "sides": SIDES,
        "rank": RANK,
        "window": WINDOW,
        "lengths": LENGTHS,
        "dense": DENSE,
        "sparse": SPARSE,
    }
    given = [str(tmp_path_factory.mktemp("models")), json.dumps(cases)]
    command = [sys.executable, "-m", SCRIPT, *given]
    # glibc then gives what is freed back to the system at once
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.prove
def test_the_classes_with_windows_are_transformers() -> None:
    """windows.json is what .ci/windows.py writes today."""
    command = [sys.executable, ".ci/windows.py", "--check"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.prove
def test_plans_allocate_what_the_libraries_do(measured: Any) -> None:
    """DDP's buckets, PEFT's sums of experts, masks of windows, and copies of loaded weights."""
    dense, sparse = read("LlamaForCausalLM", DENSE), read("Qwen3MoeForCausalLM", SPARSE)

    buckets = measured["buckets"]
    ddp = make_job(dense, full=True, trainable=SIDES**2, load_bytes=4, sharding="ddp", world=2)
    assert reducer_bytes(ddp) == buckets["weights"]
    assert buckets["taken"] == pytest.approx(buckets["weights"], rel=0.1)

    job = make_job(sparse, adapts_experts=True)
    assert measured["experts"]["kept"] == pytest.approx(kept_matrices(job, layers=4), rel=0.05)
    active = merged_experts(job) + expert_gradients(job)
    assert measured["experts"]["peak"] == pytest.approx(active, rel=0.06)

    local = read("Gemma3ForCausalLM", {"sliding_window": WINDOW})
    jobs = [make_job(local, length_tokens=length) for length in LENGTHS]
    assert measured["masks"] == [[each.windowed, each.masked] for each in jobs]

    for name, job in (
        ("dense bfloat16", make_job(dense)),
        ("dense float32", make_job(dense, full=True, load_bytes=4)),
        ("sparse bfloat16", make_job(sparse)),
    ):
        planned = copied_bytes(job)
        assert measured["loading"][name] == pytest.approx(planned, rel=0.1, abs=20 * 2**20), name
