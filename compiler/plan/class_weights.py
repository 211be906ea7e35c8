"""Class weights: how much a row of each label counts in the loss of a classification."""

from collections.abc import Sequence
from typing import Final, Literal

from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.plan import Weights
from ftc.compiler.plan.source import decide
from ftc.compiler.resolve.facts import DataFacts, Label
from ftc.spec.sections import Spec

_UNEVEN: Final = 2.0  # labels of nearly as many rows count nearly alike without weights


def decide_class_weights(spec: Spec, data: DataFacts) -> Decision[Weights] | None:
    """Return the weights of a classification, None under other objectives.

    Balanced weights are rows / (labels x rows of the label) of the training split: each label then
    counts alike, and the mean over all rows stays 1 (scikit-learn's `compute_class_weight`).
    """
    if spec.objective.type != "classification":
        return None
    said = spec.objective.class_weights
    written: Weights | Literal["auto"] = (
        {each.label: each.weight for each in said} if isinstance(said, tuple) else said
    )

    def derive() -> tuple[Weights, Because]:
        ratio = find_unevenness(data.labels)
        if ratio < _UNEVEN:
            return "none", Because(key="class_weights.even", values={"labels": len(data.labels)})
        return "balanced", Because(key="class_weights.uneven", values={"ratio": round(ratio, 1)})

    return decide(spec, "/objective/class_weights", written, derive)


def find_unevenness(labels: Sequence[Label]) -> float:
    """Return the rows of the most common label over those of the rarest."""
    counts = [label.rows for label in labels]
    return max(counts, default=1) / max(1, min(counts, default=1))
