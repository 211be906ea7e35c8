"""The rules about streaming: its requirements, and data that was not read in full."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

import math
from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.resolve.facts import DataFacts
from ftc.spec.sources import WholeSource, limit_rows, list_sources


def _parts(case: Case) -> list[tuple[WholeSource, DataFacts]]:
    """Return the sources, each with its facts."""
    return list(zip(list_sources(case.spec.data), case.data.sources or (case.data,), strict=False))


@rule("FTC258", "streamed-file", "warning", reads=("data",))
def streamed_file(case: Case) -> Iterator[Problem]:
    """What it is: Streaming is set for a local file.

    Why it matters: The file is already on this disk, and every stage reads it in parts: the field
    has no effect.

    Example: {"data": {"source": "tickets.csv", "streaming": true, "max_rows": 5000}}

    Use instead: {"data": {"source": "tickets.csv", "max_rows": 5000}}
    """
    parts = _parts(case)
    if case.spec.data.streaming and all(part.path is not None for _, part in parts):
        yield _unread("/data/streaming", parts[0][0].source)
    for source, part in parts:
        said = source.pointer != "/data" and "streaming" in source.said
        if said and source.streaming and part.path is not None:
            yield _unread(source.at("streaming"), source.source)


def _unread(pointer: str, name: str) -> Problem:
    return problem(pointer, fix=({"op": "remove", "path": pointer},), name=name)


@rule("FTC259", "endless-stream", "error", reads=("data",), fix_safety="unsafe")
def endless_stream(case: Case) -> Iterator[Problem]:
    """What it is: A data set is to be streamed, and the number of rows is not limited.

    Why it matters: Rows are read over the network until there are `max_rows` of them. Without that
    number the whole data set would be downloaded, which streaming should avoid, and neither the
    steps nor the held-out rows could be planned.

    Example: {"data": {"source": "owner/terabytes-of-text", "streaming": true}}

    Use instead: {"data": {"source": "owner/terabytes-of-text", "streaming": true, "max_rows":
    200000}}
    """
    for source, part in _parts(case):
        limit = limit_rows(case.spec.data, source, streamed=True)
        if part.streamed_rows is None or limit is not None:
            continue
        needed = _needed_rows(case)
        pointer = f"{source.pointer}/max_rows"
        is_long = source.pointer == "/data" or bool(source.said)
        yield problem(
            source.at("streaming"),
            help="steps" if needed else "",
            fix=(put(pointer, needed),) if needed and is_long else (),
            name=source.source,
            rows=part.streamed_rows,
            needed=needed or 0,
        )


@rule("FTC261", "first-rows-only", "info", reads=("data",))
def first_rows_only(case: Case) -> Iterator[Problem]:
    """What it is: A data set is streamed, and only its first rows were measured.

    Why it matters: Columns, lengths, labels, copies and damaged rows were counted in the first rows
    of a few of its files; the rest may differ. `prepare.py` counts every row that it takes.

    Example: {"data": {"source": "owner/terabytes-of-text", "streaming": true, "max_rows": 200000}}

    Use instead: {"data": {"source": "owner/small-data-set", "max_rows": 200000}}
    """
    for source, part in _parts(case):
        if part.streamed_rows is not None and part.rows < part.streamed_rows:
            yield problem(
                source.at("streaming"), name=source.source, rows=part.rows, all=part.streamed_rows
            )


@rule("FTC262", "labels-of-first-rows", "warning", reads=("data",))
def labels_of_first_rows(case: Case) -> Iterator[Problem]:
    """What it is: A classifier is trained on a stream, and its labels come from the first rows.

    Why it matters: The head has one score for each label that was found. `prepare.py` stops at a
    row with another label. The first rows of a data set that is sorted by label show only the first
    labels.

    Example: {"data": {"source": "owner/labelled", "streaming": true, "max_rows": 50000},
     "objective": "classification"}

    Use instead: {"data": {"source": "owner/labelled", "max_rows": 50000}, "objective":
    "classification"}
    """
    if case.spec.objective.type != "classification":
        return
    for source, part in _parts(case):
        if part.streamed_rows is not None and part.rows < part.streamed_rows:
            yield problem(source.at("streaming"), count=len(case.data.labels), name=source.source)


def _needed_rows(case: Case) -> int | None:
    """Return the rows that so many steps read, and those that are held out beside them."""
    steps, plan = case.spec.training.max_steps, case.known_plan
    if steps is None or plan is None or plan.decisions.rows.packing.value != "none":
        return None
    splits = case.spec.data.splits
    trained = steps * plan.decisions.batch.global_batch.value
    return math.ceil(trained / max(0.01, 1 - splits.test - splits.validation))
