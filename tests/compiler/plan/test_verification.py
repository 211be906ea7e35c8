"""The bounds of a verified export: the spec's, or derived from what is published."""

import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import pytest

from ftc.compiler.plan import verification
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.verification import Verification, decide_verification
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
TYPES = {"/spec/export/types": ["Q8_0", "Q4_K_M", "Q2_K"]}
SMALL = {"/facts/model/parameters": 135_000_000}
V = "/spec/export/verify/"


def decide(build_known: BuildKnown, edits: Mapping[str, Any], rows: int = 400) -> Verification:
    """Decide for the base spec with three types and edits."""
    spec, facts = build_known({**TYPES, **edits})
    found = decide_verification(spec, facts, "accuracy", test_rows=rows)
    assert found is not None
    return found


def bound(found: Verification, name: str) -> dict[str, float]:
    """Return one bound by type."""
    return dict(getattr(found, name).value)


def test_a_smaller_type_may_lose_more(build_known: BuildKnown) -> None:
    """Every bound loosens from Q8_0 to Q2_K, and none is empty."""
    found = decide(build_known, {})
    for name in ("max_divergence", "max_perplexity_ratio", "max_metric_drop"):
        values = list(bound(found, name).values())
        assert values == sorted(values)
        assert getattr(found, name).source == "derived"
    agreements = list(bound(found, "min_agreement").values())
    assert agreements == sorted(agreements, reverse=True)
    assert agreements[0] > 0.9


def test_a_small_model_may_lose_more(build_known: BuildKnown) -> None:
    """Below two billion parameters the margin is nine, above it four."""
    large = bound(decide(build_known, {}), "max_divergence")
    small = bound(decide(build_known, SMALL), "max_divergence")
    assert large["Q4_K_M"] == pytest.approx(4 * 0.031273 + 0.01, rel=0.01)
    assert small["Q4_K_M"] == pytest.approx(9 * 0.031273 + 0.01, rel=0.01)


def test_one_number_of_the_spec_holds_for_every_type(build_known: BuildKnown) -> None:
    """What is said is kept, and named as said; what is left open stays derived."""
    found = decide(build_known, {V + "max_divergence": 0.5, V + "tokens": 512})
    assert bound(found, "max_divergence") == {"Q8_0": 0.5, "Q4_K_M": 0.5, "Q2_K": 0.5}
    sources = [getattr(found, name).source for name in ("tokens", "max_divergence")]
    assert sources == ["spec", "spec"]
    assert found.tokens.value == 512
    assert found.min_agreement is not None
    assert found.min_agreement.source == "derived"


def test_few_rows_leave_room_for_chance(build_known: BuildKnown) -> None:
    """Two rows of twenty are no evidence that answers were lost."""
    few, many = decide(build_known, {}, rows=20), decide(build_known, {}, rows=4000)
    drops = [bound(found, "max_metric_drop")["Q8_0"] for found in (few, many)]
    assert many.max_metric_drop is not None
    rows = many.max_metric_drop.because.values["rows"]
    difference = drops[0] - drops[1]
    assert difference == pytest.approx(2 / 20 - 2 / rows, abs=0.001)
    assert rows <= 400


@pytest.mark.parametrize(
    ("edits", "bounded", "metric"),
    [
        ({}, True, True),
        ({"/spec/export/types": []}, False, False),
        ({"/spec/training/evaluation/metric": "none"}, True, False),
        ({"/spec/data/splits/test": 0.0}, True, False),
    ],
)
def test_what_cannot_be_measured_has_no_bound(
    build_known: BuildKnown, edits: Mapping[str, Any], bounded: bool, metric: bool
) -> None:
    """Without files there are no bounds, without a metric or held-out rows none on it."""
    decided = make_plan(*build_known({"/spec/training/evaluation/metric": "accuracy", **edits}))
    names = decided.decisions.items().keys()
    assert ({"max_divergence", "verify_tokens"} <= names) == bounded
    assert ("max_metric_drop" in names) == metric


def test_verifying_takes_disk(build_known: BuildKnown) -> None:
    """A thousand tokens more take two bytes each per word of the vocabulary."""
    few = make_plan(*build_known({V + "tokens": 1000})).disk_bytes
    many = make_plan(*build_known({V + "tokens": 2000})).disk_bytes
    assert many - few == 2 * 1000 * 152_064


def test_the_script_reads_as_much_as_the_plan_counts_on() -> None:
    """`fidelity.py` and the plan agree on how many rows are asked and tokens read."""
    script = files("ftc.templates").joinpath("fidelity.py.j2").read_text(encoding="utf-8")
    asked = re.search(r"^ASKED_ROWS = (\d+)", script, re.MULTILINE)
    read = re.search(r"^READ_TOKENS = (\d+) \* TOKENS", script, re.MULTILINE)
    assert asked is not None
    assert read is not None
    assert int(asked[1]) == verification._ASKED_ROWS
    assert int(read[1]) == verification._READ_TIMES
