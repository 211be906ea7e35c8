"""The planned time: what rows of several lengths, experts, adapters and large models take."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ftc.compiler.knowledge.hardware.accelerators import find_accelerator
from ftc.compiler.plan.planner import make_frame, make_plan
from ftc.compiler.plan.summary.devices import on_device
from ftc.compiler.plan.time.kernels import adapter_traffic, attention_seconds, launching_seconds
from ftc.compiler.plan.time.roofline import micro_seconds, operations
from ftc.compiler.plan.time.run import (
    _ANSWERED_TOKENS,
    _BATCH_ROWS,
    _BATCH_TOKENS,
    _answered_at_once,
    attended_tokens,
)
from ftc.compiler.resolve.facts import KnownFacts
from ftc.runtime.evaluate import answers, judging
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
GIB = 2**30
LONG, SHORT = 32_768, 512
SKEWED = {
    "/facts/data/lengths/histogram": [[SHORT, 980], [LONG, 20]],
    "/facts/data/lengths/max": LONG,
    "/facts/model/context_tokens": LONG,
    "/spec/data/max_length": LONG,
}


def test_a_token_attends_to_its_own_row(build_known: BuildKnown) -> None:
    """On average over tokens that is the mean of squares over the mean, and more with padding."""
    rows = make_frame(*build_known(SKEWED)).arrangement
    alone = replace(rows, packed=False, grouped=False, sorted=False, together=0)
    squares = 980 * SHORT**2 + 20 * LONG**2
    assert attended_tokens(alone, micro=1) == pytest.approx(squares / (980 * SHORT + 20 * LONG))
    assert attended_tokens(alone, micro=1) < attended_tokens(alone, micro=8) < LONG
    assert attended_tokens(replace(alone, grouped=True), micro=8) == attended_tokens(alone, micro=1)
    assert attended_tokens(replace(alone, packed=True), micro=8) == alone.length_tokens


def test_one_long_row_does_not_set_the_time_of_all(build_known: BuildKnown) -> None:
    """The operations of attention follow the rows that there are."""
    frame = make_frame(*build_known(SKEWED))
    job = frame.job("single", checkpointing=True, micro=1)
    assert operations(job) < operations(replace(job, attended_tokens=0.0)) / 1.2


def test_adapters_take_time_where_they_are(build_known: BuildKnown) -> None:
    """A hybrid has each target in some of its layers."""
    frame = make_frame(*build_known({}))
    job = frame.job("single", checkpointing=True, micro=1)
    fewer = {
        name: replace(linear, count=linear.count // 4)
        for name, linear in job.shape.linear_shapes.items()
    }
    hybrid = replace(job, shape=replace(job.shape, linear_shapes=fewer))
    hardware = frame.facts.hardware
    assert micro_seconds(hybrid, hardware, 1) < micro_seconds(job, hardware, 1)


def test_experts_in_fp32_are_slow(build_known: BuildKnown) -> None:
    """Autocast does not reach their products, so a full fine-tune computes them in fp32."""
    frame = make_frame(*build_known({"/spec/method/type": "full"}))
    job = frame.job("single", checkpointing=True, micro=1)
    linear = job.shape.linear_parameters
    shape = replace(job.shape, experts=8, experts_per_token=2, expert_parameters=linear)
    mixed = replace(job, shape=shape, load_bytes=4, compute_bytes=2)
    assert mixed.mixed
    hardware = frame.facts.hardware
    halved = replace(mixed, load_bytes=2)
    assert micro_seconds(mixed, hardware, 1e5) > 3 * micro_seconds(halved, hardware, 1e5)
    dense = replace(mixed, shape=job.shape)
    assert micro_seconds(dense, hardware, 1e5) < 2 * micro_seconds(
        replace(dense, load_bytes=2), hardware, 1e5
    )


def test_weights_that_the_gpus_do_not_hold_are_read_for_each_token(
    build_known: BuildKnown,
) -> None:
    """evaluate.py has the merged weights in 16 bits, also of a base that trains in 4 bits."""
    plans = [
        make_plan(
            *build_known({"/spec/method/type": "qlora", "/facts/hardware/memory_bytes": size * GIB})
        )
        for size in (12, 80)
    ]
    assert all(plan.time is not None for plan in plans)
    small, large = (plan.time.judging_seconds for plan in plans)  # type: ignore[union-attr]
    assert small > 2 * large


def test_every_named_gpu_fits(build_known: BuildKnown) -> None:
    """Also where the host is too small for what would have to be offloaded to it."""
    edits = {
        "/spec/method/type": "full",
        "/facts/hardware/count": 4,
        "/facts/hardware/memory_bytes": 24 * GIB,
        "/facts/hardware/host_ram_bytes": 64 * GIB,
    }
    spec, facts = build_known(edits)
    names = make_plan(spec, facts).fitting_gpus
    assert names
    for name in names[:3]:
        match = find_accelerator(name)
        assert match is not None
        assert make_plan(spec, on_device(facts, match.accelerator)).memory.fits, name


def test_no_named_gpu_lacks_what_the_spec_says(build_known: BuildKnown) -> None:
    """bf16 and FlashAttention-2 need Ampere."""
    edits = {"/facts/hardware/memory_bytes": 12 * GIB, "/spec/training/precision": "bf16"}
    free, bound = (
        make_plan(*build_known({**edits, **more}))
        for more in ({"/spec/training/precision": "auto"}, {})
    )
    assert set(bound.fitting_gpus) < set(free.fitting_gpus)
    for name in bound.fitting_gpus:
        match = find_accelerator(name)
        assert match is not None
        assert match.accelerator.bf16, name


def test_pissa_decomposes_the_weights_before_training(build_known: BuildKnown) -> None:
    """On the CPU and in each process: minutes for a model of 7B, in the time of loading."""
    plans = [
        make_plan(*build_known({"/spec/method/init": init, "/facts/hardware/count": count}))
        for init, count in (("default", 1), ("pissa", 1), ("pissa", 4))
    ]
    plain, one, four = (plan.time.loading_seconds for plan in plans if plan.time is not None)
    assert 300 < one - plain < 7200
    assert four - plain == pytest.approx(4 * (one - plain), rel=0.01)


def test_a_mask_slows_attention_down(build_known: BuildKnown) -> None:
    """On an H200 a pass of two long rows took 16.0 ms a layer with a mask, and 3.7 ms without."""
    hopper = {"/facts/hardware/name": "H200-SXM-141GB", "/facts/hardware/compute_capability": 9.0}
    frame = make_frame(*build_known(hopper))
    job = replace(frame.job("single", checkpointing=False, micro=2), length_tokens=4096)
    job = replace(job, attended_tokens=0.0, packed=False)
    masked, even = (
        attention_seconds(
            replace(job, even=even), frame.facts.hardware, 8192, peak=989e12, products=6e14
        )
        for even in (False, True)
    )
    assert masked == pytest.approx(16.0 / 3.65 * even, rel=0.05)
    sliding = replace(job.shape, window_tokens=512, window_layers=job.shape.layers // 2)
    half = attention_seconds(
        replace(job, even=True, shape=sliding),
        frame.facts.hardware,
        8192,
        peak=989e12,
        products=6e14,
    )
    assert half == pytest.approx((masked + even) / 2)
    other = replace(frame.facts.hardware, compute_capability=8.0)
    older = attention_seconds(job, other, 8192, peak=312e12, products=2e14)
    assert older > masked


def test_a_short_pass_takes_as_long_as_its_launches(build_known: BuildKnown) -> None:
    """The host's time grows with the adapted modules; a long pass takes the device's time."""
    frame = make_frame(*build_known({}))
    job, hardware = frame.job("single", checkpointing=False, micro=1), frame.facts.hardware
    assert job.targets
    assert micro_seconds(job, hardware, 1) == micro_seconds(job, hardware, 64)
    assert launching_seconds(job) > launching_seconds(replace(job, targets=job.targets[:1]))
    assert micro_seconds(job, hardware, 1e5) > 2 * launching_seconds(job)


def test_hooks_of_zero_3_slow_short_passes_down(build_known: BuildKnown) -> None:
    """Every module has hooks, also those of adapters; in a long pass they take no extra time."""
    frame = make_frame(*build_known({}))
    job = frame.job("ddp", checkpointing=True, micro=1)
    hooked = replace(job, sharding="zero3")
    modules = [job.shape.layers * (6 + 7), 4 * job.shape.layers * len(job.targets)]
    assert len(job.targets) == 7
    assert launching_seconds(hooked) - launching_seconds(job) == pytest.approx(
        0.0006 * sum(modules)
    )
    kept = replace(hooked, checkpointing=False, targets=())
    plain = replace(kept, sharding="ddp")
    assert launching_seconds(kept) - launching_seconds(plain) == pytest.approx(0.0004 * modules[0])
    hardware = frame.facts.hardware
    assert micro_seconds(hooked, hardware, 1) > 1.5 * micro_seconds(job, hardware, 1)
    assert micro_seconds(hooked, hardware, 1e5) == micro_seconds(job, hardware, 1e5)


def test_adapters_move_their_inputs(build_known: BuildKnown) -> None:
    """Their inputs are cast, and dropped too with dropout; without adapters nothing is moved."""
    frame = make_frame(*build_known({}))
    job = frame.job("single", checkpointing=False, micro=1)
    assert adapter_traffic(replace(job, dropout=0.0)) < adapter_traffic(replace(job, dropout=0.1))
    assert adapter_traffic(replace(job, targets=())) == 0


def test_long_answers_are_written_a_few_at_a_time() -> None:
    """A batch has as many prompts as runtime/evaluate/answers.py puts into one."""
    assert answers.BATCH_TOKENS == _ANSWERED_TOKENS
    assert (judging.BATCH_ROWS, judging.BATCH_TOKENS) == (_BATCH_ROWS, _BATCH_TOKENS)
    for prompt, answer in ((20, 10), (500, 100), (3000, 1024), (9000, 200)):
        lengths = [prompt + answer] * 64
        first = next(iter(judging.make_batches(lengths, most_tokens=answers.BATCH_TOKENS)))
        assert len(first) == _answered_at_once(prompt, answer)
