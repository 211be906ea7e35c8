"""The parts of a plan: splits, batch, learning rate, adapter, disk, time."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest

from ftc.compiler.plan.batch.sizes import decide_batch, divisors, ladder
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.schedule.learning_rate import decide_learning_rate
from ftc.compiler.plan.splits import decide_splits
from ftc.compiler.plan.summary.devices import with_count
from ftc.compiler.plan.time.run import MOST_ELSEWHERE, padded_tokens
from ftc.compiler.resolve.facts import Calibration, KnownFacts
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
L = "/facts/data/lengths/"
FULL = {"/spec/method/type": "full"}
CPU = {"/facts/hardware/kind": "cpu", "/facts/hardware/count": 2, "/facts/hardware/cores": 4}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(5000, (4000, 500, 500)), (10, (8, 1, 1)), (3, (1, 1, 1)), (2, (2, 0, 0)), (0, (0, 0, 0))],
)
def test_splits(build_known: BuildKnown, rows: int, expected: tuple[int, int, int]) -> None:
    """A share above zero gets a row as soon as there are three."""
    spec, facts = build_known({"/facts/data/usable_rows": rows})
    splits = decide_splits(spec, facts.data, 512)
    assert (splits.train.value, splits.validation.value, splits.test.value) == expected


def test_overlong_rows_leave_before_the_split(build_known: BuildKnown) -> None:
    """280 of 5,000 rows are longer than 384 tokens."""
    spec, facts = build_known({"/spec/data/cleaning/overlong": "drop"})
    assert decide_splits(spec, facts.data, 384).train.because.values == {"rows": 4720}


@pytest.mark.parametrize(
    ("rows", "world", "expected"),
    [(100, 1, 4), (1500, 1, 16), (4000, 1, 32), (10**6, 1, 128), (4000, 3, 48), (100, 8, 8)],
)
def test_global_batch(build_known: BuildKnown, rows: int, world: int, expected: int) -> None:
    """A power of two per process near a hundredth of the rows, from 4 to 128."""
    spec, _ = build_known({})
    batch = decide_batch(spec, train_rows=rows, world=world)
    assert batch.decision.value == expected


def test_divisors_and_ladder() -> None:
    """Falling, and each row keeps the batch."""
    assert divisors(12) == (12, 6, 4, 3, 2, 1)
    assert ladder(12, 6) == ((6, 2), (4, 3), (3, 4), (2, 6), (1, 12))


@pytest.mark.parametrize(
    ("parameters", "method", "expected"),
    [
        (3_700_000, "full", 1e-3),
        (3_700_000, "lora", 1e-3),
        (135_000_000, "full", 1e-4),
        (500_000_000, "full", 6e-5),
        (7_600_000_000, "full", 2e-5),
        (70_000_000_000, "full", 8e-6),
        (7_600_000_000, "lora", 2e-4),
        (70_000_000_000, "lora", 1e-4),
    ],
)
def test_learning_rate(
    build_known: BuildKnown, parameters: int, method: str, expected: float
) -> None:
    """Falls with size, and an adapter takes ten times as much."""
    edits = {"/facts/model/parameters": parameters, "/spec/method/type": method}
    spec, facts = build_known(edits)
    assert decide_learning_rate(spec, facts.model).value == pytest.approx(expected)


def test_attention_targets(build_known: BuildKnown) -> None:
    """`attention` names the four projections and no more."""
    plan = make_plan(*build_known({"/spec/method/targets": "attention"}))
    assert plan.decisions.lora.lora_targets is not None
    assert plan.decisions.lora.lora_targets.value == ("q_proj", "k_proj", "v_proj", "o_proj")
    assert plan.decisions.lora.lora_alpha is not None
    assert plan.decisions.lora.lora_alpha.value == 32


def test_a_full_fine_tune_has_no_adapter_and_sixteen_bytes_a_weight(
    build_known: BuildKnown,
) -> None:
    """fp32 weights, gradients and two moments at the optimizer step (no accumulation copies)."""
    spec, facts = build_known(FULL)
    plan = make_plan(spec, facts)
    assert plan.decisions.lora.lora_rank is None
    assert plan.decisions.compute.load_dtype.value == "fp32"
    per_weight = plan.memory.phases["optimizer_step"] / facts.model.parameters
    assert per_weight == pytest.approx(16, rel=0.005)


def test_zero_divides_what_it_says(build_known: BuildKnown) -> None:
    """ZeRO-3 holds 16 bytes over the processes, ZeRO-2 2 + 14; both make gradients fp32."""
    for strategy, whole in (("zero2", 2 + 18 / 8), ("zero3", 20 / 8)):
        edits = {
            **FULL,
            "/spec/distribution/strategy": strategy,
            "/spec/distribution/offload": "none",
            "/facts/hardware/count": 8,
        }
        spec, facts = build_known(edits)
        step = make_plan(spec, facts).memory.phases["optimizer_step"]
        buckets = 2 * 500_000_000 * 2
        assert (step - buckets) / facts.model.parameters == pytest.approx(whole, rel=0.01)


def test_disk_has_the_downloaded_models(build_known: BuildKnown) -> None:
    """A base of the Hub is in the cache beside `run/`; a folder's is there already."""
    origin, size = "/facts/model/origin", "/facts/model/weights_bytes"
    folder, hub, table = (
        make_plan(*build_known({origin: kind, size: weights}))
        for kind, weights in (("folder", 10**10), ("hub", 10**10), ("table", None))
    )
    assert (folder.download_bytes, hub.download_bytes) == (0, 10**10)
    assert hub.disk_bytes - folder.disk_bytes == 10**10
    assert table.download_bytes == 2 * build_known({})[1].model.parameters


def test_disk_grows_with_what_is_kept(build_known: BuildKnown) -> None:
    """A full checkpoint has 12 bytes a weight; a Q8_0 file has 8.5 bits a weight."""
    small = make_plan(*build_known({**FULL, "/spec/training/keep_checkpoints": 2}))
    spec, facts = build_known({**FULL, "/spec/training/keep_checkpoints": 3})
    large = make_plan(spec, facts)
    assert large.disk_bytes - small.disk_bytes == 12 * facts.model.parameters
    q8 = large.export_bytes["Q8_0"]
    assert q8 == pytest.approx(facts.model.parameters * 8.5 / 8, rel=0.001)


def test_time_follows_the_work(build_known: BuildKnown) -> None:
    """Twice the epochs train twice as long; unknown rates give no time."""
    once = make_plan(*build_known({"/spec/training/epochs": 1.0})).time
    twice = make_plan(*build_known({"/spec/training/epochs": 2.0})).time
    assert once is not None
    assert twice is not None
    assert twice.training_seconds == pytest.approx(2 * once.training_seconds, rel=0.01)
    assert once.loading_seconds == twice.loading_seconds
    assert make_plan(*build_known({"/facts/hardware/bf16_tflops": None})).time_seconds is None


def test_few_rows_at_a_time_cost_passes_on_a_cpu(build_known: BuildKnown) -> None:
    """A pass has its own cost beside its tokens (measured), and padding has one beside that."""
    small = {
        **FULL, **CPU, "/facts/hardware/count": 1, "/facts/hardware/cores": 2,
        "/config/hidden_size": 256, "/config/intermediate_size": 768, "/config/vocab_size": 2048,
        "/config/num_hidden_layers": 2, "/config/num_attention_heads": 4,
        "/spec/data/max_length": 64, "/spec/training/global_batch": 32,
    }  # fmt: skip
    short = {L + "mean": 40.0, L + "histogram": [[40, 500], [44, 400], [60, 100]]}
    plan = make_plan(*build_known({**small, **short}))
    assert plan.decisions.batch.micro_batch.value >= 4
    seconds = {}
    for micro in (1, 4):
        fixed = {"/spec/training/micro_batch": micro, L + "histogram": [[40, 1000]]}
        time = make_plan(*build_known({**small, **short, **fixed})).time
        assert time is not None
        seconds[micro] = time.training_seconds
    assert seconds[1] > 1.3 * seconds[4]


def test_an_evaluation_takes_the_rows_that_training_has_room_for(build_known: BuildKnown) -> None:
    """More than the micro-batch where that is small, and never above training's peak."""
    edits = {"/spec/training/micro_batch": 1, "/spec/training/gradient_checkpointing": False}
    plan = make_plan(*build_known(edits))
    batch, memory = plan.decisions.batch.eval_batch, plan.memory
    assert batch.value > 1
    assert batch.because.key == "eval_batch.more"
    assert memory.phases["evaluation"] <= memory.allocated_bytes
    few = make_plan(*build_known({**edits, "/spec/data/splits/validation": 0.0}))
    assert few.decisions.batch.eval_batch.because.key == "eval_batch.same"


def test_a_cost_is_a_price_for_each_gpu_and_hour(build_known: BuildKnown) -> None:
    """Twice the GPUs cost twice as much an hour; a machine without GPUs has one price."""
    spec, facts = build_known({"/spec/hardware/price_per_hour": 3.0})
    for count in (1, 4):
        counted = with_count(facts, count)
        plan = make_plan(spec, counted)
        assert plan.time is not None
        assert plan.cost is not None
        hours = plan.time.total_seconds / 3600
        assert plan.cost.total == pytest.approx(3.0 * count * hours, abs=0.006)
    free = make_plan(*build_known({}))
    assert free.cost is None
    on_cpu = make_plan(*build_known({**CPU, "/spec/hardware/price_per_hour": 3.0}))
    assert on_cpu.time is not None
    assert on_cpu.cost is not None
    assert on_cpu.cost.total == pytest.approx(on_cpu.time.total_seconds / 1200, abs=0.006)


@pytest.mark.parametrize("name", ["H100-SXM5-80GB", "RTX-4090", "a card of nobody's"])
def test_a_card_without_measured_rates_has_a_wider_range(
    build_known: BuildKnown, name: str
) -> None:
    """Rates are published of A100s only; a pilot on the machine is as good as those."""
    edits = {"/facts/hardware/name": name}
    here, there = (make_plan(*build_known(each)).time for each in ({}, edits))
    assert here is not None
    assert there is not None
    assert (there.evidence, there.total_seconds) == ("none", here.total_seconds)
    assert there.low_seconds == here.low_seconds
    wider = MOST_ELSEWHERE / 1.5
    assert there.high_seconds == pytest.approx(wider * here.high_seconds, abs=0.2)
    spec, facts = build_known(edits)
    measured = replace(facts.hardware, calibration=Calibration(memory=1, time=1, sha256=""))
    piloted = make_plan(spec, replace(facts, hardware=measured)).time
    assert piloted is not None
    assert piloted.evidence == "pilot"
    assert piloted.high_seconds == here.high_seconds


def test_time_is_all_of_its_parts_within_a_range(build_known: BuildKnown) -> None:
    """The parts add up to the total; a better card is faster, and never by accident."""
    plan = make_plan(*build_known({}))
    time = plan.time
    assert time is not None
    parts = (
        time.training_seconds,
        time.evaluation_seconds,
        time.saving_seconds,
        time.loading_seconds,
        time.judging_seconds,
    )
    assert min(parts) > 0
    assert time.total_seconds == pytest.approx(sum(parts), abs=0.5)
    assert time.total_seconds == plan.time_seconds
    assert 1.5 < time.high_seconds / time.low_seconds < 4
    assert time.evidence == "published"
    fast = make_plan(*build_known({"/facts/hardware/bf16_tflops": 990.0})).time
    assert fast is not None
    assert fast.training_seconds < time.training_seconds


def test_a_published_rate_lies_in_the_range(build_known: BuildKnown) -> None:
    """Mistral-7B, LoRA, plain, packed rows of 4,096 tokens on an A100-80GB: 3,062 tokens/s."""
    lengths = {f"{L}{name}": 4096 for name in ("mean", "p50", "p90", "p95", "p99", "max")}
    edits = {
        **lengths,
        L + "histogram": [[4096, 5000]],
        L + "prompt_p95": 8,
        L + "prompt_max": 8,
        "/facts/model/context_tokens": 32768,
        "/spec/training/micro_batch": 4,
        "/spec/training/gradient_checkpointing": True,
        "/facts/hardware/bf16_tflops": 312.0,
        "/facts/hardware/bandwidth_gb_s": 2039.0,
    }
    plan = make_plan(*build_known(edits))
    assert plan.time is not None
    middle = plan.time.tokens_per_second
    low = middle * plan.time.total_seconds / plan.time.high_seconds
    high = middle * plan.time.total_seconds / plan.time.low_seconds
    assert low < 3062.7 < high


def test_padding_grows_with_the_micro_batch(build_known: BuildKnown) -> None:
    """One row has the mean; many are padded to nearly the longest, and never beyond it."""
    lengths = build_known({})[1].data.lengths
    padded = [padded_tokens(lengths, rows, 512) for rows in (1, 2, 8, 64)]
    assert padded[0] == pytest.approx(lengths.mean)
    assert padded == sorted(padded)
    assert padded[-1] <= 512
    assert padded_tokens(lengths, 8, 100) <= 100


def test_sorted_steps_are_padded_as_draws_say(build_known: BuildKnown) -> None:
    """The formula beside steps that are drawn, sorted and cut."""
    drawn = random.Random(1)  # noqa: S311 - no secret
    tokens = [10 + int(drawn.expovariate(1 / 30)) for _ in range(4000)]
    rows = Counter(tokens)
    lengths = replace(
        build_known({})[1].data.lengths,
        mean=fmean(tokens),
        max=max(tokens),
        histogram=tuple(sorted(rows.items())),
    )

    for micro, step in ((8, 8), (8, 16), (4, 32), (2, 64)):
        steps = [sorted(drawn.sample(tokens, step), reverse=True) for _ in range(2000)]
        seen = fmean(fmean(cut[begin] for begin in range(0, step, micro)) for cut in steps)
        told = padded_tokens(lengths, micro, 512, sorted_rows=step)
        assert told == pytest.approx(seen, rel=0.03), (micro, step)
        assert told <= padded_tokens(lengths, micro, 512) * 1.001


@pytest.mark.parametrize("objective", ["sft", "kto"])
def test_memory_follows_the_longest_row(build_known: BuildKnown, objective: str) -> None:
    """A limit beyond every row adds nothing, but rows that were not counted may reach it."""
    edits = {"/spec/objective/type": objective, "/spec/data/packing": "none"}
    rows = build_known({})[1].data.rows

    def needed(more: dict[str, object]) -> int:
        return make_plan(*build_known(edits | more)).memory.device_bytes

    limit: dict[str, object] = {"/spec/data/max_length": 32768}
    limit |= {"/spec/training/micro_batch": 2, "/spec/training/global_batch": 16}
    close = needed(limit | {"/spec/data/max_length": 1024})
    assert needed(limit) == close
    estimated = needed(limit | {"/facts/data/lengths/estimate": True})
    sampled = needed(limit | {"/facts/data/sampled_rows": rows - 1})
    assert close < estimated < sampled
