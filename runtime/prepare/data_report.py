"""Writes the data report: run/data/report.json and report.md list every row that was changed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..files import write_json
from ..run import Run
from ..tokens.encoding import NOT_LEARNED
from .preparing import Records, Rows
from .splitting import Splits


def write_report(
    folder: Path,
    rows: Rows,
    records: Records,
    splits: Splits,
    *,
    round_trip: Mapping[str, Any],
    count_labels: bool = False,
    mixture: Any = None,
) -> str:
    """Write both files, and return the tables of the second one.

    `rows_usable` are the `usable_rows` of ftc.lock.json, after cleaning and limits; `rows_used` the
    records of the splits, without what is too long. `mixture` is a mixture.Report for several
    sources: it counts their rows, and names a row by its source and its number there.
    """
    changes = {what: len(numbers) for what, numbers in rows.changes.items() if numbers}
    changes = dict(sorted(changes.items(), key=lambda pair: -pair[1]))
    ordered = np.sort(records.lengths)
    # p90 is the shortest length that 90% of the rows do not exceed, as in the plan
    tokens = {f"p{p}": int(ordered[-(-len(ordered) * p // 100) - 1]) for p in (50, 90, 95, 99, 100)}
    report: dict[str, Any] = {
        "rows_read": len(rows.wanted),
        "rows_usable": int(rows.wanted.sum()),
        "rows_used": len(records.learned),
        "changes": changes,
        "splits": {name: len(split) for name, split in splits.items()},
        "tokens": tokens,
    }
    if reasoned := sum(records.reasons):
        report["reasoning"] = {"with": reasoned, "without": len(records.reasons) - reasoned}
    if count_labels:
        counts = np.bincount(records.labels).tolist()
        pairs = zip(records.names, counts, strict=True)
        report["labels"] = sorted(pairs, key=lambda pair: -pair[1])
    place_of = _number if mixture is None else mixture.place_of
    if mixture is not None:
        report["sources"] = mixture.count_sources()
    report["round_trip"] = round_trip
    report["changed_rows"] = [
        {**place_of(row), "what": what}
        for row, what in sorted((row, what) for what in changes for row in rows.changes[what])
    ]
    write_json(folder / "report.json", report)
    lines = _write_table(report)
    lines += [] if mixture is None else mixture.write_table()
    lines += ["", f"Tokens per row: {_show_shares(tokens)}."]
    listed = ["", "Rows by number, counted from 1:", ""]
    for what in changes:
        places = (place_of(row).values() for row in sorted(rows.changes[what]))
        names = (" ".join(map(str, place)) for place in places)
        listed.append(f"- {what}: {', '.join(names)}")
    text = "\n".join(["# Data report", "", *lines, *listed]) + "\n"
    (folder / "report.md").write_text(text, encoding="utf-8")
    return "\n".join(lines)


def show_row(run: Run, tokenizer: Any, line: bytes) -> None:
    """Print the text of a record, divided into what is only read and what is learned."""
    row = json.loads(line.partition(b"\n")[0])
    pairs = list(zip(row["input_ids"], row["labels"], strict=True))
    only_read = [token for token, label in pairs if label == NOT_LEARNED]
    learned = [label for _, label in pairs if label != NOT_LEARNED]
    run.say(f"one row, what is read:    {tokenizer.decode(only_read)!r}")
    run.say(f"one row, what is learned: {tokenizer.decode(learned)!r}")


def _show_shares(tokens: Mapping[str, int]) -> str:
    """Return the percentiles of the lengths as text."""
    names = {"p50": "median", "p100": "longest"}
    return ", ".join(f"{names.get(p, f'{p[1:]}%')} {count:,}" for p, count in tokens.items())


def _number(row: int) -> dict[str, Any]:
    return {"row": row}


def _write_table(report: Mapping[str, Any]) -> list[str]:
    """Return the lines of the table of rows."""
    lines = ["| what | rows |", "| --- | ---: |", f"| read | {report['rows_read']:,} |"]
    lines += [f"| {what} | {count:,} |" for what, count in report["changes"].items()]
    lines += [f"| in {name} | {count:,} |" for name, count in report["splits"].items()]
    if "reasoning" in report:
        lines.append(f"| with reasoning | {report['reasoning']['with']:,} |")
        lines.append(f"| without reasoning | {report['reasoning']['without']:,} |")
    return lines
