"""The rules about labels: a closed set of answers that can be learned and told apart."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

import re
from collections.abc import Iterator
from unicodedata import category, normalize

from ftc.compiler.checks.data.images import loses_images
from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import compares_texts
from ftc.compiler.knowledge.training.metrics import METRICS
from ftc.compiler.resolve.facts import Label
from ftc.spec.message import Message

_FEW_OF_LABEL = 5
_CONFLICT_SHARE = 0.02
_CONFLICT_ROWS = 3
_DOMINATING = 0.90
_SHOWN = 3
_JOINTS = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=[^\W\d_])")  # between two letters
_WHOLE = re.compile(r"([+-]?\d+)\.0+")  # pandas writes 1 as 1.0 where a cell of the column is empty


def _spelling(name: str) -> str:
    """Return what spellings of one label share: lower case, its words joined, no full stop.

    Signs that tell labels apart stay: `C` and `C++`, `A` and `A-`, `1-0` and `10`. A whole number
    has no decimals. Invisible characters and the Unicode form of accents make no difference.
    """
    name = "".join(each for each in normalize("NFC", name) if category(each) != "Cf")
    if whole := _WHOLE.fullmatch(name):
        return whole[1]
    return _JOINTS.sub("", name.casefold()).rstrip(".!")


def _mark(name: str) -> str:
    """Return a label with invisible characters and combining accents written as code points."""
    hidden = {each for each in name if category(each) in ("Cf", "Mn")}
    return "".join(f"\\u{ord(each):04x}" if each in hidden else each for each in name)


def _labels(case: Case) -> tuple[Label, ...]:
    """Return the labels; none where texts are compared: texts and scores are no classes."""
    return () if compares_texts(case.spec.objective.type) else case.data.labels


@rule("FTC227", "rare-label", "warning", reads=("data",))
def rare_label(case: Case) -> Iterator[Problem]:
    """What it is: A label has fewer than five rows.

    Why it matters: Split three ways, it may be missing from training or from the test.

    Example: {"data": "tickets-with-a-label-seen-once.csv"}

    Use instead: {"data": "tickets-with-that-label-merged-into-other.csv"}
    """
    rare = [label for label in _labels(case) if label.rows < _FEW_OF_LABEL]
    if rare:
        first = min(rare, key=lambda label: (label.rows, label.name))
        yield problem(
            "/data/source",
            message="more" if len(rare) > 1 else "",
            label=first.name,
            rows=first.rows,
            more=len(rare) - 1,
        )


@rule("FTC228", "single-label", "error", reads=("data",))
def single_label(case: Case) -> Iterator[Problem]:
    """What it is: Every row has the same answer.

    Why it matters: The model learns to give that answer always, and an accuracy of 100 % says
    nothing.

    Example: {"data": "one-intent-only.csv"}

    Use instead: {"data": "all-intents.csv"}
    """
    if len(_labels(case)) == 1:
        yield problem("/data/source", label=_labels(case)[0].name)


@rule("FTC232", "stratify-without-labels", "error", reads=("data",))
def stratify_without_labels(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for stratified splits, and the answers are not labels.

    Why it matters: There is nothing to stratify by.

    Example: {"data": {"source": "essays.jsonl", "splits": {"stratify": true}}}

    Use instead: {"data": "essays.jsonl"}
    """
    told_apart = case.data.labels or case.data.feedback
    if case.spec.data.splits.stratify is True and not told_apart:
        yield problem("/data/splits/stratify", fix=(put("/data/splits/stratify", "auto"),))


@rule("FTC233", "accuracy-without-labels", "warning", reads=("data",))
def accuracy_without_labels(case: Case) -> Iterator[Problem]:
    """What it is: The metric is accuracy or macro-F1, and the answers are free text.

    Why it matters: A free answer counts as right only if it matches the expected one letter by
    letter.

    Example: {"data": "essays.jsonl", "training": {"evaluation": {"metric": "accuracy"}}}

    Use instead: {"data": "essays.jsonl"}
    """
    metric, data = case.spec.training.evaluation.metric, case.data
    of_labels = metric in METRICS and METRICS[metric].of_labels
    if of_labels and not data.labels and data.form != "text":
        yield problem("/training/evaluation/metric", metric=metric)


@rule("FTC242", "contradicting-labels", "warning", reads=("data",))
def contradicting_labels(case: Case) -> Iterator[Problem]:
    """What it is: The same prompt has different labels in different rows.

    Why it matters: No model can be right on all of them. They limit the accuracy, and they train
    the model to be unsure.

    Example: {"data": "labelled-by-two-people-without-agreement.csv"}

    Use instead: {"data": "labelled-and-settled.csv"}
    """
    data = case.data
    share = data.conflicting_rows / max(1, data.usable_rows)
    if _labels(case) and data.conflicting_rows >= _CONFLICT_ROWS and share >= _CONFLICT_SHARE:
        yield problem("/data/source", count=data.conflicting_rows)


@rule("FTC288", "several-answers-to-a-prompt", "info", reads=("data",))
def several_answers_to_a_prompt(case: Case) -> Iterator[Problem]:
    """What it is: The same prompt has different answers, in free text, in different rows.

    Why it matters: The model learns a mixture of the answers. That is intended where several good
    answers were sampled for each prompt. Where the rows were written by people who disagree, or
    come from versions of one data set, the model learns to be unsure.

    Example: {"data": "two-versions-of-the-answers.jsonl"}

    Use instead: {"data": "one-answer-per-question.jsonl"}
    """
    data = case.data
    share = data.conflicting_rows / max(1, data.usable_rows)
    learns = case.spec.objective.type == "sft" and not data.labels and not loses_images(case)
    if learns and data.conflicting_rows >= _CONFLICT_ROWS and share >= _CONFLICT_SHARE:
        yield problem("/data/source", count=data.conflicting_rows)


@rule("FTC243", "labels-spelt-two-ways", "warning", reads=("data",))
def labels_spelt_two_ways(case: Case) -> Iterator[Problem]:
    """What it is: Two labels differ only in capitals or word separators, or are `1` and `1.0`.

    Why it matters: The model and the test treat them as two classes: a right answer in the other
    spelling counts as wrong.

    Example: {"data": "tickets-with-refund-and-Refund.csv"}

    Use instead: {"data": "tickets-with-refund.csv"}
    """
    by_spelling: dict[str, list[str]] = {}
    for label in _labels(case):
        by_spelling.setdefault(_spelling(label.name), []).append(label.name)
    alike = [names for key, names in by_spelling.items() if key and len(names) > 1]
    if alike:
        yield problem(
            "/data/source",
            message="more" if len(alike) > _SHOWN else "",
            labels=[
                Message("phrase.labels", {"names": [*map(_mark, names)]})
                for names in alike[:_SHOWN]
            ],
            more=len(alike) - _SHOWN,
        )


@rule("FTC244", "dominating-label", "warning", reads=("data",))
def dominating_label(case: Case) -> Iterator[Problem]:
    """What it is: Nine rows in ten or more have one label.

    Why it matters: A model that always gives this label is right nine times in ten, and training
    finds that first. Accuracy does not show it: `report.md` lists the majority class beside the
    result.

    Example: {"data": "fraud-one-in-a-thousand.csv"}

    Use instead: {"data": "fraud-one-in-five.csv"}
    """
    labels = _labels(case)
    if len(labels) < 2:  # noqa: PLR2004 - one label alone is FTC228
        return
    most, total = max(labels, key=lambda label: label.rows), sum(label.rows for label in labels)
    if most.rows >= _DOMINATING * total:
        yield problem("/data/source", share=most.rows / total, label=most.name)


@rule("FTC245", "numbered-labels", "warning", reads=("data",), fix_safety="unsafe")
def numbered_labels(case: Case) -> Iterator[Problem]:
    """What it is: The labels are numbers from 0 on, as data sets for classifiers store them.

    Why it matters: A language model knows what `refund` means, but not what 17 means. With names it
    can use what it knows; with numbers it has to learn every label from scratch.

    Example: {"data": {"source": "banking77.csv", "columns": {"prompt": "text",
     "completion": "label"}}}

    Use instead: {"data": {"source": "banking77.csv", "columns": {"prompt": "text",
     "completion": "label_name"}}}
    """
    names = {_spelling(label.name) for label in _labels(case)}
    if len(names) < 2 or names != {str(number) for number in range(len(names))}:  # noqa: PLR2004
        return
    if case.data.contents.option_columns:  # the numbers are those of answers to choose from
        return
    named, prompt = case.data.contents.label_names, case.data.prompt
    if named and named == case.spec.data.columns.completion:
        return
    columns = {"prompt": prompt, "completion": named}
    yield problem(
        "/data/columns/completion"
        if "/data/columns/completion" in case.spec.said
        else "/data/source",
        help="named" if named and prompt else "",
        fix=(put("/data/columns", columns),) if named and prompt else (),
        last=len(names) - 1,
        column=named,
        prompt=prompt or "",
    )


@rule("FTC253", "loss-on-prompts-of-labels", "warning", reads=("data",), fix_safety="unsafe")
def loss_on_prompts_of_labels(case: Case) -> Iterator[Problem]:
    """What it is: The answers are labels, and the loss is set to every token.

    Why it matters: Nearly all tokens are then tokens of prompts: the model learns to write tickets,
    and hardly learns to label them.

    Example: {"data": "tickets.csv", "objective": {"type": "sft", "loss_on": "all"}}

    Use instead: {"data": "tickets.csv", "objective": {"type": "sft", "loss_on": "completion"}}
    """
    lengths = case.data.lengths
    answered = case.data.form != "text"
    if answered and case.data.labels and case.spec.objective.loss_on == "all":
        yield problem(
            "/objective/loss_on",
            fix=(put("/objective/loss_on", "completion"),),
            answer=lengths.answer_p50,
            whole=lengths.p50,
        )
