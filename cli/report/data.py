"""Describes a spec's data: as plain data for `data.schema.json`, and as a page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any, Final

from ftc.compiler.checks.data.splits import leaked_share
from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts
from ftc.compiler.pipeline import Outcome
from ftc.compiler.plan.batch.lengths import share_above
from ftc.compiler.plan.plan import Decisions
from ftc.compiler.plan.splits import is_weighed, label_sources
from ftc.compiler.resolve.facts import DataFacts, Unknown
from ftc.compiler.resolve.rows.roles import Roles
from ftc.fix_patches import write_fixes
from ftc.report.json_output import VERSION, list_findings
from ftc.runtime.reports.page import (
    Heading,
    Paragraph,
    Parts,
    number,
    shorten,
    table,
    to_html,
    to_markdown,
)
from ftc.spec.findings.finding import Finding
from ftc.spec.message import Message, name_language, read_messages, show
from ftc.spec.sections import Spec

_BINS: Final = 12
_BAR: Final = 40
_MOST_LABELS: Final = 40
_MOST_COLUMNS: Final = 40
_MARKS: Final = ("p50", "p90", "p95", "p99", "max")
#: Sentences about rows without a message of their own.
_WORDS: Final = {
    "blank": "lack a text",
    "contradicting": "prefer what another row rejects",
    "conflicting": "have the prompt of another row and another label",
    "lost": "hold characters that were lost (U+FFFD)",
    "misencoded": "were decoded with the wrong encoding",
    "control": "hold control characters",
    "long": "have more than twice the tokens of the 99th percentile",
    "near_copies": "have near copies",
    "duplicate": "repeat another row",
    "limit": "are beyond data.max_rows",
}
#: Reasons in the order in which their rows are to be looked at; faults come after secrets.
_FIRST: Final = ("private_key", "api_key", "access_token", "password")
_LAST: Final = (
    *("contradicting", "conflicting", "lost", "misencoded", "control", "long", "near_copies"),
    *("card", "iban", "phone", "email", "blank", "duplicate"),
)


def list_data_findings(outcome: Outcome) -> tuple[Finding, ...]:
    """Return the findings about the data, or all where the data were not read."""
    found = write_fixes(outcome.findings, outcome.document)
    if _facts(outcome) is None:
        return found
    return tuple(
        finding
        for finding in found
        if finding.code.startswith("FTC2") or finding.pointer.startswith("/data")
    )


def describe_data(outcome: Outcome) -> Mapping[str, Any]:
    """Return what the data hold as plain data; only findings where they were not read."""
    data, spec = _facts(outcome), outcome.spec
    numbers = {} if data is None or spec is None else _numbers(spec, data, outcome)
    return {
        "version": VERSION,
        "name": spec.name if spec is not None else None,
        **numbers,
        "findings": list_findings(list_data_findings(outcome)),
    }


def data_text(described: Mapping[str, Any]) -> str:
    """Return the page in Markdown."""
    return "\n".join(to_markdown(_page(described))).rstrip("\n")


def data_html(described: Mapping[str, Any]) -> str:
    """Return the page as one HTML file."""
    title = f"The data of {described['name']}"
    return to_html(_page(described), title=title, folder=Path()).rstrip("\n")


# -----------------------------------------------------------------------------
# The numbers


def _facts(outcome: Outcome) -> DataFacts | None:
    data = outcome.facts.data if outcome.facts is not None else None
    return None if data is None or isinstance(data, Unknown) else data


def _numbers(spec: Spec, data: DataFacts, outcome: Outcome) -> Mapping[str, Any]:
    decisions = outcome.plan.decisions if outcome.plan is not None else None
    contents, twins = data.contents, data.twins
    return {
        "source": data.source,
        "form": data.form,
        "columns": {} if data.sources else _columns(data),
        "rows": _rows(spec, data),
        "lengths": _lengths(spec, data, decisions),
        "splits": None if decisions is None else _splits(data, decisions),
        "labels": [] if compares_texts(spec.objective.type) else _labels(spec, data, decisions),
        "languages": dict(data.languages),
        "near_copies": {
            "drawn_rows": twins.probes,
            "rows_with_copies": sum(rows for copies, rows in twins.counts if copies),
            "largest": twins.largest,
            "row": twins.row or None,
        },
        "secrets": {"looked_rows": contents.looked_rows, "rows": dict(contents.secrets)},
        "personal": {"looked_rows": contents.personal_looked_rows, "rows": dict(contents.personal)},
        "review": _review(spec, data),
        "sources": _sources(spec, data, decisions),
    }


def _columns(data: DataFacts) -> Mapping[str, str | None]:
    """Return the role of each column, None for one that nothing reads."""
    roles = {getattr(data, field.name): field.name for field in fields(Roles)}
    return {name: roles.get(name) for name in data.columns}


def _rows(spec: Spec, data: DataFacts) -> Mapping[str, Any]:
    dropped = {"blank": data.blank_rows, **data.faults}
    if spec.data.cleaning.drop_duplicates:
        dropped["duplicate"] = data.duplicate_rows
    beyond = data.rows - sum(dropped.values()) - data.usable_rows
    if data.streamed_rows is None and beyond > 0:
        dropped["limit"] = beyond
    return {
        "read": data.rows,
        "streamed": data.streamed_rows,
        "measured": data.sampled_rows,
        "usable": data.usable_rows,
        "dropped": {reason: rows for reason, rows in dropped.items() if rows},
        "duplicate": data.duplicate_rows,
        "prompts": data.prompts,
    }


def _lengths(spec: Spec, data: DataFacts, decisions: Decisions | None) -> Mapping[str, Any]:
    lengths = data.lengths
    limit = decisions.rows.max_length.value if decisions is not None else None
    splits = OBJECTIVES[spec.objective.type].splits
    return {
        "estimate": lengths.estimate,
        "mean": lengths.mean,
        "row": {mark: getattr(lengths, mark) for mark in _MARKS},
        **{
            part: {mark: getattr(lengths, f"{part}_{mark}") for mark in ("p50", "p95", "max")}
            for part in ("prompt", "answer")
        },
        "max_length": limit,
        "share_above": None if limit is None else share_above(lengths, limit),
        "overlong": "split" if splits else spec.data.cleaning.overlong,
        "histogram": [list(bin_) for bin_ in lengths.histogram],
    }


def _splits(data: DataFacts, decisions: Decisions) -> Mapping[str, Any]:
    """Return the rows of the splits, and the share of those held out with a near copy trained on.

    `prepare.py` keeps rows with the same prompt in one split.
    """
    train, test = decisions.splits.train_rows.value, decisions.splits.test_rows.value
    validation = decisions.splits.validation_rows.value
    held = validation + test
    compared = data.twins.probes and data.twins.compared and train and held
    return {
        "train": train,
        "validation": validation,
        "test": test,
        "stratify": decisions.splits.stratify.value,
        "near_copies_share": leaked_share(data, train / (train + held)) if compared else None,
    }


def _labels(spec: Spec, data: DataFacts, decisions: Decisions | None) -> list[Mapping[str, Any]]:
    """Return the labels, the most frequent first, and the rows each split is to have of them."""
    total = sum(label.rows for label in data.labels)
    ordered = sorted(data.labels, key=lambda label: (-label.rows, label.name))
    parts = {}
    if decisions is not None and not is_weighed(spec):  # a weighed source repeats rows
        counts = (
            decisions.splits.train_rows,
            decisions.splits.validation_rows,
            decisions.splits.test_rows,
        )
        parts = dict(zip(("train", "validation", "test"), counts, strict=True))
    return [
        {
            "name": label.name,
            "rows": label.rows,
            "share": label.rows / total,
            **{name: round(label.rows * rows.value / total) for name, rows in parts.items()},
        }
        for label in ordered
    ]


def _review(spec: Spec, data: DataFacts) -> list[Mapping[str, Any]]:
    """Return a few rows for each reason to look at them, in the order to do so."""
    found: list[tuple[str, str, tuple[int, ...]]] = []
    for part in data.sources or (data,):
        marked = dict(part.contents.review)
        if not part.labels or compares_texts(spec.objective.type):
            marked.pop("conflicting", None)
        if part.twins.largest:
            marked["near_copies"] = (part.twins.row,)
        found += [(reason, part.source, rows) for reason, rows in marked.items()]
    found.sort(key=lambda item: _urgency(item[0]))
    return [
        {"reason": reason, "source": source, "rows": list(rows)} for reason, source, rows in found
    ]


def _urgency(reason: str) -> int:
    if reason in _FIRST:
        return _FIRST.index(reason) - len(_FIRST)
    return _LAST.index(reason) + 1 if reason in _LAST else 0


def _sources(spec: Spec, data: DataFacts, decisions: Decisions | None) -> list[Mapping[str, Any]]:
    """Return the rows and lengths of each source of a mixture."""
    mixture = decisions.splits.mixture if decisions is not None else None
    epoch = mixture.value if mixture is not None else {}
    names = label_sources(spec) if data.sources else ()
    return [
        {
            "name": name,
            "read": part.rows,
            "usable": part.usable_rows,
            "epoch": epoch.get(name),
            **{mark: getattr(part.lengths, mark) for mark in ("p50", "p95", "max")},
        }
        for name, part in zip(names, data.sources, strict=True)
    ]


# -----------------------------------------------------------------------------
# The page


def _page(described: Mapping[str, Any]) -> Parts:
    rows = described["rows"]
    said = f"{rows['read']:,} rows read"
    if rows["streamed"] is not None:
        said += f" of about {rows['streamed']:,}"
    said += f", {rows['usable']:,} usable"
    if described["splits"] is None:
        said += "; without a plan there are no splits and no limit of length"
    headline = Paragraph(text=said, is_headline=True)
    sections = {
        "Columns": _show_columns(described["form"], described["columns"]),
        "Rows": _show_rows(rows),
        "Sources": _show_sources(described["sources"]),
        "Splits": _show_splits(described["splits"]),
        "Lengths in tokens": _show_lengths(described["lengths"]),
        "Labels": _show_labels(described["labels"]),
        "Languages": _show_shares(_name_languages(described["languages"]), "language"),
        "Near copies": _show_copies(described["near_copies"]),
        "Secrets and personal data": _show_private(described),
        "Rows to review first": _show_review(described["review"]),
    }
    written = ([Heading(text=title), *parts] for title, parts in sections.items() if parts)
    title = Heading(text=f"The data of {described['name']}: {described['source']}", level=1)
    return [title, headline, *chain.from_iterable(written)]


def _say(reason: str) -> str:
    """Return the sentence about the rows that a reason counts."""
    if reason in _WORDS:
        return _WORDS[reason]
    if f"private.{reason}" in read_messages("en"):
        return f"hold {str(Message(f'private.{reason}', {'rows': 0})).removesuffix(' in 0')}"
    return str(Message(f"fault.{reason}", {"count": 0})).removeprefix("0 ")


def _show_columns(form: str, columns: Mapping[str, str | None]) -> Parts:
    said = Paragraph(text=f"Each row is read in the form {form}.")
    cells = [(shorten(name), role or "not read") for name, role in columns.items()]
    more = len(cells) - _MOST_COLUMNS
    rest = [Paragraph(text=f"There are {more:,} more columns.")] if more > 0 else []
    return [said, *table(("column", "role"), cells[:_MOST_COLUMNS]), *rest] if cells else []


def _show_rows(rows: Mapping[str, Any]) -> Parts:
    cells = [("were read", rows["read"])]
    cells += [(f"{_say(reason)}: dropped", count) for reason, count in rows["dropped"].items()]
    cells.append(("can be used", rows["usable"]))
    whole = rows["read"] if rows["streamed"] is None else None
    shown = [
        (what, f"{count:,}", number(None if whole is None else count / whole, share=True))
        for what, count in cells
    ]
    prompts = Paragraph(text=f"They have {rows['prompts']:,} distinct prompts.")
    return [*table(("rows that", "rows", "share"), shown), prompts]


def _show_sources(sources: Sequence[Mapping[str, Any]]) -> Parts:
    titles = ("source", "read", "usable", "in an epoch", "p50", "p95", "max")
    cells = [
        [name, *("-" if value is None else f"{value:,}" for value in values)]
        for name, *values in (source.values() for source in sources)
    ]
    return table(titles, cells)


def _show_splits(splits: Mapping[str, Any] | None) -> Parts:
    if splits is None:
        return []
    names = "train", "validation", "test"
    whole = max(1, sum(splits[name] for name in names))
    cells = [(n, f"{splits[n]:,}", number(splits[n] / whole, share=True)) for n in names]
    said = "Rows with the same prompt stay in one split."
    if (share := splits["near_copies_share"]) is not None:
        near = number(share, share=True)
        said += f" Of the rows held out, {near} are expected to have a near copy in training."
    return [*table(("split", "rows", "share"), cells), Paragraph(text=said)]


def _has_both(lengths: Mapping[str, Any]) -> bool:
    """Return whether rows have a prompt and an answer; plain text and prompts alone do not."""
    return bool(lengths["prompt"]["max"] and lengths["answer"]["max"])


def _show_lengths(lengths: Mapping[str, Any]) -> Parts:
    cells = [
        (part, *(f"{lengths[part][mark]:,}" if mark in lengths[part] else "-" for mark in _MARKS))
        for part in (("row", "prompt", "answer") if _has_both(lengths) else ("row",))
    ]
    parts = table(("of a", *_MARKS), cells)
    if lengths["estimate"]:
        text = "These are estimated from characters: the model's tokenizer could not be read."
        parts.append(Paragraph(text=text))
    if lengths["max_length"] is not None:
        share = number(lengths["share_above"], share=True)
        fate = {"split": "split", "drop": "dropped", "truncate": "cut"}[lengths["overlong"]]
        text = f"A row may have {lengths['max_length']:,} tokens; {share} have more and are {fate}."
        parts.append(Paragraph(text=text))
    return [*parts, *_show_histogram(lengths)]


def _show_histogram(lengths: Mapping[str, Any]) -> Parts:
    """Return bins as wide as a power of two, whose edges the histogram has; the last is open."""
    width = 8
    while width * _BINS < lengths["row"]["p99"]:
        width *= 2
    counts = [0] * (_BINS + 1)
    for edge, rows in lengths["histogram"]:
        counts[min(_BINS, (edge - 1) // width)] += rows
    while len(counts) > 1 and not counts[-1]:
        counts.pop()
    most, whole = max(1, *counts), max(1, sum(counts))
    return table(
        ("tokens", "histogram", "rows", "share"),
        [
            (
                f"over {_BINS * width:,}" if place == _BINS else f"up to {(place + 1) * width:,}",
                "=" * round(_BAR * rows / most),
                f"{rows:,}",
                number(rows / whole, share=True),
            )
            for place, rows in enumerate(counts)
        ],
        left=2,
    )


def _show_labels(labels: Sequence[Mapping[str, Any]]) -> Parts:
    if not labels:
        return []
    splits = [name for name in ("train", "validation", "test") if name in labels[0]]
    cells = [
        (
            shorten(label["name"], 60),
            f"{label['rows']:,}",
            number(label["share"], share=True),
            *(f"{label[name]:,}" for name in splits),
        )
        for label in labels[:_MOST_LABELS]
    ]
    parts = table(("label", "rows", "share", *splits), cells)
    said = f"{len(labels):,} labels; the most frequent has {labels[0]['rows']:,} rows,"
    said += f" the rarest {labels[-1]['rows']:,}."
    if len(labels) > _MOST_LABELS:
        said += f" The {_MOST_LABELS} most frequent are shown; --format json has all."
    if splits:
        said += " The numbers of the splits are those to expect."
    return [*parts, Paragraph(text=said)]


def _name_languages(shares: Mapping[str, float]) -> Mapping[str, float]:
    return {show(name_language(code), "", "en"): share for code, share in shares.items()}


def _show_shares(shares: Mapping[str, float], title: str) -> Parts:
    return table((title, "share"), [(n, number(share, share=True)) for n, share in shares.items()])


def _show_copies(copies: Mapping[str, Any]) -> Parts:
    if not copies["drawn_rows"]:
        return []
    drawn, found = copies["drawn_rows"], copies["rows_with_copies"]
    said = (
        f"Of {drawn:,} row{'s' * (drawn != 1)} drawn, {found:,} {'has' if found == 1 else 'have'}"
    )
    said += " near copies."
    if copies["row"] is not None:
        said += f" Row {copies['row']:,} has the most: {copies['largest']:,}."
    return [Paragraph(text=said)]


def _show_private(described: Mapping[str, Any]) -> Parts:
    return table(
        ("rows that", "rows", "looked at"),
        [
            (_say(kind), f"{rows:,}", f"{described[group]['looked_rows']:,}")
            for group in ("secrets", "personal")
            for kind, rows in described[group]["rows"].items()
        ],
    )


def _show_review(review: Sequence[Mapping[str, Any]]) -> Parts:
    def cells() -> Iterator[tuple[str, ...]]:
        for entry in review:
            rows = ", ".join(f"{row:,}" for row in entry["rows"])
            yield (_say(entry["reason"]), entry["source"], rows)

    if not review:
        return []
    said = "A few rows for each reason, counted from 1 in their source, without the header."
    return [Paragraph(text=said), *table(("rows that", "source", "numbers"), list(cells()), left=3)]
