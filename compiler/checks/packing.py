"""The rules about packed rows and rows grouped by length (FTC531 to FTC534)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.knowledge.architecture import keeps_packed_rows_apart
from ftc.compiler.plan.batch import target_rows

_FAR_BEYOND = 2  # times the rows of the data that a step is to have


@rule("FTC531", "packed-rows-see-each-other", "error", reads=("model",), fix_safety="unsafe")
def packed_rows_see_each_other(case: Case) -> Iterator[Problem]:
    """What it is: Rows are to be packed, and this architecture would let them see each other.

    Why it matters: Packed rows are told apart by position ids. The pinned transformers never passes
    them on to the attention mask of Falcon, BLOOM and gpt-oss: an answer would be learned from the
    unrelated rows in front of it, and the loss would look better for it.

    Example: {"model": "tiiuae/falcon-7b-instruct", "data": {"source": "a.csv", "packing":
    "best-fit"}}

    Use instead: {"model": "tiiuae/falcon-7b-instruct", "data": "a.csv"}
    """
    architecture = case.model.architecture
    if case.spec.data.packing == "best-fit" and keeps_packed_rows_apart(architecture) is False:
        yield Problem(
            message=f"packed rows of `{architecture}` would see each other",
            help="leave `data.packing` out: rows of about the same length can share a batch",
            pointer="/data/packing",
            fix=(put("/data/packing", "auto"),),
        )


@rule("FTC532", "packing-unproven", "warning", reads=("model",), fix_safety="unsafe")
def packing_unproven(case: Case) -> Iterator[Problem]:
    """What it is: Rows are to be packed, for an architecture that nobody has tried it with.

    Why it matters: Whether packed rows see each other depends on code of the architecture alone.
    Those of ftc's table were tried, row by row; this one is not among them.

    Example: {"model": "./a-new-architecture", "data": {"source": "a.csv", "packing": "best-fit"}}

    Use instead: {"model": "./a-new-architecture", "data": "a.csv"}
    """
    architecture = case.model.architecture
    if case.spec.data.packing == "best-fit" and keeps_packed_rows_apart(architecture) is None:
        yield Problem(
            message=f"whether `{architecture}` keeps packed rows apart is not known",
            help="leave `data.packing` out, or compare a packed row's logits with its own alone",
            pointer="/data/packing",
            fix=(put("/data/packing", "auto"),),
        )


@rule("FTC533", "packed-rows-grouped", "error", fix_safety="unsafe")
def packed_rows_grouped(case: Case) -> Iterator[Problem]:
    """What it is: Rows are to be packed, and grouped by length as well.

    Why it matters: Packed rows are all about as long: there is nothing left to group by, and the
    field would be accepted and then ignored.

    Example: {"data": {"source": "a.csv", "packing": "best-fit"}, "training":
    {"group_by_length": true}}

    Use instead: {"data": {"source": "a.csv", "packing": "best-fit"}}
    """
    if case.spec.data.packing == "best-fit" and case.spec.training.group_by_length is True:
        yield Problem(
            message="rows that are packed are alike in length: there is nothing to group",
            help="leave `training.group_by_length` out",
            pointer="/training/group_by_length",
            fix=(put("/training/group_by_length", "auto"),),
        )


@rule("FTC534", "packed-batch-beyond-step", "warning", reads=("data", "plan"), fix_safety="unsafe")
def packed_batch_beyond_step(case: Case) -> Iterator[Problem]:
    """What it is: One packed row for each process holds far more rows than a step is to have.

    Why it matters: A packed row is at least as long as the longest row. Where rows are few and
    mostly short, a single one holds many: the run has few optimiser steps, and the weights hardly
    move.

    Example: {"data": {"source": "300-short-rows-and-a-novel.jsonl", "packing": "best-fit"}}

    Use instead: {"data": "300-short-rows-and-a-novel.jsonl"}
    """
    d = case.plan.decisions
    if d.packed_rows is None or case.spec.training.global_batch != "auto":
        return
    rows = d.train_rows.value
    each = rows / max(1, d.packed_rows.value)
    seen, meant = each * d.global_batch.value, target_rows(rows)
    if seen > _FAR_BEYOND * meant:
        yield Problem(
            message=f"a step of {d.global_batch.value:,} packed rows reads about {seen:,.0f} rows, "
            f"and {meant:,.0f} are usual for {rows:,}",
            help="leave `data.packing` out, or lower `data.max_length`",
            pointer="/data/packing",
            fix=(put("/data/packing", "auto"),),
        )
