"""The length of a row: rounding, outliers, the context, and what is cut."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ftc.compiler.plan.batch.lengths import (
    are_all_cut,
    decide_max_length,
    limit_lengths,
    longest_usual,
    round_up,
    share_above,
    usual_mean,
)
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.resolve.data.lengths import summarise
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
L = "/facts/data/lengths/"


@pytest.mark.parametrize(
    ("tokens", "expected"), [(0, 8), (1, 8), (8, 8), (9, 16), (512, 512), (513, 576), (640, 640)]
)
def test_round_up(tokens: int, expected: int) -> None:
    """Eights up to 512, then sixty-fours."""
    assert round_up(tokens) == expected


@pytest.mark.parametrize(
    ("edits", "length", "key"),
    [
        ({}, 504, "max_length.longest"),
        ({L + "max": 9000}, 512, "max_length.p99"),
        ({L + "max": 960}, 960, "max_length.longest"),
        ({L + "estimate": True}, 504, "max_length.longest.estimate"),
        ({"/facts/model/context_tokens": 256}, 256, "max_length.context"),
        ({"/spec/data/max_length": 100}, 100, "said"),
    ],
)
def test_max_length(
    build_known: BuildKnown, edits: Mapping[str, Any], length: int, key: str
) -> None:
    """Each reason has its own number."""
    spec, facts = build_known(edits)
    decision = decide_max_length(spec, facts.model, facts.data)
    assert (decision.value, decision.because.key) == (length, key)


def test_share_above(build_known: BuildKnown) -> None:
    """The share is never too low: a bin counts in full, and a percentile bounds what is above."""
    lengths = build_known({})[1].data.lengths
    assert share_above(lengths, 500) == 0
    assert share_above(lengths, 499) == pytest.approx(1 / 100)
    assert share_above(lengths, 384) == pytest.approx(280 / 5000)
    assert share_above(lengths, 256) == pytest.approx(1000 / 5000)
    assert share_above(lengths, 1) == 1


def test_an_outlier_costs_no_other_row() -> None:
    """One row far beyond the others leaves the length where it would be without it."""
    pairs = [(100 + n % 200, 50) for n in range(990)] + [(420, 50)] * 8
    alone = summarise(pairs, estimate=False)
    joined = summarise([*pairs, (1_000_000, 999_000)], estimate=False)
    assert longest_usual(alone) == 420
    assert round_up(longest_usual(joined)) == round_up(420)


@pytest.mark.parametrize(
    ("tokens", "length", "expected"),
    [
        ([300, 400, 900], 256, True),
        ([257, 257], 256, True),
        ([256, 300], 256, False),
        ([1001, 1030], 1000, False),  # in one bin with rows that are shorter
        ([2000], 1000, True),
    ],
)
def test_whether_all_rows_are_cut(tokens: list[int], length: int, expected: bool) -> None:
    """Only where the histogram shows it."""
    assert (
        are_all_cut(summarise([(each, 0) for each in tokens], estimate=False), length) is expected
    )


def test_one_absurd_row_changes_no_mean() -> None:
    """A dropped row does not count in the mean; a row that is cut counts with the limit."""
    usual = [(60 + place % 40, 30) for place in range(1000)]
    alone = summarise(usual, estimate=False)
    joined = summarise([*usual[1:], (2_000_000, 30)], estimate=False)
    assert joined.mean > 2000

    dropped = limit_lengths(joined, 104, drops=True)
    cut = limit_lengths(joined, 104, drops=False)

    assert limit_lengths(alone, 104, drops=True) is alone
    assert dropped.mean == pytest.approx(alone.mean, abs=1)
    assert usual_mean(joined) == dropped.mean
    assert sum(rows for _, rows in dropped.histogram) == 999
    assert sum(rows for _, rows in cut.histogram) == 1000
    assert (dropped.max, cut.max) == (104, 104)
    assert dropped.mean < cut.mean < dropped.mean + 1


def test_rows_that_are_all_too_long_have_the_limit() -> None:
    """No row is left to have a mean."""
    longer = summarise([(500, 30)] * 50, estimate=False)
    assert limit_lengths(longer, 100, drops=True).mean == 100


def test_one_absurd_row_changes_no_plan(build_known: BuildKnown) -> None:
    """The tokens of a step and the padding are those of the rows that are trained on."""
    usual = [(60 + place % 40, 30) for place in range(1000)]
    plans = []
    for pairs in (usual, [*usual[1:], (2_000_000, 30)]):
        lengths = summarise(pairs, estimate=False)
        spec, facts = build_known({})
        changed = replace(facts, data=replace(facts.data, lengths=lengths))
        plans.append(make_plan(spec, changed))
    one, other = plans
    assert other.tokens_per_step == pytest.approx(one.tokens_per_step, rel=0.05)
    assert other.decisions.rows.packing.value == one.decisions.rows.packing.value


def test_rows_that_are_dropped_do_not_set_the_longest(build_known: BuildKnown) -> None:
    """A limit between the last kept row and the first dropped one changes nothing."""
    lengths = build_known({})[1].data.lengths
    mixed = replace(
        lengths, max=40_000, p99=40_000, histogram=((200, 900), (504, 60), (40_000, 40))
    )
    kept = [limit_lengths(mixed, limit, drops=True) for limit in (1024, 16_384)]
    assert [each.max for each in kept] == [504, 504]
    assert limit_lengths(mixed, 1024, drops=False).max == 1024
