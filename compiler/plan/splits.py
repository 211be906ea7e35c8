"""How many rows each split will hold."""

from dataclasses import dataclass

from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.lengths import share_above
from ftc.compiler.plan.source import decide, derived
from ftc.compiler.resolve.facts import DataFacts
from ftc.spec.sections import Metric, Spec

_LEAST_ROWS = 3  # one for each split


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """The decided splits, in rows."""

    train: Decision[int]
    validation: Decision[int]
    test: Decision[int]
    stratify: Decision[bool]


def decide_splits(spec: Spec, data: DataFacts, max_length_tokens: int) -> Splits:
    """Rows per split by the spec's shares; a share above zero gets at least one row of three."""
    rows = data.usable_rows
    if spec.data.max_rows is not None:
        rows = min(rows, spec.data.max_rows)
    if spec.data.cleaning.overlong == "drop":
        rows -= round(rows * share_above(data.lengths, max_length_tokens))
    test = _share(spec.data.splits.test, rows)
    validation = min(_share(spec.data.splits.validation, rows), max(0, rows - test - 1))

    def stratify() -> tuple[bool, Because]:
        if data.labels:
            return True, Because(key="stratify.labels", values={"labels": len(data.labels)})
        return False, Because(key="stratify.none")

    return Splits(
        train=derived(rows - test - validation, "rows.train", rows=rows),
        validation=derived(validation, "rows.share", share=spec.data.splits.validation, rows=rows),
        test=derived(test, "rows.share", share=spec.data.splits.test, rows=rows),
        stratify=decide(spec, "/data/splits/stratify", spec.data.splits.stratify, stratify),
    )


def decide_metric(spec: Spec, data: DataFacts) -> Decision[Metric]:
    """Accuracy where the answers form a closed set of labels."""

    def derive() -> tuple[Metric, Because]:
        if data.labels:
            return "accuracy", Because(key="metric.labels", values={"labels": len(data.labels)})
        return "none", Because(key="metric.none")

    return decide(spec, "/training/evaluation/metric", spec.training.evaluation.metric, derive)


def decide_answer_tokens(data: DataFacts) -> Decision[int]:
    """Return how many new tokens evaluation may generate.

    Tokenizers take two characters or more per token of ordinary words, so half the characters of
    the longest label, and some room, hold it.
    """
    if not data.labels:
        return derived(128, "answer_tokens.open")
    longest = max(len(label.name) for label in data.labels)
    return derived(min(64, longest // 2 + 8), "answer_tokens.labels", characters=longest)


def _share(share: float, rows: int) -> int:
    if share <= 0 or rows < _LEAST_ROWS:
        return 0
    return min(rows - 1, max(1, round(rows * share)))
