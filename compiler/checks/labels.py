"""The rules about labels: a closed set of answers that can be learned and told apart."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

import re
from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.knowledge.metrics import METRICS

_FEW_OF_LABEL = 5
_CONFLICT_SHARE = 0.02
_CONFLICT_ROWS = 3
_DOMINATING = 0.90
_SHOWN = 3
_JOINTS = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=[^\W\d_])")  # between two letters


def _spelling(name: str) -> str:
    """Return what spellings of one label share: lower case, its words joined, no full stop.

    Signs that tell labels apart stay: `C` and `C++`, `A` and `A-`, `1-0` and `10`.
    """
    return _JOINTS.sub("", name.casefold()).rstrip(".!")


@rule("FTC227", "rare-label", "warning", reads=("data",))
def rare_label(case: Case) -> Iterator[Problem]:
    """What it is: A label has fewer than five rows.

    Why it matters: Split three ways, it may be missing from training or from the test.

    Example: {"data": "tickets-with-a-label-seen-once.csv"}

    Use instead: {"data": "tickets-with-that-label-merged-into-other.csv"}
    """
    rare = [label for label in case.data.labels if label.rows < _FEW_OF_LABEL]
    if rare:
        first = min(rare, key=lambda label: (label.rows, label.name))
        names = f"`{first.name}` has {first.rows}"
        more = f", and {len(rare) - 1} more labels have fewer than 5" if len(rare) > 1 else ""
        yield Problem(
            message=f"label {names} row{'s' if first.rows != 1 else ''}{more}",
            help="merge rare labels or collect more rows of them",
            pointer="/data/source",
        )


@rule("FTC228", "single-label", "error", reads=("data",))
def single_label(case: Case) -> Iterator[Problem]:
    """What it is: Every row has the same answer.

    Why it matters: The model learns to say it always, and accuracy is 100 % of nothing.

    Example: {"data": "one-intent-only.csv"}

    Use instead: {"data": "all-intents.csv"}
    """
    if len(case.data.labels) == 1:
        yield Problem(
            message=f"every answer is `{case.data.labels[0].name}`",
            help="check which column holds the answers: `data.columns`",
            pointer="/data/source",
        )


@rule("FTC232", "stratify-without-labels", "error", reads=("data",))
def stratify_without_labels(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for stratified splits, and the answers are not labels.

    Why it matters: There is nothing to stratify by.

    Example: {"data": {"source": "essays.jsonl", "splits": {"stratify": true}}}

    Use instead: {"data": "essays.jsonl"}
    """
    told_apart = case.data.labels or case.data.feedback
    if case.spec.data.splits.stratify is True and not told_apart:
        yield Problem(
            message="`stratify` needs labels, and the answers are not a closed set",
            help='leave it out, or set it to "auto"',
            pointer="/data/splits/stratify",
            fix=(put("/data/splits/stratify", "auto"),),
        )


@rule("FTC233", "accuracy-without-labels", "warning", reads=("data",))
def accuracy_without_labels(case: Case) -> Iterator[Problem]:
    """What it is: The metric is accuracy or macro-F1, and the answers are free text.

    Why it matters: A free answer counts as right only if it is letter for letter the expected one.

    Example: {"data": "essays.jsonl", "training": {"evaluation": {"metric": "accuracy"}}}

    Use instead: {"data": "essays.jsonl"}
    """
    metric, data = case.spec.training.evaluation.metric, case.data
    of_labels = metric in METRICS and METRICS[metric].of_labels
    if of_labels and not data.labels and data.form != "text":
        yield Problem(
            message=f"the metric is `{metric}`, and the answers are not a closed set of labels",
            help="expect a low number, or use `exact_match`, `numeric_match`, `rouge_l` or `chrf`",
            pointer="/training/evaluation/metric",
        )


@rule("FTC242", "contradicting-labels", "warning", reads=("data",))
def contradicting_labels(case: Case) -> Iterator[Problem]:
    """What it is: The same prompt has different labels in different rows.

    Why it matters: No model can be right on all of them: they bound the accuracy from above, and
    teach it to be unsure.

    Example: {"data": "labelled-by-two-people-without-agreement.csv"}

    Use instead: {"data": "labelled-and-settled.csv"}
    """
    data = case.data
    share = data.conflicting_rows / max(1, data.usable_rows)
    if data.labels and data.conflicting_rows >= _CONFLICT_ROWS and share >= _CONFLICT_SHARE:
        yield Problem(
            message=f"{data.conflicting_rows:,} rows have a prompt that another row labels "
            "differently",
            help="settle which label is right, or join labels that people cannot tell apart",
            pointer="/data/source",
        )


@rule("FTC243", "labels-spelt-two-ways", "warning", reads=("data",))
def labels_spelt_two_ways(case: Case) -> Iterator[Problem]:
    """What it is: Two labels differ only in capitals, or in what stands between their words.

    Why it matters: They are two classes to the model and to the test: a right answer in the other
    spelling counts as wrong.

    Example: {"data": "tickets-with-refund-and-Refund.csv"}

    Use instead: {"data": "tickets-with-refund.csv"}
    """
    by_spelling: dict[str, list[str]] = {}
    for label in case.data.labels:
        by_spelling.setdefault(_spelling(label.name), []).append(label.name)
    alike = [names for key, names in by_spelling.items() if key and len(names) > 1]
    if alike:
        shown = "; ".join(" and ".join(f"`{name}`" for name in names) for names in alike[:_SHOWN])
        more = f", and {len(alike) - _SHOWN} more" if len(alike) > _SHOWN else ""
        yield Problem(
            message=f"labels differ only in spelling: {shown}{more}",
            help="write each label one way in the data",
            pointer="/data/source",
        )


@rule("FTC244", "dominating-label", "warning", reads=("data",))
def dominating_label(case: Case) -> Iterator[Problem]:
    """What it is: Nine rows in ten or more have one label.

    Why it matters: A model that always says it is right nine times in ten, and training finds that
    out first. Accuracy hides it: `report.py` puts the majority class beside the result.

    Example: {"data": "fraud-one-in-a-thousand.csv"}

    Use instead: {"data": "fraud-one-in-five.csv"}
    """
    labels = case.data.labels
    if len(labels) < 2:  # noqa: PLR2004 - one label alone is FTC228
        return
    most, total = max(labels, key=lambda label: label.rows), sum(label.rows for label in labels)
    if most.rows >= _DOMINATING * total:
        yield Problem(
            message=f"{most.rows / total:.1%} of rows are labelled `{most.name}`: saying it always "
            "would be as accurate",
            help="take fewer rows of it, or more of the others",
            pointer="/data/source",
        )


@rule("FTC245", "numbered-labels", "warning", reads=("data",))
def numbered_labels(case: Case) -> Iterator[Problem]:
    """What it is: The labels are the numbers from 0 on, as data sets for classifiers store them.

    Why it matters: A language model knows what `refund` means and not what 17 does: with names it
    starts from what it knows, with numbers from nothing.

    Example: {"data": {"source": "banking77.csv", "columns": {"prompt": "text",
     "completion": "label"}}}

    Use instead: {"data": {"source": "banking77.csv", "columns": {"prompt": "text",
     "completion": "label_name"}}}
    """
    names = {label.name for label in case.data.labels}
    if len(names) > 1 and names == {str(number) for number in range(len(names))}:
        yield Problem(
            message=f"the labels are the numbers 0 to {len(names) - 1}",
            help="replace them by the names of the classes, or allow FTC245 if the numbers mean "
            "an amount",
            pointer="/data/columns/completion"
            if "/data/columns/completion" in case.spec.said
            else "/data/source",
        )


@rule("FTC253", "loss-on-prompts-of-labels", "warning", reads=("data",), fix_safety="unsafe")
def loss_on_prompts_of_labels(case: Case) -> Iterator[Problem]:
    """What it is: The answers are labels, and the loss is asked for on every token.

    Why it matters: Nearly all tokens are then those of prompts: the model learns to write tickets,
    and hardly to label them.

    Example: {"data": "tickets.csv", "objective": {"type": "sft", "loss_on": "all"}}

    Use instead: {"data": "tickets.csv", "objective": {"type": "sft", "loss_on": "completion"}}
    """
    lengths = case.data.lengths
    if case.data.labels and case.spec.objective.loss_on == "all":
        yield Problem(
            message=f"the loss is on every token, and answers are {lengths.answer_p50} of some "
            f"{lengths.p50:,}",
            help="use `completion`",
            pointer="/objective/loss_on",
            fix=(put("/objective/loss_on", "completion"),),
        )
