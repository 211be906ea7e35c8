"""The rules about metrics: what answers are judged by, and the best checkpoint with them."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.knowledge.metrics import METRICS
from ftc.compiler.plan.comparison import COMPARING

_POINTER = "/training/evaluation/metric"


@rule("FTC580", "metric-without-answers", "error", reads=("data",), fix_safety="unsafe")
def metric_without_answers(case: Case) -> Iterator[Problem]:
    """What it is: A metric is asked for, and the rows are plain text.

    Why it matters: A metric holds what the model answers against what it should have answered;
    plain text has neither a question nor an answer, so nothing would be measured.

    Example: {"data": "novels.jsonl", "training": {"evaluation": {"metric": "rouge_l"}}}

    Use instead: {"data": "novels.jsonl"}
    """
    metric = case.spec.training.evaluation.metric
    if metric in METRICS and case.data.form == "text":
        yield Problem(
            message=f"the metric is `{metric}`, and plain text has no answers",
            help="leave the metric out: loss and perplexity are measured",
            pointer=_POINTER,
            fix=(put(_POINTER, "none"),),
        )


@rule("FTC581", "best-by-no-metric", "error", reads=("data", "plan"))
def best_by_no_metric(case: Case) -> Iterator[Problem]:
    """What it is: The best checkpoint is to be chosen by the metric, and there is none.

    Why it matters: With nothing to choose by, another checkpoint would be kept than the one that
    was asked for.

    Example: {"data": "chats.jsonl", "training": {"evaluation": {"best_by": "metric"}}}

    Use instead: {"data": "chats.jsonl",
     "training": {"evaluation": {"best_by": "metric", "metric": "rouge_l"}}}
    """
    evaluation = case.spec.training.evaluation
    nothing = case.plan.decisions.metric.value == "none" or case.data.form == "text"
    rewarded = case.spec.objective.type in COMPARING  # by the margin of their rewards
    if evaluation.best_by == "metric" and nothing and not rewarded:
        yield Problem(
            message="the best checkpoint is chosen by the metric, and nothing is measured",
            help="name a metric, or let the loss decide",
            pointer="/training/evaluation/best_by",
            fix=(put("/training/evaluation/best_by", "loss"),),
        )


@rule("FTC582", "partial-credit-for-labels", "warning", reads=("data",), fix_safety="unsafe")
def partial_credit_for_labels(case: Case) -> Iterator[Problem]:
    """What it is: The answers are a closed set of labels, and the metric gives partial credit.

    Why it matters: `refund_request` for `refund_status` is wrong, and shares most of its letters:
    ROUGE-L and chrF call it a good answer.

    Example: {"data": "tickets.csv", "training": {"evaluation": {"metric": "chrf"}}}

    Use instead: {"data": "tickets.csv", "training": {"evaluation": {"metric": "macro_f1"}}}
    """
    metric = case.spec.training.evaluation.metric
    if metric in ("rouge_l", "chrf") and case.data.labels:
        yield Problem(
            message=f"the answers are labels, and `{metric}` gives a wrong one partial credit",
            help="use `accuracy`, or `macro_f1` where labels differ in frequency",
            pointer=_POINTER,
            fix=(put(_POINTER, "accuracy"),),
        )


@rule("FTC583", "answers-from-divided-weights", "warning", reads=("plan",))
def answers_from_divided_weights(case: Case) -> Iterator[Problem]:
    """What it is: Checkpoints are chosen by their answers while the weights are divided.

    Why it matters: Under ZeRO-3 and FSDP each token of an answer gathers all of the weights from
    all processes, which costs as much traffic as a step of training: evaluation may take longer
    than training.

    Example: {"distribution": {"strategy": "zero3"},
     "training": {"evaluation": {"best_by": "metric", "metric": "rouge_l"}}}

    Use instead: {"distribution": {"strategy": "zero3"}}
    """
    decided = case.plan.decisions
    chosen = case.spec.training.evaluation.best_by == "metric" and decided.metric.value != "none"
    name = {"zero3": "ZeRO-3", "fsdp": "FSDP"}.get(decided.sharding.value)
    if chosen and name is not None:
        yield Problem(
            message=f"each token of an answer gathers all weights from all processes ({name})",
            help="let the loss decide, or lower `training.evaluation.answered_rows`",
            pointer="/training/evaluation/best_by",
        )
