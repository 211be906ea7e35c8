"""The parts of a report: Markdown tables of numbers and texts, and a picture of the curve."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.figure

# The last two start an automatic link in GitHub's Markdown.
MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~&$!@]|:(?=/)|(?<=www)\.", re.IGNORECASE)
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\u202a-\u202e\u2066-\u2069]+")
SHOWN_LETTERS = 300  # of a text in the report
DIGITS = 10_000  # numbers from here on are shown without decimals
DECADE = 10  # a loss that spans more than this factor is drawn on a logarithmic axis

# -----------------------------------------------------------------------------
# Texts and numbers


def escape(text: str) -> str:
    """Return a text as one line without any effect in Markdown, HTML or a table's cell."""
    line = " ".join(CONTROLS.sub(" ", text).split())
    return MARKUP.sub(r"\\\g<0>", line).replace("\\<", "&lt;")


def shorten(text: str, letters: int = SHOWN_LETTERS, *, end: bool = False) -> str:
    """Return the beginning of a text, or its end, with an ellipsis if something is left out."""
    line = " ".join(CONTROLS.sub(" ", text).split())
    if len(line) <= letters:
        return line
    return f"… {line[-letters:].lstrip()}" if end else f"{line[:letters].rstrip()} …"


def number(value: float | None, *, share: bool = False) -> str:
    """Return a number as a cell: a share in per cent, no number as a dash."""
    if value is None or not math.isfinite(value):
        return "-"
    if share:
        return f"{value:.1%}"
    return f"{value:,.0f}" if abs(value) >= DIGITS else f"{value:.4f}"


def span(ends: Sequence[float] | None, *, share: bool = False) -> str:
    """Return an interval as a cell."""
    return "-" if ends is None else " to ".join(number(end, share=share) for end in ends)


def difference(value: float | None, *, share: bool = False) -> str:
    """Return a change as a cell; a share changes in percentage points."""
    if value is None:
        return "-"
    return f"{100 * value:+.1f} points" if share else f"{value:+.4f}"


def changed(ends: Sequence[float] | None, *, share: bool = False) -> str:
    """Return the interval of a change as a cell."""
    if ends is None:
        return "-"
    return " to ".join(f"{100 * end:+.1f}" if share else f"{end:+.4f}" for end in ends)


def spread(rows: Sequence[Any], most: int) -> list[Any]:
    """Return at most `most` rows, evenly spaced."""
    count = min(most, len(rows))
    return [rows[place * len(rows) // count] for place in range(count)]


# -----------------------------------------------------------------------------
# Tables


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """Return the lines of a table; after the first `left` columns, cells are aligned right."""
    cells = [list(titles), *map(list, rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(titles))]

    def line(row: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = [
        "-" * max(3, width) if place < left else "-" * max(2, width - 1) + ":"
        for place, width in enumerate(widths)
    ]
    widths = [max(width, len(dashes)) for width, dashes in zip(widths, rule, strict=True)]
    return [line(titles), line(rule), *map(line, rows), ""]


def comparison(judged: Mapping[str, Any], words: Mapping[str, str]) -> list[str]:
    """Return the table of what evaluate.py measured before and after training, on the same rows.

    `words` has the titles of numbers whose names do not say enough.
    """
    cells = []
    for name, rows in judged["judged"].items():
        percent, change = name in judged["percent"], judged["changes"].get(name)
        row = [escape(words.get(name, name.replace("_", " "))), f"{rows:,}"]
        row += [number(judged["base"].get(name), share=percent)]
        row += [number(judged[name], share=percent)]
        row += [span(judged["intervals"][name], share=percent)]
        row += [difference(change and change["change"], share=percent)]
        row += [changed(change and change["interval"], share=percent)]
        cells.append([*row, change["verdict"] if change else "-"])
    interval = "95 % interval"
    before = escape(judged["compared_with"])
    return table(
        ("metric", "rows", before, "trained", interval, "change", interval, "verdict"), cells
    )


def by_source(sources: Mapping[str, Any]) -> list[str]:
    """Return the table of the loss on the rows of each source."""
    cells = []
    for source, found in sources.items():
        row = [escape(source), f"{found['rows']:,}", number(found.get("base_loss"))]
        row += [number(found["loss"]), span(found["interval"])]
        cells.append([*row, found.get("change", {}).get("verdict", "-")])
    titles = ("source", "rows", "loss before training", "trained", "95 % interval", "verdict")
    return table(titles, cells)


def by_label(labels: Sequence[Mapping[str, Any]], most: int, place: str) -> list[str]:
    """Return a table of the first labels, which are the worst; `place` names the file of all."""
    cells = [
        [
            escape(shorten(entry["label"], 60)),
            *(number(entry[name], share=True) for name in ("precision", "recall", "f1")),
            f"{entry['support']:,}",
        ]
        for entry in labels[:most]
    ]
    lines = table(("label", "precision", "recall", "F1", "rows"), cells)
    if len(labels) > most:
        lines += [f"These are the {most} worst of {len(labels):,} labels; all are in {place}.", ""]
    return lines


def samples(
    title: str, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], most: int
) -> list[str]:
    """Return a heading and a table of a few rows, or nothing without rows.

    `columns` maps each name in the rows to its title. A long prompt is shown by its end.
    """
    if not rows:
        return []
    cells = [
        [escape(shorten(row[name], end=name == "prompt")) for name in columns]
        for row in spread(rows, most)
    ]
    lines = table(list(columns.values()), cells, left=len(columns))
    return [f"## {title}: {len(rows):,}", "", *lines]


def pictures(rows: Sequence[Mapping[str, Any]], folder: str) -> list[str]:
    """Return a heading and a table of images with what was said of each, or nothing without rows.

    `folder` is where the images are, relative to the page.
    """
    if not rows:
        return []
    titles = "images", "end of the prompt", "right answer", "trained model"
    cells = [
        [
            " ".join(f"![]({folder}/{name})" for name in row["pictures"]),
            escape(shorten(row["prompt"], end=True)),
            *(escape(shorten(row[name])) for name in ("answer", "said")),
        ]
        for row in rows
    ]
    return ["## Images of the test split", "", *table(titles, cells, left=len(titles))]


# -----------------------------------------------------------------------------
# The picture


def draw_curve(
    points: Mapping[str, Sequence[Sequence[float]]],
    *,
    title: str,
    unit: str,
    kept: int | None,
    is_loss: bool,
) -> matplotlib.figure.Figure:
    """Return a picture of the training and validation curves, with the step of the saved model.

    A loss that spans more than a factor of ten is drawn on a logarithmic axis.
    """
    figure = matplotlib.figure.Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(*zip(*points["training"], strict=True), label="training", linewidth=1, alpha=0.6)
    if points.get("validation"):
        pairs = zip(*points["validation"], strict=True)
        axes.plot(*pairs, label="validation", linewidth=2.5, marker="o", zorder=3)
    if kept is not None:
        label = f"saved model (step {kept:,})"
        axes.axvline(kept, color="black", linestyle="--", linewidth=1, label=label)
    axes.set(title=title, xlabel="optimizer step", ylabel=unit)
    heights = [height for pairs in points.values() for _, height in pairs]
    if is_loss and min(heights) > 0 and max(heights) > DECADE * min(heights):
        axes.set(yscale="log", ylabel=f"{unit}, logarithmic scale")
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend()
    return figure
