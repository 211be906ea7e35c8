"""The bounds of a verified export: the spec's numbers, or left to be measured."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ftc.compiler.plan.gguf.verification import Verification, decide_verification
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.resolve.facts import KnownFacts
from ftc.runtime.compare import noise_response
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
TYPES = {"/spec/export/types": ["Q8_0", "Q4_K_M", "Q2_K"]}
V = "/spec/export/verify/"
BOUNDS = ("max_divergence", "min_agreement", "max_perplexity_ratio", "max_metric_drop")


def decide(build_known: BuildKnown, edits: Mapping[str, Any], rows: int = 400) -> Verification:
    """Decide for the base spec with three types and edits."""
    spec, facts = build_known({**TYPES, **edits})
    found = decide_verification(spec, facts, "accuracy", test_rows=rows)
    assert found is not None
    return found


def test_a_bound_left_open_is_measured(build_known: BuildKnown) -> None:
    """No number is made up before the model is trained, whatever its size."""
    for edits in ({}, {"/facts/model/parameters": 135_000_000}):
        found = decide(build_known, edits)
        for name in BOUNDS:
            bound = getattr(found, name)
            assert (bound.value, bound.source) == ("measured", "derived")


def test_a_number_of_the_spec_is_kept(build_known: BuildKnown) -> None:
    """What is said is kept, and named as said; what is left open stays measured."""
    found = decide(build_known, {V + "max_divergence": 0.5, V + "tokens": 512})
    assert found.max_divergence is not None
    assert found.min_agreement is not None
    assert found.max_divergence.value == 0.5
    assert (found.tokens.source, found.max_divergence.source) == ("spec", "spec")
    assert found.tokens.value == 512
    assert found.min_agreement.value == "measured"


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


def test_the_reason_says_what_the_scripts_do() -> None:
    """The three standard errors of the reason are those of the bundle's module."""
    assert noise_response.CHANCES == 3


@pytest.mark.parametrize("objective", ["embed", "rerank"])
def test_compared_texts_have_no_bounds_of_tokens(build_known: BuildKnown, objective: str) -> None:
    """Vectors and scores of pairs predict no token, whatever is exported."""
    spec, facts = build_known({**TYPES, "/spec/objective/type": objective})
    assert decide_verification(spec, facts, "none", test_rows=400) is None


@pytest.mark.parametrize(
    ("metric", "form", "judged"),
    [
        ("accuracy", "prompt_completion", True),
        ("none", "prompt_completion", False),
        ("none", "text", False),
    ],
)
def test_rows_are_judged_only_where_the_model_answers(
    build_known: BuildKnown, metric: str, form: str, judged: bool
) -> None:
    """Without a metric evaluate.py measures losses alone."""
    edits = {"/spec/training/evaluation/metric": metric, "/facts/data/form": form}
    decided = make_plan(*build_known(edits)).decisions
    assert (decided.evaluation.judged_rows is not None) == judged
