"""The rules about mixtures: every source must contribute, with a possible weight."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

import math
from collections.abc import Iterator, Sequence

from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.plan.splits import count_rows, find_capped, label_sources, share_rows
from ftc.spec.sources import list_sources

_LEFT_OUT_SHARE = 0.01


def _copies(case: Case) -> dict[int, int]:
    """Return which sources hold the same bytes as an earlier one, by place."""
    hashes = [part.sha256 for part in case.data.sources]
    return {n: hashes.index(own) for n, own in enumerate(hashes) if own in hashes[:n]}


def _trained(case: Case) -> list[int]:
    """Return the rows of each source that are trained on, each counted once."""
    decided = case.plan.decisions
    rows = count_rows(case.spec, case.data, decided.rows.max_length.value)
    held_out = decided.splits.validation_rows.value + decided.splits.test_rows.value
    return share_rows(rows, 1 - held_out / max(1, sum(rows)))


@rule("FTC216", "same-source-twice", "warning", reads=("data",))
def same_source_twice(case: Case) -> Iterator[Problem]:
    """What it is: Two sources of a mixture are the same file, or hold the same bytes.

    Why it matters: Copies are removed by default, and the second source then adds nothing. If they
    are kept, its rows count twice, which a weight expresses more clearly.

    Example: {"data": {"sources": ["tickets.csv", "tickets.csv", "chats.jsonl"]}}

    Use instead: {"data": {"sources": [{"source": "tickets.csv", "weight": 2}, {"source":
    "chats.jsonl", "weight": 1}]}}
    """
    sources = list_sources(case.spec.data)
    for place, first in _copies(case).items():
        yield problem(
            sources[place].pointer, name=sources[place].source, other=sources[first].source
        )


@rule("FTC217", "idle-source", "warning", reads=("data", "plan"))
def idle_source(case: Case) -> Iterator[Problem]:
    """What it is: An epoch contains no row of a source.

    Why it matters: All of its rows are copies of another source's rows or are too long, or its
    weight is less than one row per epoch. The model learns nothing from it.

    Example: {"data": {"sources": [{"source": "tiny.csv", "weight": 1}, {"source": "huge.csv",
    "weight": 100000}]}}

    Use instead: {"data": {"sources": [{"source": "tiny.csv", "weight": 1}, {"source": "huge.csv",
    "weight": 10}]}}
    """
    mixture, copies = case.plan.decisions.splits.mixture, _copies(case)
    for place, rows in enumerate(mixture.value.values() if mixture else ()):
        source = list_sources(case.spec.data)[place]
        if rows == 0 and place not in copies:
            usable = case.data.sources[place].usable_rows
            yield problem(
                source.pointer, help="" if usable else "copies", name=source.source, count=usable
            )


@rule("FTC218", "weight-beyond-repeats", "warning", reads=("data", "plan"))
def weight_beyond_repeats(case: Case) -> Iterator[Problem]:
    """What it is: A source has too few rows for its weight, even when repeated as often as allowed.

    Why it matters: To keep the weights, rows of the other sources are left out of every epoch.

    Example: {"data": {"sources": [{"source": "300-rows.csv", "weight": 1}, {"source":
    "100000-rows.csv", "weight": 1}]}}

    Use instead: {"data": {"sources": [{"source": "300-rows.csv", "weight": 1}, {"source":
    "100000-rows.csv", "weight": 80}]}}
    """
    mixture = case.plan.decisions.splits.mixture
    if mixture is None or mixture.because.key != "mixture.capped":
        return
    sources, epoch, rows = list_sources(case.spec.data), [*mixture.value.values()], _trained(case)
    place = find_capped(rows, epoch, [source.max_repeats for source in sources])
    left = sum(max(0, n - seen) for n, seen in zip(rows, epoch, strict=True))
    if left < _LEFT_OUT_SHARE * sum(rows):
        return
    source = sources[place]
    yield problem(
        source.at("weight"),
        name=source.source,
        rows=rows[place],
        count=left,
        needed=_needed_repeats(case, rows, place),
        repeats=source.max_repeats,
    )


@rule("FTC219", "labels-of-one-source", "warning", reads=("data",))
def labels_of_one_source(case: Case) -> Iterator[Problem]:
    """What it is: The sources have different labels.

    Why it matters: A label that another source spells differently is another label to the model. A
    label that only one source has can be predicted from that source's style instead of the content.

    Example: {"data": {"sources": ["with-refund.csv", "with-Refunds.csv"]}}

    Use instead: {"data": {"sources": ["with-refund.csv", "with-refund-too.csv"]}}
    """
    parts, names = case.data.sources, label_sources(case.spec)
    if not case.data.labels or not all(part.labels for part in parts):
        return
    sets = [{label.name for label in part.labels} for part in parts]
    every = set().union(*sets)
    alone = sorted(label for label in every if sum(label in own for own in sets) == 1)
    if alone and len(parts) > 1:
        place = next(n for n, own in enumerate(sets) if alone[0] in own)
        yield problem(
            list_sources(case.spec.data)[place].pointer,
            count=len(alone),
            total=len(every),
            label=alone[0],
            name=names[place],
        )


@rule("FTC257", "files-beyond-one-on-skypilot", "error", reads=("data",))
def files_beyond_one_on_skypilot(case: Case) -> Iterator[Problem]:
    """What it is: The run is for SkyPilot, and its data are more than one local file.

    Why it matters: The task uploads one file under a name of its own. A mixture would not find its
    files, and rows that name images in files would not find those.

    Example: {"launch": "skypilot", "data": {"sources": ["tickets.csv", "chats.jsonl"]}}

    Use instead: {"launch": "skypilot", "data": {"sources": ["owner/tickets", "owner/chats"]}}
    """
    if case.spec.launch.type != "skypilot":
        return
    local = [part for part in case.data.sources if part.path is not None]
    if local:
        yield problem("/data/sources", count=len(local))
    pictures = case.data.pictures
    if pictures is not None and case.data.path is not None:
        count = pictures.images - pictures.urls - pictures.stored
        if count > 0:
            yield problem("/data/source", message="images", help="images", count=count)


def _needed_repeats(case: Case, rows: Sequence[int], place: int) -> int:
    """Return how often a row of the source would be in the epoch that holds every row."""
    weights = [source.weight or 0.0 for source in list_sources(case.spec.data)]
    longest = max(n / weight for n, weight in zip(rows, weights, strict=True) if weight)
    return math.ceil(longest * weights[place] / max(1, rows[place]))
