"""The metrics that compare a generated answer with the correct one.

All are between 0 and 1, and higher is better. Modules of `runtime/` with these names compute them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricEntry:
    """The metric's title, whether it is for labels, and the package that computes it."""

    title: str
    of_labels: bool = False
    package: str | None = None


METRICS: Final[Mapping[str, MetricEntry]] = {
    "accuracy": MetricEntry(title="accuracy", of_labels=True),
    "macro_f1": MetricEntry(title="macro-F1", of_labels=True),
    "exact_match": MetricEntry(title="exact match"),
    "numeric_match": MetricEntry(title="numeric match"),
    "rouge_l": MetricEntry(title="ROUGE-L", package="rouge-score"),
    "chrf": MetricEntry(title="chrF", package="sacrebleu"),
}
