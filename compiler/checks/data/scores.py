"""The rules about heads that score (FTC280 to 287, FTC507, FTC509, FTC570): labels, and a head."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

import re
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches

from ftc.compiler.checks.data.answers import swap_columns
from ftc.compiler.checks.data.images import loses_images
from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.architectures.encoders import is_encoder
from ftc.compiler.knowledge.exports.score_heads import find_score_class, has_gguf_head
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.compiler.resolve.content.answer_kinds import FEWEST_ROWS_EACH
from ftc.compiler.resolve.facts import Label
from ftc.spec.findings.finding import WayOut
from ftc.spec.message import Message
from ftc.spec.schema import fields_by_pointer

_MANY = 300  # labels; people rarely distinguish more
_SHOWN = 3
#: The separators of a list of labels, the most certain first.
_DIVISIONS = tuple(map(re.compile, (r"\|+", ";", ",", r"\+")))
_AMOUNT = re.compile(r"[+-]?\d{1,12}(\.\d{1,12})?")
_FEWEST_AMOUNTS = 10
_AMOUNTS_SHARE = 0.9
_BRACKETS = " \t\"'[]{}()"


@rule("FTC280", "free-text-as-labels", "error", reads=("data",), fix_safety="unsafe")
def free_text_as_labels(case: Case) -> Iterator[Problem]:
    """What it is: The objective is classification, and the answers are not a closed set of labels.

    A closed set has at most 1,000 different values, none of over 80 characters, and at least 5 rows
    for each on average.

    Why it matters: The head has one score for each label. Free text has no labels, a label with few
    rows is not learned, and usually another column was meant.

    Example: {"data": "essays.jsonl", "objective": "classification"}

    Use instead: {"data": "tickets.csv", "objective": "classification"}
    """
    read = case.data.completion or case.data.output
    of_spec = case.spec.data.columns.completion in (None, read)  # no facts of another column
    if loses_images(case):
        return
    if _classifies(case) and not case.data.labels and of_spec:
        data, found = case.data, case.data.open_answers
        if prompts_are_labels(case):
            yield problem(
                "/data/columns/completion",
                message="swapped",
                help="swapped",
                fix=swap_columns(data),
                column=data.completion or "",
                prompt=data.prompt or "",
                number=data.prompts,
            )
            return
        yield problem(
            "/objective/type",
            message="" if found is None else found.reason,
            column=read or "",
            form=data.form,
            most=0 if found is None else found.most,
            number=0 if found is None else found.number,
            fewest=FEWEST_ROWS_EACH,
        )


def prompts_are_labels(case: Case) -> bool:
    """Return whether a classification has its labels as prompts, and texts where labels belong."""
    data = case.data
    if not _classifies(case) or data.labels or data.prompt is None or data.sources:
        return False
    return data.prompts > 1 and data.prompts * FEWEST_ROWS_EACH <= data.usable_rows


@rule("FTC281", "label-with-too-few-rows", "error", reads=("data",), fix_safety="unsafe")
def label_with_too_few_rows(case: Case) -> Iterator[Problem]:
    """What it is: A label has fewer rows than there are splits.

    Why it matters: The label is then missing from training and not learned, or missing from the
    test and not measured. Each split needs a row of each label. A model that writes the label as
    text (`sft`) has no score for each label, and does not need them.

    Example: {"data": "tickets-with-a-label-seen-once.csv", "objective": "classification"}

    Use instead: {"data": "tickets-with-that-label-merged-into-other.csv",
     "objective": "classification"}
    """
    splits = case.spec.data.splits
    needed = 1 + (splits.test > 0) + (splits.validation > 0)
    rare = [label for label in case.data.labels if label.rows < needed]
    if _classifies(case) and rare:
        first = min(rare, key=_by_rows)
        known = find_model(case.spec.model.id)
        writes = known is None or known.kind != "encoder"
        weighs = case.spec.objective.class_weights != "auto"
        unweighted = ({"op": "remove", "path": "/objective/class_weights"},) if weighs else ()
        yield problem(
            "/data/source",
            message="more" if len(rare) > 1 else "",
            help="" if writes else "encoder",
            fix=(put("/objective/type", "sft"), *unweighted) if writes else (),
            label=first.name,
            rows=first.rows,
            needed=needed,
            more=len(rare) - 1,
        )


@rule("FTC507", "amounts-as-labels", "warning", reads=("data",))
def amounts_as_labels(case: Case) -> Iterator[Problem]:
    """What it is: The labels of a classifier are amounts: numbers, some of them with decimals.

    Why it matters: A classifier learns each number as a separate class. It does not know that
    3.6 is near 3.7, counts both as equally wrong, and never gives a number between two labels.

    Example: {"objective": "classification", "data": "essays-with-grades-from-0.0-to-5.0.csv"}

    Use instead: {"objective": "sft", "data": "essays-with-grades-from-0.0-to-5.0.csv",
     "training": {"evaluation": {"metric": "numeric_match"}}}
    """
    numbers = [float(each.name) for each in case.data.labels if _AMOUNT.fullmatch(each.name)]
    many = max(_FEWEST_AMOUNTS, _AMOUNTS_SHARE * len(case.data.labels))
    whole = all(number.is_integer() for number in numbers)
    if _classifies(case) and len(numbers) >= many and not whole:
        yield problem("/objective/type", count=len(numbers), low=min(numbers), high=max(numbers))


@rule("FTC509", "several-labels-in-one", "warning", reads=("data",))
def several_labels_in_one(case: Case) -> Iterator[Problem]:
    """What it is: Labels are lists of other labels, such as `billing|urgent`.

    Why it matters: A classifier gives each row one of its labels. It learns each combination as a
    separate class, knows nothing of what two of them share, and never gives a new combination.

    Example: {"objective": "classification", "data": "tickets-with-several-tags.csv"}

    Use instead: {"objective": "sft", "data": "tickets-with-several-tags.csv"}
    """
    if not _classifies(case):
        return
    for divide in _DIVISIONS:
        parts = {label.name: _parts(divide, label.name) for label in case.data.labels}
        joined = [name for name, each in parts.items() if len(each) > 1]
        counts = Counter(part for each in parts.values() for part in each)
        if len(joined) > 1 and all(counts[part] > 1 for name in joined for part in parts[name]):
            yield problem(
                "/data/source", joined=len(joined), labels=len(parts), words=joined[:_SHOWN]
            )
            return


def _parts(divide: re.Pattern[str], label: str) -> frozenset[str]:
    """Return the labels that one is a list of; brackets and quotes belong to none of them."""
    parts = (part.strip(_BRACKETS) for part in divide.split(label))
    return frozenset(part for part in parts if part)


@rule("FTC282", "hundreds-of-labels", "warning", reads=("data",))
def hundreds_of_labels(case: Case) -> Iterator[Problem]:
    """What it is: There are more than 300 labels.

    Why it matters: People who assign so many labels seldom keep all of them apart, and the head
    starts from random numbers for each. Two steps, first a group and then a label in it, learn more
    from the same rows.

    Example: {"data": "products-with-their-number.csv", "objective": "classification"}

    Use instead: {"data": "products-with-their-department.csv", "objective": "classification"}
    """
    if _classifies(case) and len(case.data.labels) > _MANY:
        rows = sum(label.rows for label in case.data.labels) // len(case.data.labels)
        yield problem("/data/source", labels=len(case.data.labels), rows=rows)


@rule("FTC283", "weight-without-label", "error", reads=("data",), fix_safety="unsafe")
def weight_without_label(case: Case) -> Iterator[Problem]:
    """What it is: A class weight names a label that the data does not have, or a label twice.

    Why it matters: The weight would have no effect, and a misspelt label trains with weight 1.

    Example: {"objective": {"type": "classification", "class_weights":
     [{"label": "fruad", "weight": 10}]}}

    Use instead: {"objective": {"type": "classification", "class_weights":
     [{"label": "fraud", "weight": 10}]}}
    """
    said, names = case.spec.objective.class_weights, [label.name for label in case.data.labels]
    if not isinstance(said, tuple) or not names:
        return
    counts = Counter(each.label for each in said)
    for index, each in enumerate(said):
        pointer = f"/objective/class_weights/{index}"
        if each.label not in names:
            near = get_close_matches(each.label, names, n=1)
            meant = {"label": near[0], "weight": each.weight} if near else None
            is_free = meant is not None and meant["label"] not in counts
            yield problem(
                pointer,
                help="near" if near else "",
                fix=({"op": "replace", "path": pointer, "value": meant},) if is_free else (),
                label=each.label,
                near=near[0] if near else "",
            )
        elif each.label in [earlier.label for earlier in said[:index]]:
            yield problem(
                pointer,
                message="twice",
                help="twice",
                fix=({"op": "remove", "path": pointer},),
                label=each.label,
            )


@rule("FTC284", "labels-lost-to-max-rows", "warning", reads=("data",), fix_safety="unsafe")
def labels_lost_to_max_rows(case: Case) -> Iterator[Problem]:
    """What it is: `data.max_rows` leaves fewer rows of a label than there are splits.

    Why it matters: The rows are drawn at random, regardless of their label, so rare labels are
    likely to be missing from a split.

    Example: {"data": {"source": "tickets.csv", "max_rows": 100}, "objective": "classification"}

    Use instead: {"data": "tickets.csv", "objective": "classification"}
    """
    labels, most, splits = case.data.labels, case.spec.data.max_rows, case.spec.data.splits
    total = sum(label.rows for label in labels)
    if not _classifies(case) or most is None or most >= total:
        return
    needed = 1 + (splits.test > 0) + (splits.validation > 0)
    lost = [label for label in labels if label.rows * most / total < needed <= label.rows]
    if lost:
        first = min(lost, key=_by_rows)
        yield problem(
            "/data/max_rows",
            fix=({"op": "remove", "path": "/data/max_rows"},),
            message="more" if len(lost) > 1 else "",
            left=first.rows * most / total,
            rows=first.rows,
            label=first.name,
            more=len(lost) - 1,
            needed=needed,
        )


@rule("FTC285", "model-without-score-head", "error", reads=("model",))
def model_without_score_head(case: Case) -> Iterator[Problem]:
    """What it is: transformers has no classification head for this architecture.

    Why it matters: `AutoModelForSequenceClassification` does not support the model, so training
    would stop when it loads it.

    Example: {"model": "CohereForAI/c4ai-command-r-v01", "objective": "classification"}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct", "objective": "classification"}
    """
    scored = OBJECTIVES[case.spec.objective.type].head == "scores"
    known = find_score_class(case.model.model_type) is not None
    if case.model.wrapper is not None:
        return  # see FTC353
    if scored and not known and not case.spec.model.trust_remote_code:
        yield problem("/model/id", type=case.model.model_type)


@rule("FTC286", "metric-of-words", "error", reads=(), fix_safety="unsafe")
def metric_of_words(case: Case) -> Iterator[Problem]:
    """What it is: A classifier is to be measured by a metric for generated text.

    Why it matters: A classifier generates no text: it predicts a label, which is right or wrong.

    Example: {"objective": "classification", "training": {"evaluation": {"metric": "rouge_l"}}}

    Use instead: {"objective": "classification", "training": {"evaluation": {"metric": "macro_f1"}}}
    """
    metric = case.spec.training.evaluation.metric
    if _classifies(case) and metric not in ("auto", "accuracy", "macro_f1", "none"):
        yield problem(
            "/training/evaluation/metric",
            fix=(put("/training/evaluation/metric", "macro_f1"),),
            metric=metric,
        )


@rule("FTC287", "head-trained-anyway", "warning", reads=())
def head_trained_anyway(case: Case) -> Iterator[Problem]:
    """What it is: The spec lists the head in `also_train`, and the objective trains one anyway.

    Why it matters: The classification head is new and always trained. The language-model head,
    which the word means elsewhere, is not in the model.

    Example: {"objective": "classification", "method": {"type": "lora", "also_train": ["head"]}}

    Use instead: {"objective": "classification", "method": {"type": "lora"}}
    """
    parts = case.spec.method.also_train
    if OBJECTIVES[case.spec.objective.type].head == "scores" and "head" in parts:
        kept = [part for part in parts if part != "head"]
        yield problem("/method/also_train", fix=(put("/method/also_train", kept),))


@rule("FTC570", "gguf-of-a-score-head", "error", fix_safety="unsafe")
def gguf_of_a_score_head(case: Case) -> Iterator[Problem]:
    """What it is: The model has a head for scores, and a GGUF file of it is requested.

    Why it matters: llama.cpp's converter leaves such a head out, mistakes it for another or stops:
    the file would generate text, which the model was not trained for. Where the converter supports
    the head, as for BERT, the bundle cannot compare the file with the trained model. A model that
    writes the label as text has no such head: the objective `sft` trains one on the same rows.

    Example: {"objective": "classification", "export": ["Q4_K_M"]}

    Use instead: {"objective": "sft", "export": ["Q4_K_M"]}
    """
    objective = case.spec.objective.type
    if OBJECTIVES[objective].head != "scores":
        return
    name: str = objective
    message = "objective"
    if case.has("model"):
        name = find_score_class(case.model.model_type) or case.model.architecture
        message = "unverified" if has_gguf_head(case.model.model_type) else "no_head"
    as_text = _write_the_label(case)
    for asked, pointer, nothing in (
        (bool(case.spec.export.types), "/export/types", []),
        (case.spec.export.adapter, "/export/adapter", False),
    ):
        if asked:
            without = WayOut(says=Message("FTC570.way.without"), fix=(put(pointer, nothing),))
            yield problem(
                pointer,
                message=message,
                help="as_text" if as_text else "",
                fix=without.fix,
                ways=(*as_text, without) if as_text else (),
                name=name,
            )


def _write_the_label(case: Case) -> tuple[WayOut, ...]:
    """Return the way to a model that writes the label as text, if model and rows allow one."""
    if not _classifies(case) or (case.has("model") and is_encoder(case.model.architecture)):
        return ()
    if case.has("data") and case.data.form not in OBJECTIVES["sft"].forms:
        return ()
    left = (
        {"op": "remove", "path": pointer}
        for pointer, field in fields_by_pointer().items()
        if pointer in case.spec.said
        and "sft" not in field.schema.get("x-when", {}).get("/objective/type", ("sft",))
    )
    return (WayOut(says=Message("FTC570.way.as_text"), fix=(put("/objective/type", "sft"), *left)),)


def _classifies(case: Case) -> bool:
    return case.spec.objective.type == "classification"


def _by_rows(label: Label) -> tuple[int, str]:
    return label.rows, label.name
