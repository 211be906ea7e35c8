"""How many rows each split will hold."""

from collections.abc import Mapping
from dataclasses import dataclass

from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.mixture import count_rows, decide_mixture, is_weighed
from ftc.compiler.plan.sampling import find_rewards
from ftc.compiler.plan.source import decide, derived, keep
from ftc.compiler.resolve.facts import DataFacts
from ftc.spec.sections import BestBy, Metric, Spec

_OPEN_ANSWER_TOKENS = 128
_MOST_JUDGED_ROWS = 256
_MOST_ANSWER_TOKENS = 1024  # an answer is written one token at a time
_LEAST_ROWS = 3  # one for each split


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """The decided splits, in rows."""

    train: Decision[int]
    validation: Decision[int]
    test: Decision[int]
    stratify: Decision[bool]
    mixture: Decision[Mapping[str, int]] | None = None


def decide_splits(spec: Spec, data: DataFacts, max_length_tokens: int) -> Splits:
    """Rows per split by the spec's shares; a share above zero gets at least one row of three."""
    parts = count_rows(spec, data, max_length_tokens)
    rows = sum(parts)
    test = _share(spec.data.splits.test, rows)
    validation = min(_share(spec.data.splits.validation, rows), max(0, rows - test - 1))

    def stratify() -> tuple[bool, Because]:
        if data.labels:
            return True, Because(key="stratify.labels", values={"labels": len(data.labels)})
        if data.feedback is not None:
            return True, Because(key="stratify.feedback")
        return False, Because(key="stratify.none")

    train = derived(rows - test - validation, "rows.train", rows=rows)
    mixture = decide_mixture(spec, data, parts, train_share=train.value / max(1, rows))
    if mixture is not None and is_weighed(spec):
        train = derived(sum(mixture.value.values()), "rows.mixture", rows=rows)
    return Splits(
        train=train,
        validation=derived(validation, "rows.share", share=spec.data.splits.validation, rows=rows),
        test=derived(test, "rows.share", share=spec.data.splits.test, rows=rows),
        stratify=decide(spec, "/data/splits/stratify", spec.data.splits.stratify, stratify),
        mixture=mixture,
    )


def decide_metric(spec: Spec, data: DataFacts) -> Decision[Metric]:
    """Accuracy where the answers form a closed set of labels, macro-F1 where a head tells them."""

    def derive() -> tuple[Metric, Because]:
        if spec.objective.type == "reward":
            return "none", Because(key="metric.rewards")
        if spec.objective.type == "classification":
            return "macro_f1", Because(key="metric.classes", values={"labels": len(data.labels)})
        if spec.objective.type == "grpo":
            return _rewarded_metric(spec, data)
        if data.labels:
            return "accuracy", Because(key="metric.labels", values={"labels": len(data.labels)})
        return "none", Because(key="metric.none")

    return decide(spec, "/training/evaluation/metric", spec.training.evaluation.metric, derive)


def decide_best_by(spec: Spec) -> Decision[BestBy]:
    """Return what the best checkpoint is known by; a classification's metric costs nothing."""
    pointer = "/training/evaluation/best_by"
    if spec.objective.type == "classification" and pointer not in spec.said:
        return derived("metric", "best_by.classes")
    if spec.objective.type == "grpo":
        return derived("metric", "best_by.reward")
    return keep(spec, pointer, spec.training.evaluation.best_by)


def decide_answered_rows(spec: Spec, splits: Splits) -> Decision[int] | None:
    """Return how many validation rows each evaluation answers, None where the loss decides."""
    evaluation = spec.training.evaluation
    sampled = spec.objective.type == "grpo"
    if (evaluation.best_by == "loss" and not sampled) or spec.objective.type == "classification":
        return None
    rows = splits.validation.value
    if evaluation.answered_rows > rows:
        return derived(rows, "answered_rows.all", rows=rows)
    return keep(spec, "/training/evaluation/answered_rows", evaluation.answered_rows)


def decide_judged_rows(data: DataFacts, test_rows: int) -> Decision[int]:
    """Return how many test rows are answered: labels all of them, free text a part."""
    if data.labels or test_rows <= _MOST_JUDGED_ROWS:
        return derived(test_rows, "judged_rows.all")
    return derived(_MOST_JUDGED_ROWS, "judged_rows.part", rows=test_rows)


def decide_answer_tokens(data: DataFacts, metric: Metric) -> Decision[int]:
    """Return how many new tokens evaluation may generate: free text that is judged, to its end.

    Tokenizers take two characters or more per token of ordinary words, so half the characters of
    the longest label, and some room, hold it.
    """
    if not data.labels:
        longest = min(_MOST_ANSWER_TOKENS, data.lengths.answer_max)
        if metric != "none" and longest > _OPEN_ANSWER_TOKENS:
            return derived(longest, "answer_tokens.judged", tokens=longest)
        return derived(_OPEN_ANSWER_TOKENS, "answer_tokens.open")
    longest = max(len(label.name) for label in data.labels)
    return derived(min(64, longest // 2 + 8), "answer_tokens.labels", characters=longest)


def _rewarded_metric(spec: Spec, data: DataFacts) -> tuple[Metric, Because]:
    """Judge answers to their end by what is rewarded, and by their letters where that is open."""
    matches = [reward.match for reward in find_rewards(spec, data)]
    if "numeric" in matches:
        return "numeric_match", Because(key="metric.numeric_reward")
    key = "metric.exact_reward" if "exact" in matches else "metric.other_reward"
    return "exact_match", Because(key=key)


def _share(share: float, rows: int) -> int:
    if share <= 0 or rows < _LEAST_ROWS:
        return 0
    return min(rows - 1, max(1, round(rows * share)))
