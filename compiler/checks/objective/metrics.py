"""The rules about metrics, which judge answers and select the best checkpoint."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.training.harness_tasks import list_tasks
from ftc.compiler.knowledge.training.metrics import METRICS
from ftc.compiler.plan.objective.comparison import COMPARING
from ftc.spec.values.nearest import is_slip, nearest

_POINTER = "/training/evaluation/metric"
_HARNESS = "/training/evaluation/harness"


@rule("FTC580", "metric-without-answers", "error", reads=("data",), fix_safety="unsafe")
def metric_without_answers(case: Case) -> Iterator[Problem]:
    """What it is: A metric is set, and the rows are plain text or prompts without answers.

    Why it matters: A metric compares the model's answer with the expected one. Plain text has
    neither questions nor answers, and a prompt alone no answer, so nothing would be measured.

    Example: {"data": "novels.jsonl", "training": {"evaluation": {"metric": "rouge_l"}}}

    Use instead: {"data": "novels.jsonl"}
    """
    metric = case.spec.training.evaluation.metric
    kinds = {"text": "", "prompt": "prompts"}
    if metric in METRICS and case.data.form in kinds:
        kind = kinds[case.data.form]
        yield problem(
            _POINTER, message=kind, help=kind, fix=(put(_POINTER, "none"),), metric=metric
        )


@rule("FTC581", "best-by-no-metric", "error", reads=("data", "plan"))
def best_by_no_metric(case: Case) -> Iterator[Problem]:
    """What it is: The best checkpoint is to be chosen by a metric, and there is none.

    Why it matters: Without a metric to compare, another checkpoint would be kept than the requested
    one.

    Example: {"data": "chats.jsonl", "training": {"evaluation": {"best_by": "metric"}}}

    Use instead: {"data": "chats.jsonl",
     "training": {"evaluation": {"best_by": "metric", "metric": "rouge_l"}}}
    """
    evaluation = case.spec.training.evaluation
    nothing = case.plan.decisions.evaluation.metric.value == "none" or case.data.form == "text"
    rewarded = case.spec.objective.type in COMPARING  # by the margin of their rewards
    if evaluation.best_by == "metric" and nothing and not rewarded:
        yield problem(
            "/training/evaluation/best_by", fix=(put("/training/evaluation/best_by", "loss"),)
        )


@rule("FTC582", "partial-credit-for-labels", "warning", reads=("data",), fix_safety="unsafe")
def partial_credit_for_labels(case: Case) -> Iterator[Problem]:
    """What it is: The answers are a closed set of labels, and the metric gives partial credit.

    Why it matters: `refund_request` instead of `refund_status` is wrong, but most of its letters
    are the same: ROUGE-L and chrF rate it as a good answer.

    Example: {"data": "tickets.csv", "training": {"evaluation": {"metric": "chrf"}}}

    Use instead: {"data": "tickets.csv", "training": {"evaluation": {"metric": "macro_f1"}}}
    """
    metric = case.spec.training.evaluation.metric
    if metric in ("rouge_l", "chrf") and case.data.labels:
        yield problem(_POINTER, fix=(put(_POINTER, "accuracy"),), metric=metric)


@rule("FTC577", "samples-without-answers", "error", reads=("data", "plan"), fix_safety="unsafe")
def samples_without_answers(case: Case) -> Iterator[Problem]:
    """What it is: Sample answers are requested, but there are no validation rows with answers.

    Why it matters: The model answers validation rows at each evaluation. Without a validation split
    nothing is evaluated, and plain text has no questions to answer.

    Example: {"data": "novels.jsonl", "training": {"evaluation": {"samples": 3}}}

    Use instead: {"data": "chats.jsonl", "training": {"evaluation": {"samples": 3}}}
    """
    pointer = "/training/evaluation/samples"
    if case.spec.training.evaluation.samples == 0:
        return
    if case.data.form == "text":
        yield problem(pointer, message="text", help="text", fix=(put(pointer, 0),))
    elif case.plan.decisions.splits.validation_rows.value == 0:
        yield problem(pointer, fix=(put(pointer, 0),))


@rule("FTC583", "answers-from-divided-weights", "warning", reads=("plan",))
def answers_from_divided_weights(case: Case) -> Iterator[Problem]:
    """What it is: Answers are generated at each evaluation while the weights are sharded.

    Why it matters: Under ZeRO-3 and FSDP each token of an answer gathers all weights from all
    processes. That costs as much traffic as a training step, so evaluation may take longer than
    training.

    Example: {"distribution": {"strategy": "zero3"},
     "training": {"evaluation": {"best_by": "metric", "metric": "rouge_l"}}}

    Use instead: {"distribution": {"strategy": "zero3"}}
    """
    decided = case.plan.decisions
    chosen = (
        case.spec.training.evaluation.best_by == "metric"
        and decided.evaluation.metric.value != "none"
    )
    name = {"zero3": "ZeRO-3", "fsdp": "FSDP"}.get(decided.distribution.sharding.value)
    if name is None:
        return
    if chosen:
        yield problem("/training/evaluation/best_by", name=name)
    if case.spec.training.evaluation.samples:
        yield problem("/training/evaluation/samples", help="samples", name=name)


@rule("FTC512", "unknown-benchmark", "warning", reads=(), fix_safety="unsafe")
def unknown_benchmark(case: Case) -> Iterator[Problem]:
    """What it is: The evaluation harness has no task, group or tag of this name.

    Why it matters: `harness.py` asks no benchmark while one of them is unknown. Task files of your
    own are known to it if their folder is named: `python harness.py --include FOLDER`.

    Example: {"training": {"evaluation": {"harness": ["arc-easy"]}}}

    Use instead: {"training": {"evaluation": {"harness": ["arc_easy"]}}}
    """
    asked = case.spec.training.evaluation.harness
    for place, name in enumerate(asked):
        if name in list_tasks():
            continue
        near = nearest(name, list_tasks())
        near = near if near is not None and is_slip(name, near) else None
        yield problem(
            f"{_HARNESS}/{place}",
            help="near" if near else "",
            fix=(put(_HARNESS, [*asked[:place], near, *asked[place + 1 :]]),) if near else (),
            name=name,
            near=near or "",
        )
