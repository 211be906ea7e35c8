"""Whether rows are packed or grouped by length, and the reasons."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.reasons import sentence
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
Machine = tuple[str, int, int]  # kind, GiB of memory, devices
GIB = 2**30
AUTO: Mapping[str, Any] = {"/spec/data/packing": "auto"}
# Nine short rows for each long one.
UNEVEN: Mapping[str, Any] = {
    "/facts/data/lengths/mean": 70.0,
    "/facts/data/lengths/histogram": [[24, 4500], [512, 500]],
}
EVEN: Mapping[str, Any] = {
    "/facts/data/lengths/mean": 497.0,
    "/facts/data/lengths/histogram": [[512, 5000]],
}


def plan_of(build: BuildKnown, *edits: Mapping[str, Any]) -> Plan:
    """Plan the base with these edits, packing left open."""
    merged: dict[str, Any] = dict(AUTO)
    for edit in edits:
        merged |= edit
    return make_plan(*build(merged))


def test_uneven_rows_are_packed(build_known: BuildKnown) -> None:
    """A packed epoch has as many tokens in fewer, fuller rows, and takes less time."""
    packed = plan_of(build_known, UNEVEN)
    alone = {"/spec/data/packing": "none", "/spec/training/group_by_length": False}
    padded = plan_of(build_known, UNEVEN, alone)
    d = packed.decisions
    assert (d.rows.packing.value, d.rows.packing.source) == ("best-fit", "derived")
    assert d.rows.packed_length is not None
    assert d.rows.packed_rows is not None
    assert not d.rows.group_by_length.value
    assert "padding each step to its longest row" in sentence(d.rows.packing.because)
    tokens = d.rows.packed_rows.value * d.rows.packed_length.value
    assert 0.9 < 70.0 * d.splits.train_rows.value / tokens <= 1.0
    assert packed.time is not None
    assert padded.time is not None
    assert packed.time.training_seconds < padded.time.training_seconds / 1.3
    assert 0.5 < packed.tokens_per_step / padded.tokens_per_step < 2
    assert padded.decisions.rows.packed_rows is None


def test_rows_that_are_alike_are_not(build_known: BuildKnown) -> None:
    """Where nothing is padded there is nothing to gain."""
    decisions = plan_of(build_known, EVEN).decisions
    assert decisions.rows.packing.value == "none"
    assert decisions.rows.packing.because.key == "packing.even"
    assert not decisions.rows.group_by_length.value


@pytest.mark.parametrize(
    ("edits", "key"),
    [
        ({"/spec/training/global_batch": 32}, "packing.counted"),
        ({"/spec/training/micro_batch": 2}, "packing.counted"),
        ({"/spec/training/group_by_length": True}, "packing.grouped"),
        ({"/facts/model/architecture": "FalconForCausalLM"}, "packing.leaks"),
        ({"/facts/model/architecture": "NewForCausalLM"}, "packing.unknown"),
        ({"/facts/data/usable_rows": 60, "/facts/data/lengths/mean": 12.0}, "packing.long"),
    ],
)
def test_why_rows_are_not_packed(
    build_known: BuildKnown, edits: Mapping[str, Any], key: str
) -> None:
    """What the user counted in rows stays in rows; what may leak or is too long is not packed."""
    decisions = plan_of(build_known, UNEVEN, edits).decisions
    assert (decisions.rows.packing.value, decisions.rows.packing.because.key) == ("none", key)
    assert sentence(decisions.rows.packing.because)


def test_grouping_is_for_what_cannot_be_packed(build_known: BuildKnown) -> None:
    """Where rows stay by themselves, and a step has too few to find others as long."""
    leaks = {"/facts/model/architecture": "FalconForCausalLM"}
    few = {"/spec/training/global_batch": 4, "/spec/training/micro_batch": 4}
    grouped = plan_of(build_known, UNEVEN, leaks, few).decisions.rows.group_by_length
    assert (grouped.value, grouped.source) == (True, "derived")
    assert "sorted only within each step" in sentence(grouped.because)
    said = {"/spec/training/group_by_length": False}
    assert not plan_of(build_known, UNEVEN, leaks, few, said).decisions.rows.group_by_length.value
    many = {"/spec/training/global_batch": 64, "/spec/training/micro_batch": 4}
    assert not plan_of(build_known, UNEVEN, leaks, many).decisions.rows.group_by_length.value


def test_what_the_spec_says_is_done(build_known: BuildKnown) -> None:
    """Best-fit packs even rows too, and a batch then counts packed rows."""
    edits = {"/spec/data/packing": "best-fit", "/spec/training/global_batch": 6}
    d = plan_of(build_known, EVEN, edits).decisions
    assert (d.rows.packing.value, d.rows.packing.source) == ("best-fit", "spec")
    assert d.rows.packed_rows is not None
    assert d.batch.global_batch.value == 6
    assert d.batch.micro_batch.value * d.batch.accumulation.value == 6


def test_tight_memory_packs_to_the_longest_row(build_known: BuildKnown) -> None:
    """A packed row may be as long as a step only where that fits."""
    full = {"/spec/method/type": "full", "/facts/hardware/memory_bytes": 141 * GIB}
    roomy = plan_of(build_known, UNEVEN, full).decisions.rows.packed_length
    small = {"/facts/hardware/memory_bytes": 18 * GIB}
    tight = plan_of(build_known, UNEVEN, small).decisions
    assert roomy is not None
    assert tight.rows.packed_length is None or tight.rows.packed_length.value <= roomy.value


def arrangement(build: BuildKnown, edits: Mapping[str, Any], machine: Machine) -> tuple[Any, ...]:
    """Return the global batch, and what is decided of the order of rows on this machine."""
    kind, gib, count = machine
    hardware = {
        "/facts/hardware/kind": kind,
        "/facts/hardware/count": count,
        "/facts/hardware/memory_bytes": gib * GIB,
    }
    d = plan_of(build, edits, hardware).decisions
    length = d.rows.packed_length and d.rows.packed_length.value
    return d.batch.global_batch.value, d.rows.packing.value, d.rows.group_by_length.value, length


@settings(max_examples=60)
@given(
    rows=st.integers(400, 200_000),
    data=st.tuples(st.integers(1, 400), st.floats(0, 1)),
    kind=st.tuples(
        st.sampled_from(["sft", "cpt", "classification"]),
        st.sampled_from(["auto", "best-fit", "none"]),
    ),
    said=st.sampled_from([{}, {"global_batch": 8}, {"global_batch": 64}]),
)
def test_more_processes_form_the_same_steps(
    build_known: BuildKnown,
    rows: int,
    data: tuple[int, float],
    kind: tuple[str, str],
    said: Mapping[str, int],
) -> None:
    """Rows are packed, grouped or neither by the data and the global batch, on 1, 2 or 4 devices.

    With little memory rows are packed shorter, but whether they are packed does not change.
    """
    (short, share), (objective, packing) = data, kind
    pairs = [[short, round(5000 * share)], [512, 5000 - round(5000 * share)]]
    histogram = [pair for pair in pairs if pair[1]]
    edits = {
        "/facts/data/usable_rows": rows,
        "/facts/data/lengths/histogram": histogram,
        "/facts/data/lengths/mean": min(sum(edge * n for edge, n in pairs) / 5000, 500.0),
        "/spec/objective/type": objective,
        "/spec/data/packing": packing,
        **({"/facts/data/form": "text"} if objective == "cpt" else {}),
        **{f"/spec/training/{name}": value for name, value in said.items()},
    }
    first, *others = (arrangement(build_known, edits, ("gpu", 141, n)) for n in (1, 2, 4))
    assert [found[1:] for found in others] == [first[1:]] * 2
    if objective != "cpt" and packing != "best-fit":  # a step of one packed row is not divided
        assert {found[0] for found in others} == {first[0]}
    alone, *more = (arrangement(build_known, edits, ("gpu", 16, n)) for n in (1, 2, 4))
    assert {found[1:3] for found in (alone, *more)} == {first[1:3]}
    assert arrangement(build_known, edits, ("cpu", 141, 2))[1:3] == first[1:3]


@settings(max_examples=60)
@given(
    rows=st.integers(0, 200_000),
    data=st.tuples(st.integers(1, 400), st.floats(0, 1)),
    count=st.sampled_from([1, 2, 8, 64]),
    packing=st.sampled_from(["auto", "best-fit"]),
)
def test_the_numbers_agree(
    build_known: BuildKnown, rows: int, data: tuple[int, float], count: int, packing: str
) -> None:
    """Batches multiply out, and packed rows hold all rows of the split."""
    short, share = data
    histogram = [[short, round(5000 * share)], [512, 5000 - round(5000 * share)]]
    histogram = [pair for pair in histogram if pair[1]]
    mean = sum(edge * n for edge, n in histogram) / 5000
    edits = {
        "/facts/data/usable_rows": rows,
        "/facts/hardware/count": count,
        "/facts/data/lengths/histogram": histogram,
        "/facts/data/lengths/mean": min(mean, 500.0),
        "/spec/data/packing": packing,
    }
    d = plan_of(build_known, edits).decisions
    assert (
        d.batch.micro_batch.value * d.batch.accumulation.value * d.distribution.world.value
        == d.batch.global_batch.value
    )
    assert (
        (d.rows.packed_rows is None)
        == (d.rows.packed_length is None)
        == (d.rows.packing.value == "none")
    )
    if d.rows.packed_rows is not None and d.rows.packed_length is not None:
        assert d.rows.packed_rows.value <= d.splits.train_rows.value
        assert d.rows.packed_length.value >= d.rows.max_length.value
        assert d.batch_rows == d.rows.packed_rows.value


def test_long_texts_are_planned_in_pieces(build_known: BuildKnown) -> None:
    """Nothing is cut: pieces of a usual length have all tokens of the texts."""
    texts = {
        "/spec/objective/type": "cpt",
        "/facts/data/form": "text",
        "/facts/data/lengths/mean": 10_000.0,
        "/facts/data/lengths/max": 20_000,
        "/facts/data/lengths/histogram": [[1000, 2500], [20_000, 2500]],
    }
    plan = plan_of(build_known, texts)
    d = plan.decisions
    assert (d.rows.max_length.value, d.rows.max_length.because.key) == (2048, "max_length.pieces")
    assert d.rows.packing.because.key == "packing.text"
    assert d.rows.packed_rows is not None
    assert d.rows.packed_length is not None
    tokens = 10_000 * d.splits.train_rows.value
    assert 0.9 < tokens / (d.rows.packed_rows.value * d.rows.packed_length.value) <= 1.0
    assert (d.splits.train_rows.value, d.training.epochs.value) == (4000, 1.0)


def test_a_step_mixes_packed_rows(build_known: BuildKnown) -> None:
    """At least four of them, as best fit puts rows of about the same length together."""
    for rows in (5000, 20_000, 200_000):
        d = plan_of(build_known, UNEVEN, {"/facts/data/usable_rows": rows}).decisions
        assert d.rows.packing.value == "none" or d.batch.global_batch.value >= 4


@pytest.mark.parametrize("objective", ["dpo", "kto", "orpo", "reward"])
def test_answers_side_by_side_are_never_grouped(build_known: BuildKnown, objective: str) -> None:
    """Their rows have no length of their own, however uneven the data are."""
    few = {"/spec/training/global_batch": 4, "/spec/training/micro_batch": 4}
    said = {"/spec/objective/type": objective, "/spec/data/packing": "none", **few}
    decision = plan_of(build_known, UNEVEN, said).decisions.rows.group_by_length
    assert not decision.value
    assert decision.because.key == "grouping.comparing"


def test_a_pass_of_one_row_has_no_padding(build_known: BuildKnown) -> None:
    """Grouping is weighed with the micro-batch that the spec sets."""
    edits = {"/spec/training/micro_batch": 1, "/spec/training/global_batch": 8}
    because = make_plan(*build_known(edits)).decisions.rows.group_by_length.because
    assert because.key == "grouping.off"
    assert because.values == {"rows": 1, "more_share": pytest.approx(0, abs=0.01)}


def test_nothing_fits_with_or_without_recomputing(build_known: BuildKnown) -> None:
    """The reason does not say that activations fit."""
    edits = {"/facts/hardware/memory_bytes": 2**30, "/spec/method/type": "full"}
    plan = make_plan(*build_known(edits))
    assert plan.memory.fits is False
    decided = plan.decisions.batch.gradient_checkpointing
    assert decided.value or decided.because.key == "checkpointing.unfit"
