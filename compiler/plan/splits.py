"""Decides the rows of each split, and how many rows of each source an epoch has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ftc.compiler.knowledge.objectives import (
    OBJECTIVES,
    compares_texts,
    gives_relevance,
    gives_vectors,
    has_teacher,
)
from ftc.compiler.plan.batch.lengths import share_above
from ftc.compiler.plan.decision import Because, Decision, decide, derived, keep
from ftc.compiler.plan.objective.sampling import find_rewards
from ftc.compiler.resolve.data.mixture import allot
from ftc.compiler.resolve.facts import DataFacts
from ftc.runtime.prepare.split_sizes import count_held_out
from ftc.spec.sections import BestBy, Metric, Objective, Spec
from ftc.spec.sources import list_sources, name_sources

_OPEN_ANSWER_TOKENS = 128
_MOST_JUDGED_ROWS = 256
_MOST_ANSWER_TOKENS = 1024  # an answer is written one token at a time
_NUMBERED_SHARE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """The decided splits, in rows."""

    train: Decision[int]
    validation: Decision[int]
    test: Decision[int]
    stratify: Decision[bool]
    mixture: Decision[Mapping[str, int]] | None = None


def decide_splits(spec: Spec, data: DataFacts, max_length_tokens: int) -> Splits:
    """Decide the rows of each split; a share above zero gives at least one row of three or more."""
    parts = count_rows(spec, data, max_length_tokens)
    rows = sum(parts)
    shares = {"test": spec.data.splits.test, "validation": spec.data.splits.validation}
    held_out = count_held_out(shares, rows)
    test, validation = held_out["test"], held_out["validation"]

    def stratify() -> tuple[bool, Because]:
        if compares_texts(spec.objective.type):
            return False, Because(key="stratify.texts")
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
        validation=_explain(validation, spec.data.splits.validation, rows),
        test=_explain(test, spec.data.splits.test, rows),
        stratify=decide(spec, "/data/splits/stratify", spec.data.splits.stratify, stratify),
        mixture=mixture,
    )


def decide_metric(spec: Spec, data: DataFacts) -> Decision[Metric]:
    """Decide the metric: macro-F1 for a classification, accuracy for other labels.

    Answers that end with their number, as worked problems do, are compared by that number.
    """

    def derive() -> tuple[Metric, Because]:
        if spec.objective.type == "reward":
            return "none", Because(key="metric.rewards")
        if compares_texts(spec.objective.type) and data.form == "scored":
            return "none", Because(key="metric.correlation")
        if gives_vectors(spec.objective.type):
            return "none", Because(key="metric.vectors")
        if gives_relevance(spec.objective.type):
            return "none", Because(key="metric.relevance")
        if spec.objective.type == "classification":
            return "macro_f1", Because(key="metric.classes", values={"labels": len(data.labels)})
        if data.form == "prompt":
            return "none", Because(key="metric.prompts")
        if OBJECTIVES[spec.objective.type].rewards:
            return _rewarded_metric(spec.objective, data)
        if data.labels:
            return "accuracy", Because(key="metric.labels", values={"labels": len(data.labels)})
        share = data.contents.numbered_rows / max(1, data.contents.looked_rows)
        taught = spec.objective.type == "sft" or has_teacher(spec.objective.type)
        if share >= _NUMBERED_SHARE and taught:
            return "numeric_match", Because(key="metric.numbers", values={"share": share})
        return "none", Because(key="metric.none")

    return decide(spec, "/training/evaluation/metric", spec.training.evaluation.metric, derive)


def decide_best_by(spec: Spec) -> Decision[BestBy]:
    """Decide what selects the best checkpoint. For a classification the metric costs nothing."""
    pointer = "/training/evaluation/best_by"
    if spec.objective.type == "classification" and pointer not in spec.said:
        return derived("metric", "best_by.classes")
    if OBJECTIVES[spec.objective.type].rewards:
        return derived("metric", "best_by.reward")
    return keep(spec, pointer, spec.training.evaluation.best_by)


def decide_answered_rows(spec: Spec, splits: Splits) -> Decision[int] | None:
    """Decide how many validation rows are answered per evaluation; None where the loss selects."""
    evaluation = spec.training.evaluation
    sampled = OBJECTIVES[spec.objective.type].rewards
    if (evaluation.best_by == "loss" and not sampled) or spec.objective.type == "classification":
        return None
    rows = splits.validation.value
    if evaluation.answered_rows > rows:
        return derived(rows, "answered_rows.all", rows=rows)
    return keep(spec, "/training/evaluation/answered_rows", evaluation.answered_rows)


def writes_answers(objective: Objective, data: DataFacts, metric: Metric) -> bool:
    """Return whether evaluate.py generates answers to test rows and scores them.

    Without answers in the data, those of the model are judged by rewards or by the teacher.
    """
    asks = data.form == "prompt" or (metric != "none" and data.form != "text")
    return asks and OBJECTIVES[objective.type].head == "tokens"


def decide_judged_rows(data: DataFacts, test_rows: int) -> Decision[int]:
    """Decide how many test rows are answered: all of them for labels, a part for free text."""
    if data.labels or test_rows <= _MOST_JUDGED_ROWS:
        return derived(test_rows, "judged_rows.all")
    return derived(_MOST_JUDGED_ROWS, "judged_rows.part", rows=test_rows)


def decide_answer_tokens(
    objective: Objective, data: DataFacts, metric: Metric
) -> Decision[int] | None:
    """Decide how many tokens an answer of the evaluation may have; None where none is written.

    Free text that a metric reads may be as long as the longest answer. A label has at least two
    characters per token, so half the characters of the longest one, and a margin, are enough.
    """
    if OBJECTIVES[objective.type].head != "tokens":
        return None
    if not data.labels:
        longest = min(_MOST_ANSWER_TOKENS, data.lengths.answer_max)
        if metric != "none" and longest > _OPEN_ANSWER_TOKENS:
            return derived(longest, "answer_tokens.judged", tokens=longest)
        return derived(_OPEN_ANSWER_TOKENS, "answer_tokens.open")
    longest = max(len(label.name) for label in data.labels)
    return derived(min(64, longest // 2 + 8), "answer_tokens.labels", characters=longest)


def _rewarded_metric(objective: Objective, data: DataFacts) -> tuple[Metric, Because]:
    """Return the metric under rewards: their numeric match where there is one, else exact match."""
    matches = [reward.match for reward in find_rewards(objective, data)]
    if "numeric" in matches:
        return "numeric_match", Because(key="metric.numeric_reward")
    key = "metric.exact_reward" if "exact" in matches else "metric.other_reward"
    return "exact_match", Because(key=key)


def count_rows(spec: Spec, data: DataFacts, max_length_tokens: int) -> list[int]:
    """Return the rows of each source without those that are dropped as too long.

    `data.max_rows` takes the same share of every source.
    """
    parts = data.sources or (data,)
    usable = sum(part.usable_rows for part in parts)
    share = min(1.0, (spec.data.max_rows or usable) / max(1, usable))
    rows = [round(part.usable_rows * share) for part in parts]
    if spec.data.cleaning.overlong != "drop" or OBJECTIVES[spec.objective.type].splits:
        return rows
    return [
        n - round(n * share_above(part.lengths, max_length_tokens))
        for n, part in zip(rows, parts, strict=True)
    ]


def is_weighed(spec: Spec) -> bool:
    """Return whether the sources have weights."""
    return any(source.weight is not None for source in list_sources(spec.data))


def label_sources(spec: Spec) -> tuple[str, ...]:
    """Return a short name for each source; a repeated name gets a number."""
    names = name_sources([source.source for source in list_sources(spec.data)])
    return tuple(
        name if name not in names[:place] else f"{name} ({place + 1})"
        for place, name in enumerate(names)
    )


def decide_mixture(
    spec: Spec, data: DataFacts, rows: Sequence[int], *, train_share: float
) -> Decision[Mapping[str, int]] | None:
    """Decide the training rows of each source per epoch, with repeats; None for a single source."""
    if not data.sources:
        return None
    sources, names = list_sources(spec.data), label_sources(spec)
    trained = share_rows(rows, train_share)
    epoch = allot(
        trained,
        [source.weight for source in sources],
        [source.max_repeats for source in sources],
    )
    value = dict(zip(names, epoch, strict=True))
    if not is_weighed(spec):
        return derived(value, "mixture.rows")
    weights = " : ".join(f"{source.weight:g}" for source in sources)
    if all(n >= whole for n, whole in zip(epoch, trained, strict=True)):
        return derived(value, "mixture.whole", weights=weights)
    capped = find_capped(trained, epoch, [source.max_repeats for source in sources])
    name, repeats = names[capped], sources[capped].max_repeats
    return derived(value, "mixture.capped", weights=weights, name=name, repeats=repeats)


def share_rows(rows: Sequence[int], share: float) -> list[int]:
    """Return this share of each source's rows; the sum is the same share of all rows."""
    ends = [round(sum(rows[: place + 1]) * share) for place in range(len(rows))]
    return [end - start for start, end in pairwise([0, *ends])]


def find_capped(rows: Sequence[int], epoch: Sequence[int], repeats: Sequence[int]) -> int:
    """Return the index of the source whose rows reach their most repeats first."""
    room = [
        most * n - seen if n else max(epoch)
        for n, seen, most in zip(rows, epoch, repeats, strict=True)
    ]
    return room.index(min(room))


def _explain(held_out: int, share: float, rows: int) -> Decision[int]:
    """Return the rows of a split, with the reason that fits their number."""
    few = "rows.share_least" if held_out else "rows.share_none"
    key = few if 0 < share * rows < 1 else "rows.share"
    return derived(held_out, key, share=share, rows=rows)
