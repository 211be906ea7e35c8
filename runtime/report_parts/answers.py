"""The parts of a report about answers and labels: those of the test split, and those of files."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..metric import metrics
from ..reports import page
from ..reports.page import Parts
from ..reports.results import Numbers, Results, load_part

SHOWN_LABELS = 15  # the worst; all are in run/evaluate/labels.jsonl
SHOWN_ANSWERS = 4  # of each kind; all are in run/evaluate/predictions.jsonl
GRADED = {"rouge_l", "chrf"}  # metrics by which an answer is neither right nor wrong
SHARES = {"accuracy", "exact_match", "numeric_match"}


def describe_chance(judged: Numbers) -> str:
    """Return what an answer without understanding would reach."""
    if "majority_verdict" not in judged:
        return f"A random label would be right in {judged['chance']:.1%} of these rows."
    answers = next(iter(judged["judged"].values()))
    return (
        f"The most common answer of the training split is right in"
        f" {judged['majority_class']:.1%} of these rows, a random label in"
        f" {judged['chance']:.1%}. Against the most common answer, the accuracy of the trained"
        f" model is {judged['majority_verdict']}. Of {answers:,} answers"
        f" {judged['other_answers']:,} are no label."
    )


def list_labels(labels: Sequence[Numbers]) -> Parts:
    """Return a heading and a table of the first labels, which are the worst."""
    cells = [
        [
            page.shorten(entry["label"], 60),
            *(page.number(entry[name], share=True) for name in ("precision", "recall", "f1")),
            f"{entry['support']:,}",
        ]
        for entry in labels[:SHOWN_LABELS]
    ]
    parts: Parts = [page.Heading(text="Labels, the worst first")]
    parts += page.table(("label", "precision", "recall", "F1", "rows"), cells)
    if len(labels) > SHOWN_LABELS:
        said = f"These are the {SHOWN_LABELS} worst of {len(labels):,} labels"
        said += "; all are in run/evaluate/labels.jsonl."
        parts.append(page.Paragraph(text=said))
    return parts


def list_samples(results: Results, rows: list[Any]) -> Parts:
    """Return some rows of the test split, the good ones apart from the bad ones."""
    if "chosen" in rows[0]:
        groups, columns = load_part("pairs").divide(rows)
    elif "answer" not in rows[0]:
        groups, columns = load_part("prompts").divide(rows)
    else:
        columns = {"prompt": "text", "answer": "label", "said": "trained model"}
        if "base_said" in rows[0]:
            columns |= {"prompt": "end of the prompt", "answer": "right answer"}
            columns["base_said"] = "before training"
        groups = {
            "Wrong answers": [row for row in rows if row["score"] == 0],
            "Right answers": [row for row in rows if row["score"] == 1],
        }
        if results.decided.get("metric") in GRADED:
            rows.sort(key=lambda row: row["score"])
            groups = halve(rows)
    parts: Parts = []
    for title, group in groups.items():
        parts += show_samples(title, group, columns)
    if seen := [row for row in rows if row.get("pictures")]:
        parts += load_part("pictures").list_pictures(seen)
    return parts


def show_samples(title: str, rows: Sequence[Numbers], columns: Mapping[str, str]) -> Parts:
    """Return a heading and a table of a few rows, or nothing without rows.

    The rows are evenly spaced. `columns` maps each name in the rows to its title. A long prompt is
    shown by its end.
    """
    if not rows:
        return []
    count = min(SHOWN_ANSWERS, len(rows))
    chosen = [rows[place * len(rows) // count] for place in range(count)]
    cells = [[page.shorten(row[name], end=name == "prompt") for name in columns] for row in chosen]
    heading = page.Heading(text=f"{title}: {len(rows):,}")
    return [heading, *page.table(list(columns.values()), cells, left=len(columns))]


def halve(rows: Sequence[Numbers]) -> dict[str, list[Numbers]]:
    """Return the worse and the better half of the answers, each under its heading."""
    middle = len(rows) // 2
    titles = "The worse half of the answers", "The better half of the answers"
    return dict(zip(titles, (list(rows[:middle]), list(rows[middle:])), strict=True))


def list_answers(files: Sequence[Numbers], metric: str) -> Parts:
    """Return the table of how good the answers of each file are, with the bound of the loss."""
    name, is_share = metrics.title(metric), metric in SHARES
    cells = [
        [
            str(entry["file"]),
            f"{entry['asked_rows']:,}",
            page.number(entry[f"trained_{metric}"], share=True),
            page.number(entry[metric], share=True),
            *([page.span(_find_interval(entry, metric), share=True)] if is_share else []),
            page.number(entry["metric_drop"], share=True),
            page.number(entry["bounds"].get("max_metric_drop"), share=True),
            page.number(entry["same_answers"], share=True),
        ]
        for entry in files
    ]
    titles = ["file", "rows", f"{name}, trained", f"{name}, file"]
    titles += ["95% interval"] if is_share else []
    titles += ["lost", "at most", "same answers"]
    said = page.Paragraph(text="Both answered the same rows of the test split.")
    return [said, *page.table(titles, cells)]


def _find_interval(entry: Numbers, metric: str) -> list[float]:
    return metrics.wilson(entry[metric], entry["asked_rows"])
