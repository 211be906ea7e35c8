"""The facts of a mixture: the sum of several sources, weighted by their rows."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from ftc.compiler.resolve import explanations
from ftc.compiler.resolve.content.answer_kinds import (
    MOST_CLASSES,
    MOST_LABELS,
    LabelCount,
    count_documents,
)
from ftc.compiler.resolve.content.languages import find_languages
from ftc.compiler.resolve.content.lost_text import add_round_trips
from ftc.compiler.resolve.content.near_duplicates import find_near_duplicates
from ftc.compiler.resolve.content.rewards import measure_rewards
from ftc.compiler.resolve.content.scan import Scan, add_contents
from ftc.compiler.resolve.content.turns.tool_functions import find_tools
from ftc.compiler.resolve.data.images import add_sizes, leave_out_images
from ftc.compiler.resolve.detail_facts import ImageSizes, Pictures
from ftc.compiler.resolve.facts import DataFacts, Feedback, Lengths, Preferences
from ftc.compiler.resolve.rows.roles import Roles
from ftc.spec.findings.finding import Finding
from ftc.spec.message import Message
from ftc.spec.sections import Form, Spec
from ftc.spec.sources import WholeSource, list_sources

#: Row formats that are all read as turns of a conversation.
_TURNS: Final = frozenset({"chat", "instruction", "prompt_completion"})
_ROLES: Final = tuple(field.name for field in fields(Roles) if field.name != "form")
_PERCENT: Final = {"p50": 50, "p90": 90, "p95": 95, "p99": 99}


def allot(
    rows: Sequence[int], weights: Sequence[float | None], repeats: Sequence[int]
) -> tuple[int, ...]:
    """Return how many rows each source has in one epoch, in the proportion of the weights.

    The epoch is the shortest in which every row is seen (the strategy "all_exhausted" of
    `datasets.interleave_datasets`), or shorter where a row would be seen more often than `repeats`
    allows. Without weights every row is seen once. A source without rows is passed over.
    """
    if any(weight is None for weight in weights):
        return tuple(rows)
    weighed = [
        (n, weight or 0.0, most) for n, weight, most in zip(rows, weights, repeats, strict=True)
    ]
    whole = sum(weight for n, weight, _ in weighed if n)
    if not whole:
        return tuple(0 for _ in rows)
    longest = max(n * whole / weight for n, weight, _ in weighed if n)
    allowed = min(n * most * whole / weight for n, weight, most in weighed if n)
    size = min(longest, allowed)
    return tuple(min(n * most, round(size * weight / whole)) for n, weight, most in weighed)


def find_mixed_forms(sources: Sequence[tuple[WholeSource, Form]]) -> Finding | None:
    """Return the problem with the sources' row formats; None if all can be read as one."""
    (first, wanted), *others = sources
    for source, form in others:
        if form != wanted and not {form, wanted} <= _TURNS:
            return explanations.MIXED_FORMS.finding(
                pointer=source.at("form") if "form" in source.said else source.pointer,
                name=source.source,
                form=form,
                other=first.source,
                wanted=wanted,
            )
    return None


def withhold_objective(faults: Sequence[Finding], *, others_read: bool) -> tuple[Finding, ...]:
    """Return the faults of the sources, without a proposed objective that not all of them need.

    `others_read` says whether the spec's own objective reads another source: with the proposed one
    the fault would be that source's, and its fix would lead back.
    """
    proposed = {_find_proposal(fault) for fault in faults}
    if not others_read and len(proposed) == 1:
        return tuple(faults)
    return tuple(
        replace(fault, fix=(), remedy=Message("FTC206.help.apart", fault.remedy.values))
        if _find_proposal(fault)
        else fault
        for fault in faults
    )


def _find_proposal(fault: Finding) -> str | None:
    """Return the objective that a fault proposes."""
    is_proposed = fault.remedy.key == "FTC206.help.meant"
    return str(fault.remedy.values["meant"]) if is_proposed else None


def mix_facts(
    spec: Spec, parts: Sequence[DataFacts], scans: Sequence[Scan], *, folder: Path
) -> DataFacts:
    """Return the combined facts of all sources, including the facts of each."""
    examples = [example for scan in scans for example in scan.examples]
    starts = [sum(scan.rows for scan in scans[:n]) for n in range(len(scans))]
    numbers = [start + n for start, scan in zip(starts, scans, strict=True) for n in scan.numbers]
    usable = sum(part.usable_rows for part in parts)
    added: dict[str, Any] = {name: sum(getattr(part, name) for part in parts) for name in _ADDED}
    roles: dict[str, Any] = {
        role: role if any(getattr(part, role) is not None for part in parts) else None
        for role in _ROLES
    }
    faults = sum((Counter(part.faults) for part in parts), Counter[str]())
    pictures, limited = _mix_pictures(spec, parts)
    is_class, labels = spec.objective.type == "classification", _add_labels(scans)
    return replace(
        parts[0],
        **roles,
        source=" + ".join(part.source for part in parts),
        origin="file" if all(part.origin == "file" for part in parts) else "hub",
        path=None,
        revision=None,
        files=(),
        sha256=hashlib.sha256("\n".join(part.sha256 for part in parts).encode()).hexdigest(),
        form=parts[0].form if len({part.form for part in parts}) == 1 else "chat",
        columns=tuple(dict.fromkeys(column for part in parts for column in part.columns)),
        usable_rows=usable if spec.data.max_rows is None else min(usable, spec.data.max_rows),
        **added,
        faults=dict(sorted(faults.items())),
        largest_prompt_rows=scans[-1].prompts.largest(),
        multi_turn=any(part.multi_turn for part in parts),
        has_message_cells=any(part.has_message_cells for part in parts),
        has_reasoning=any(part.has_reasoning for part in parts),
        has_system=any(part.has_system for part in parts),
        calls=any(part.calls for part in parts),
        lengths=_mix_lengths(spec, parts),
        pictures=pictures,
        limited_lengths=limited,
        preferences=_mix_preferences(parts),
        rewards=measure_rewards(
            spec.objective, examples, folder=folder, tools=find_tools(spec.objective, folder=folder)
        ),
        documents=count_documents(examples) if parts[0].documents else 0,
        feedback=_add_feedback(parts),
        languages=find_languages(examples),
        round_trip=add_round_trips([part.round_trip for part in parts]),
        twins=find_near_duplicates(*leave_out_images(examples, numbers)),
        contents=add_contents([part.contents for part in parts]),
        labels=labels.labels(MOST_CLASSES if is_class else MOST_LABELS),
        open_answers=labels.why_open(MOST_CLASSES) if is_class else None,
        streamed_rows=_count_streamed(parts),
        absent_tokens=tuple(
            token
            for token in parts[0].absent_tokens
            if all(token in part.absent_tokens for part in parts)
        ),
        sources=tuple(parts),
    )


_ADDED: Final = (
    *("size_bytes", "rows", "sampled_rows", "blank_rows", "duplicate_rows", "misencoded_rows"),
    *("malformed_rows", "lost_rows", "control_rows", "prompts", "conflicting_rows"),
)


def _count_streamed(parts: Sequence[DataFacts]) -> int | None:
    """Return about how many rows all sources have; None where every row was read."""
    if all(part.streamed_rows is None for part in parts):
        return None
    return sum(part.rows if part.streamed_rows is None else part.streamed_rows for part in parts)


def _mix_lengths(spec: Spec, parts: Sequence[DataFacts]) -> Lengths:
    """Return the lengths of an epoch's rows; percentiles are upper edges of the histogram."""
    sources = list_sources(spec.data)
    rows = allot(
        [part.usable_rows for part in parts],
        [source.weight for source in sources],
        [source.max_repeats for source in sources],
    )
    held = [(part.lengths, n) for part, n in zip(parts, rows, strict=True) if n]
    if not held:
        return parts[0].lengths
    longest = max(lengths.max for lengths, _ in held)
    histogram = _add([(lengths.histogram, n) for lengths, n in held])
    prompts = _add([(lengths.prompt_histogram, n) for lengths, n in held])
    answers = {
        name: _mean([(getattr(lengths, name), n) for lengths, n in held])
        for name in ("answer_p50", "answer_p95")
    }
    prompt_max = max(lengths.prompt_max for lengths, _ in held)
    return Lengths(
        estimate=any(lengths.estimate for lengths, _ in held),
        mean=round(sum(lengths.mean * n for lengths, n in held) / sum(n for _, n in held), 2),
        **{name: min(longest, _percentile(histogram, p)) for name, p in _PERCENT.items()},
        max=longest,
        prompt_p50=min(prompt_max, _percentile(prompts, 50)),
        prompt_p95=min(prompt_max, _percentile(prompts, 95)),
        prompt_max=prompt_max,
        **answers,
        answer_max=max(lengths.answer_max for lengths, _ in held),
        histogram=histogram,
        prompt_histogram=prompts,
    )


def _mix_pictures(
    spec: Spec, parts: Sequence[DataFacts]
) -> tuple[Pictures | None, tuple[Lengths, ...]]:
    """Return the images of all sources, and the lengths under each limit that one of them has."""
    held = [part.pictures for part in parts if part.pictures is not None]
    if not held:
        return None, ()
    limits = sorted({size.max_pixels for one in held for size in one.sizes}, reverse=True)
    sizes = [[size for one in held for size in _at_limit(one, limit)] for limit in limits]
    added: dict[str, Any] = {
        name: sum(getattr(one, name) for one in held)
        for name in ("rows", "images", "urls", "stored")
    }
    largest: dict[str, Any] = {
        name: max(getattr(one, name) for one in held)
        for name in ("most_per_row", "pixels_p50", "pixels_p95", "pixels_max")
    }
    limited = tuple(
        _mix_lengths(spec, [_limit_lengths(part, limit) for part in parts]) for limit in limits
    )
    whole = tuple(
        add_sizes(found, limit) for found, limit in zip(sizes, limits, strict=True) if found
    )
    return Pictures(**added, **largest, sizes=whole), limited


def _at_limit(pictures: Pictures, limit: int) -> tuple[ImageSizes, ...]:
    """Return what a source needs under a limit: that of its own limits which is not lower."""
    found = [size for size in pictures.sizes if size.max_pixels >= limit]
    return tuple(found[-1:]) or pictures.sizes[:1]


def _limit_lengths(part: DataFacts, limit: int) -> DataFacts:
    """Return the facts of a source with the lengths that its rows have under a limit."""
    if part.pictures is None or not part.limited_lengths:
        return part
    place = part.pictures.sizes.index(_at_limit(part.pictures, limit)[0])
    return replace(part, lengths=part.limited_lengths[place])


def _add(
    histograms: Sequence[tuple[tuple[tuple[int, int], ...], int]],
) -> tuple[tuple[int, int], ...]:
    """Return one histogram of several, each stretched to so many rows; no bin is empty."""
    counts: Counter[int] = Counter()
    for histogram, rows in histograms:
        whole = sum(n for _, n in histogram)
        for edge, n in histogram:
            counts[edge] += max(1, round(n * rows / whole))
    return tuple(sorted(counts.items()))


def _percentile(histogram: Sequence[tuple[int, int]], percent: int) -> int:
    """Return the upper edge of the bin in which the nearest rank lies."""
    wanted, below = percent * sum(n for _, n in histogram) / 100, 0
    for edge, n in histogram:
        below += n
        if below >= wanted:
            return edge
    return histogram[-1][0]


def _mean(values: Sequence[tuple[float, int]]) -> int:
    return round(sum(value * n for value, n in values) / sum(n for _, n in values))


def _mix_preferences(parts: Sequence[DataFacts]) -> Preferences | None:
    """Return the means of the sources by their rows, which stand in for the whole's percentiles."""
    held = [(part.preferences, part.usable_rows) for part in parts if part.preferences is not None]
    if not held or not sum(n for _, n in held):
        return None
    names = ("chosen_p50", "chosen_p95", "rejected_p50", "rejected_p95")
    longer = sum(found.longer_share * n for found, n in held) / sum(n for _, n in held)
    return Preferences(
        **{name: _mean([(getattr(found, name), n) for found, n in held]) for name in names},
        longer_share=round(longer, 4),
    )


def _add_feedback(parts: Sequence[DataFacts]) -> Feedback | None:
    held = [part.feedback for part in parts if part.feedback is not None]
    if not held:
        return None
    return Feedback(
        desirable_rows=sum(found.desirable_rows for found in held),
        undesirable_rows=sum(found.undesirable_rows for found in held),
    )


def _add_labels(scans: Sequence[Scan]) -> LabelCount:
    """Return the labels of all sources; no closed set where one source has none."""
    counts = sum((scan.labels.counts for scan in scans), Counter[str]())
    reasons = (scan.labels.open_by for scan in scans if scan.labels.open_by is not None)
    return LabelCount(counts=counts, open_by=next(reasons, None))
