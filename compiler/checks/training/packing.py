"""The rules about packed rows and rows grouped by length (FTC531 to FTC534)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.batch.sizes import target_rows

_FAR_BEYOND = 2  # times the rows of the data that a step is to have


@rule("FTC531", "packed-rows-see-each-other", "error", reads=("model",), fix_safety="unsafe")
def packed_rows_see_each_other(case: Case) -> Iterator[Problem]:
    """What it is: Rows are to be packed, and packed rows of this architecture see each other.

    Why it matters: Packed rows are separated by position ids. The pinned transformers does not pass
    them to the attention mask of Falcon, BLOOM and gpt-oss. A layer that carries a state from token
    to token (Mamba, Qwen3-Next, Granite hybrid, LFM2) carries it from a row into the next. An
    answer would then be learned from the unrelated rows before it, and the loss would look better
    than it is.

    Example: {"model": "tiiuae/falcon-7b-instruct", "data": {"source": "a.csv", "packing":
    "best-fit"}}

    Use instead: {"model": "tiiuae/falcon-7b-instruct", "data": "a.csv"}
    """
    packed = case.spec.data.packing == "best-fit"
    pictures = case.has("data") and case.data.pictures is not None  # FTC185 says it of these
    if packed and not pictures and case.model.keeps_rows_apart is False:
        yield problem(
            "/data/packing",
            fix=(put("/data/packing", "auto"),),
            architecture=case.model.wrapper or case.model.architecture,
        )


@rule("FTC532", "packing-unproven", "warning", reads=("model",), fix_safety="unsafe")
def packing_unproven(case: Case) -> Iterator[Problem]:
    """What it is: Rows are to be packed, for an architecture that was never tested with packing.

    Why it matters: Whether packed rows see each other depends on the architecture's code. The
    architectures of ftc's table were tested; this one is not among them.

    Example: {"model": "./a-new-architecture", "data": {"source": "a.csv", "packing": "best-fit"}}

    Use instead: {"model": "./a-new-architecture", "data": "a.csv"}
    """
    packed = case.spec.data.packing == "best-fit"
    if packed and case.model.keeps_rows_apart is None:
        yield problem(
            "/data/packing",
            fix=(put("/data/packing", "auto"),),
            architecture=case.model.wrapper or case.model.architecture,
        )


@rule("FTC533", "packed-rows-grouped", "error", fix_safety="unsafe")
def packed_rows_grouped(case: Case) -> Iterator[Problem]:
    """What it is: Rows are to be packed, and also grouped by length.

    Why it matters: Packed rows all have about the same length, so there is nothing to group. The
    field would be accepted and then ignored.

    Example: {"data": {"source": "a.csv", "packing": "best-fit"}, "training":
    {"group_by_length": true}}

    Use instead: {"data": {"source": "a.csv", "packing": "best-fit"}}
    """
    if case.spec.data.packing == "best-fit" and case.spec.training.group_by_length is True:
        yield problem("/training/group_by_length", fix=(put("/training/group_by_length", "auto"),))


@rule("FTC534", "packed-batch-beyond-step", "warning", reads=("data", "plan"), fix_safety="unsafe")
def packed_batch_beyond_step(case: Case) -> Iterator[Problem]:
    """What it is: One packed row per process holds far more rows than a step should have.

    Why it matters: A packed row is at least as long as the longest row. If rows are few and mostly
    short, one packed row holds many of them: the run has few optimizer steps, and the weights
    hardly change.

    Example: {"data": {"source": "300-short-rows-and-a-novel.jsonl", "packing": "best-fit"}}

    Use instead: {"data": "300-short-rows-and-a-novel.jsonl"}
    """
    d = case.plan.decisions
    if d.rows.packed_rows is None or case.spec.training.global_batch != "auto":
        return
    rows = d.splits.train_rows.value
    lengths = case.data.lengths
    tokens = lengths.mean if OBJECTIVES[case.spec.objective.type].splits else 0.0
    each = rows / max(1, d.rows.packed_rows.value)
    seen, meant = each * d.batch.global_batch.value, target_rows(rows, text_tokens=tokens)
    if seen > _FAR_BEYOND * meant:
        yield problem(
            "/data/packing",
            fix=(put("/data/packing", "none"),),
            batch=d.batch.global_batch.value,
            seen=seen,
            meant=meant,
            rows=rows,
        )
