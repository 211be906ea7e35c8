"""The rules about heads that score (FTC280 to FTC287, FTC570): labels, and what can hold a head."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.score_heads import find_score_class, has_gguf_head
from ftc.compiler.resolve.facts import Label
from ftc.compiler.resolve.labels import MOST_CLASSES

_MANY = 300  # labels, of which people rarely keep apart so many


@rule("FTC280", "free-text-as-labels", "error", reads=("data",), fix_safety="unsafe")
def free_text_as_labels(case: Case) -> Iterator[Problem]:
    """What it is: The objective is classification, and the answers are no closed set of labels.

    Why it matters: The head has one score for each label. Free text has no labels, a label that few
    rows have is not learned, and most often another column was meant.

    Example: {"data": "essays.jsonl", "objective": "classification"}

    Use instead: {"data": "tickets.csv", "objective": "classification"}
    """
    if _classifies(case) and not case.data.labels:
        column = case.data.completion
        yield Problem(
            message=f"the column `{column}` is no closed set of labels: it has more than "
            f"{MOST_CLASSES:,} different values, one of over 80 characters, or fewer than 5 rows "
            "for each",
            help="name the column of the labels in `data.columns.completion`, or use `sft`, which "
            "writes free text",
            pointer="/objective/type",
            fix=(put("/objective/type", "sft"),),
        )


@rule("FTC281", "label-with-too-few-rows", "error", reads=("data",))
def label_with_too_few_rows(case: Case) -> Iterator[Problem]:
    """What it is: A label has fewer rows than there are splits.

    Why it matters: It is then missing from training, and never learned, or from the test, and never
    judged. Each split needs a row of each label.

    Example: {"data": "tickets-with-a-label-seen-once.csv", "objective": "classification"}

    Use instead: {"data": "tickets-with-that-label-merged-into-other.csv",
     "objective": "classification"}
    """
    splits = case.spec.data.splits
    needed = 1 + (splits.test > 0) + (splits.validation > 0)
    rare = [label for label in case.data.labels if label.rows < needed]
    if _classifies(case) and rare:
        first = min(rare, key=_by_rows)
        more = f", and {len(rare) - 1} more labels have too few" if len(rare) > 1 else ""
        yield Problem(
            message=f"label `{first.name}` has {first.rows} row{'s' if first.rows != 1 else ''} "
            f"for {needed} splits{more}",
            help="merge rare labels, collect more rows of them, or take them out of the data",
            pointer="/data/source",
        )


@rule("FTC282", "hundreds-of-labels", "warning", reads=("data",))
def hundreds_of_labels(case: Case) -> Iterator[Problem]:
    """What it is: There are more than 300 labels.

    Why it matters: Many labels are seldom all told apart by the people who gave them, and a head
    starts from random numbers for each. Two steps, a group and then a label in it, learn more from
    as many rows.

    Example: {"data": "products-with-their-number.csv", "objective": "classification"}

    Use instead: {"data": "products-with-their-department.csv", "objective": "classification"}
    """
    if _classifies(case) and len(case.data.labels) > _MANY:
        rows = sum(label.rows for label in case.data.labels) // len(case.data.labels)
        yield Problem(
            message=f"{len(case.data.labels):,} labels have {rows:,} rows each on average",
            help="check which column holds the labels, or join labels to groups",
            pointer="/data/source",
        )


@rule("FTC283", "weight-without-label", "error", reads=("data",), fix_safety="unsafe")
def weight_without_label(case: Case) -> Iterator[Problem]:
    """What it is: A class weight names a label that the data do not have, or one label twice.

    Why it matters: The weight would count for nothing, and a misspelt label trains with weight 1.

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
            yield Problem(
                message=f"no row is labelled `{each.label}`",
                help=f"did you mean `{near[0]}`?" if near else "remove it: the data lack the label",
                pointer=pointer,
                fix=({"op": "replace", "path": pointer, "value": meant},) if is_free else (),
            )
        elif each.label in [earlier.label for earlier in said[:index]]:
            yield Problem(
                message=f"`{each.label}` has two weights",
                help="keep one of them",
                pointer=pointer,
                fix=({"op": "remove", "path": pointer},),
            )


@rule("FTC284", "labels-lost-to-max-rows", "warning", reads=("data",), fix_safety="unsafe")
def labels_lost_to_max_rows(case: Case) -> Iterator[Problem]:
    """What it is: `data.max_rows` leaves fewer rows of a label than there are splits.

    Why it matters: The rows are drawn at random, whatever their label: rare labels are likely to be
    missing from a split.

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
        more = f", and of {len(lost) - 1} more labels" if len(lost) > 1 else ""
        yield Problem(
            message=f"`max_rows` leaves about {first.rows * most / total:.1f} of {first.rows:,} "
            f"rows of `{first.name}`{more}, for {needed} splits",
            help="leave `max_rows` out, or join rare labels",
            pointer="/data/max_rows",
            fix=({"op": "remove", "path": "/data/max_rows"},),
        )


@rule("FTC285", "model-without-score-head", "error", reads=("model",))
def model_without_score_head(case: Case) -> Iterator[Problem]:
    """What it is: transformers has no class that puts a head for scores on this architecture.

    Why it matters: `AutoModelForSequenceClassification` refuses the model, so that training would
    stop where it loads it.

    Example: {"model": "CohereForAI/c4ai-command-r-v01", "objective": "classification"}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct", "objective": "classification"}
    """
    scored = OBJECTIVES[case.spec.objective.type].head == "scores"
    known = find_score_class(case.model.model_type) is not None
    if scored and not known and not case.spec.model.trust_remote_code:
        yield Problem(
            message=f"transformers has no head for scores on `{case.model.model_type}` models",
            help="choose a model of another family, such as Qwen2.5 or Llama 3, or use `sft`",
            pointer="/model/id",
        )


@rule("FTC286", "metric-of-words", "error", reads=(), fix_safety="unsafe")
def metric_of_words(case: Case) -> Iterator[Problem]:
    """What it is: A classification is to be judged by a metric of what a model writes.

    Why it matters: A head that scores writes nothing. It is right or wrong about a label.

    Example: {"objective": "classification", "training": {"evaluation": {"metric": "rouge_l"}}}

    Use instead: {"objective": "classification", "training": {"evaluation": {"metric": "macro_f1"}}}
    """
    metric = case.spec.training.evaluation.metric
    if _classifies(case) and metric not in ("auto", "accuracy", "macro_f1", "none"):
        yield Problem(
            message=f"`{metric}` judges what a model writes, and a classification writes nothing",
            help="use `macro_f1` or `accuracy`, or leave it out",
            pointer="/training/evaluation/metric",
            fix=(put("/training/evaluation/metric", "macro_f1"),),
        )


@rule("FTC287", "head-trained-anyway", "warning", reads=())
def head_trained_anyway(case: Case) -> Iterator[Problem]:
    """What it is: The spec names the head among what is trained whole, and the objective scores.

    Why it matters: The head that scores is new and always trained. The head that writes words,
    which is meant elsewhere, is not in the model.

    Example: {"objective": "classification", "method": {"type": "lora", "also_train": ["head"]}}

    Use instead: {"objective": "classification", "method": {"type": "lora"}}
    """
    parts = case.spec.method.also_train
    if OBJECTIVES[case.spec.objective.type].head == "scores" and "head" in parts:
        kept = [part for part in parts if part != "head"]
        yield Problem(
            message="the head that scores is trained whole in any case",
            help="take `head` out of `also_train`",
            pointer="/method/also_train",
            fix=(put("/method/also_train", kept),),
        )


@rule("FTC570", "gguf-of-a-score-head", "error", reads=("model",), fix_safety="unsafe")
def gguf_of_a_score_head(case: Case) -> Iterator[Problem]:
    """What it is: The result is a head that scores, and a GGUF file of it is asked for.

    Why it matters: llama.cpp's converter leaves such a head out, takes it for another or stops: the
    file would write words, and has learned to give scores. Where it knows the head, as of BERT,
    nothing in the bundle could hold the file against the trained model.

    Example: {"objective": "classification", "export": ["Q4_K_M"]}

    Use instead: {"objective": "classification", "export": []}
    """
    if OBJECTIVES[case.spec.objective.type].head != "scores":
        return
    name = find_score_class(case.model.model_type) or case.model.architecture
    for asked, pointer, nothing in (
        (bool(case.spec.export.types), "/export/types", []),
        (case.spec.export.adapter, "/export/adapter", False),
    ):
        if asked:
            yield Problem(
                message=f"no stage can verify a GGUF of `{name}`: its scores are no next words"
                if has_gguf_head(case.model.model_type)
                else f"llama.cpp has no head for the scores of `{name}`",
                help="export nothing: the merged 16-bit folder, which `ask.py` reads, is the "
                "result",
                pointer=pointer,
                fix=(put(pointer, nothing),),
            )


def _classifies(case: Case) -> bool:
    return case.spec.objective.type == "classification"


def _by_rows(label: Label) -> tuple[int, str]:
    return label.rows, label.name
