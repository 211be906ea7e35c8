"""Class weights follow the labels' counts, and a head's weights are in the plan."""

from collections.abc import Mapping
from typing import Any

import pytest

from ftc.compiler.plan.objective.comparison import decide_class_weights
from ftc.compiler.plan.planner import make_plan
from tests.compiler.conftest import BuildKnown

SCORED = {"/spec/objective/type": "classification", "/spec/export/types": []}
UNEVEN = [{"name": "usual", "rows": 4000}, {"name": "rare", "rows": 1000}]
FRAUD = [{"label": "rare", "weight": 7.5}]


@pytest.mark.parametrize(
    ("edits", "value", "source"),
    [
        ({}, "none", "derived"),
        ({"/facts/data/labels": UNEVEN}, "balanced", "derived"),
        ({"/facts/data/labels": UNEVEN, "/spec/objective/class_weights": "none"}, "none", "spec"),
        ({"/spec/objective/class_weights": "balanced"}, "balanced", "spec"),
        (
            {"/facts/data/labels": UNEVEN, "/spec/objective/class_weights": FRAUD},
            {"rare": 7.5},
            "spec",
        ),
    ],
)
def test_weights(
    build_known: BuildKnown, edits: Mapping[str, Any], value: object, source: str
) -> None:
    """Labels of nearly as many rows need none; what the spec says is kept."""
    spec, facts = build_known({**SCORED, **edits})

    decision = decide_class_weights(spec, facts.data)

    assert decision is not None
    assert (decision.value, decision.source) == (value, source)


def test_other_objectives_have_none(build_known: BuildKnown) -> None:
    """Words are not weighed."""
    spec, facts = build_known({})

    assert decide_class_weights(spec, facts.data) is None


@pytest.mark.parametrize("method", ["lora", "qlora", "full"])
def test_the_head_is_in_the_plan(build_known: BuildKnown, method: str) -> None:
    """Beside an adapter the head is trained whole; in a full fine-tune it replaces the other."""
    edits = {"/spec/method/type": method, "/spec/training/micro_batch": 2}
    words = make_plan(*build_known({**edits, "/spec/export/types": []}))
    scores = make_plan(*build_known({**edits, **SCORED}))
    shape = build_known(edits)[1].model.shape
    assert shape is not None
    head = 3 * shape.hidden

    moved = words.trainable_parameters + head - (shape.head_parameters if method == "full" else 0)
    assert scores.trainable_parameters == moved
    if method != "qlora":  # whose adapters are fp32 here, and so is what they keep of their input
        assert scores.memory.device_bytes < words.memory.device_bytes
    assert scores.memory.parts["loss"]["loss"] < words.memory.parts["loss"]["loss"] / 3
    assert scores.decisions.evaluation.metric.value == "macro_f1"
    assert scores.decisions.evaluation.best_by.value == "metric"
