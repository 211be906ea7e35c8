"""The rules about streaming: what it needs, and what is known of data that nobody read whole."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

import math
from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.resolve.facts import DataFacts
from ftc.spec.sources import WholeSource, limit_rows, list_sources


def _parts(case: Case) -> list[tuple[WholeSource, DataFacts]]:
    """Return the sources, each with its facts."""
    return list(zip(list_sources(case.spec.data), case.data.sources or (case.data,), strict=False))


@rule("FTC258", "streamed-file", "warning", reads=("data",))
def streamed_file(case: Case) -> Iterator[Problem]:
    """What it is: A local file is to be streamed.

    Why it matters: It is on this disk already, and every stage reads it a part at a time: nothing
    reads the field.

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
    return Problem(
        message=f"`{name}` is a file of this disk, which is read a part at a time as it is",
        help="remove `streaming`: it is for data sets of the Hub",
        pointer=pointer,
        fix=({"op": "remove", "path": pointer},),
    )


@rule("FTC259", "endless-stream", "error", reads=("data",), fix_safety="unsafe")
def endless_stream(case: Case) -> Iterator[Problem]:
    """What it is: A data set is to be streamed, and nothing says how many of its rows.

    Why it matters: Rows are taken over the network until there are `max_rows` of them. Without that
    number all of the data set would come, which is what streaming is there to avoid, and neither
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
        yield Problem(
            message=f"`{source.source}` is streamed without a limit: it has about "
            f"{part.streamed_rows:,} rows",
            help="set its `max_rows`"
            + (
                f" to {needed:,}: what `training.max_steps` reads, and what is held out"
                if needed
                else " to how many rows you want to train on"
            ),
            pointer=source.at("streaming"),
            fix=(put(pointer, needed),) if needed and is_long else (),
        )


@rule("FTC261", "first-rows-only", "info", reads=("data",))
def first_rows_only(case: Case) -> Iterator[Problem]:
    """What it is: A data set is streamed, and its first rows stand for all of it.

    Why it matters: Columns, lengths, labels, copies and damaged rows were counted in the first rows
    of a few of its files; the rest may be otherwise. `prepare.py` counts every row that it takes.

    Example: {"data": {"source": "owner/terabytes-of-text", "streaming": true, "max_rows": 200000}}

    Use instead: {"data": {"source": "owner/small-data-set", "max_rows": 200000}}
    """
    for source, part in _parts(case):
        if part.streamed_rows is not None and part.rows < part.streamed_rows:
            yield Problem(
                message=f"what is known of `{source.source}` is that of {part.rows:,} rows, the "
                f"first of some of its files, of about {part.streamed_rows:,}",
                help="nothing to do: `prepare.py` counts every row that it takes, and stops if the "
                "plan was far off",
                pointer=source.at("streaming"),
            )


@rule("FTC262", "labels-of-first-rows", "warning", reads=("data",))
def labels_of_first_rows(case: Case) -> Iterator[Problem]:
    """What it is: A head is trained to tell labels apart, and the labels are those of first rows.

    Why it matters: The head has one place for each label that was seen. `prepare.py` stops at a row
    with another one, and a data set that is sorted by label shows the first of them alone.

    Example: {"data": {"source": "owner/labelled", "streaming": true, "max_rows": 50000},
     "objective": "classification"}

    Use instead: {"data": {"source": "owner/labelled", "max_rows": 50000}, "objective":
    "classification"}
    """
    if case.spec.objective.type != "classification":
        return
    for source, part in _parts(case):
        if part.streamed_rows is not None and part.rows < part.streamed_rows:
            yield Problem(
                message=f"the {len(case.data.labels):,} labels are those of the first rows of "
                f"`{source.source}`: a row with another one would stop `prepare.py`",
                help="leave `streaming` out if the disk holds the data set",
                pointer=source.at("streaming"),
            )


def _needed_rows(case: Case) -> int | None:
    """Return the rows that so many steps read, and those that are held out beside them."""
    steps, plan = case.spec.training.max_steps, case.known_plan
    if steps is None or plan is None or plan.decisions.packing.value != "none":
        return None
    splits = case.spec.data.splits
    trained = steps * plan.decisions.global_batch.value
    return math.ceil(trained / max(0.01, 1 - splits.test - splits.validation))
