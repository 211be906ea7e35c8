"""The part of a report about the files: their sizes, and how far quantized ones are off."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..metric import metrics
from . import page
from .page import Parts
from .results import Results, load_part

SHARES = {"accuracy", "exact_match", "numeric_match"}

Numbers = Mapping[str, Any]


def describe_files(results: Results) -> Parts:
    """Return the sizes of the files, and how close each quantized one is to the trained model."""
    parts, merged = list[page.Part](), results.run.folder / "merged"
    sizes = {path.name: path.stat().st_size for path in merged.glob("*.safetensors")}
    if "quantize" in results.records:
        files = results.read("quantize/quality.json")["files"]
        sizes = {entry["file"]: entry["bytes"] for entry in files}
        parts += [page.Heading(text="GGUF files against the trained model")]
        if all("asked_rows" in entry for entry in files):
            parts += list_answers(files, str(results.decided["metric"]))
        is_text = all("cosine" in entry or "difference" in entry for entry in files)
        parts += load_part("texts").list_files(files) if is_text else list_fidelity(files)
    if "vllm" in results.records:
        folders = results.read("vllm/quality.json")["files"]
        sizes |= {entry["file"]: entry["bytes"] for entry in folders}
        parts += load_part("served").describe_folders(folders, results)
    cells = [(name, f"{size / 2**20:,.1f} MiB") for name, size in sizes.items()]
    return parts + page.table(("file", "size"), sorted(cells))


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


def list_fidelity(files: Sequence[Numbers]) -> Parts:
    """Return the table of how close the predictions of each file are, with their bounds."""
    cells = []
    for entry in files:
        bounds = entry["bounds"]
        row = [str(entry["file"]), f"{entry['tokens']:,}"]
        row += [page.number(entry["divergence"]), page.number(bounds["max_divergence"])]
        row += [page.number(entry["agreement"], share=True)]
        row += [page.number(bounds["min_agreement"], share=True)]
        row += [page.number(entry["trained_perplexity"]), page.number(entry["perplexity"])]
        row += [page.number(entry["perplexity_ratio"])]
        cells.append([*row, page.number(bounds["max_perplexity_ratio"])])
    titles = ["file", "tokens", "KL divergence, nats", "at most", "same next token", "at least"]
    titles += ["perplexity, trained", "perplexity, file", "ratio", "at most"]
    return page.table(titles, cells)
