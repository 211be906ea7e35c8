"""The report on GGUF files: a table, a picture and quality.json."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from ..run import Run

Entry = Mapping[str, Any]

_MEASURES: Final = (
    ("nats/token", "divergence", "max_divergence", ".2g"),
    ("top-1", "agreement", "min_agreement", ".1%"),
    ("perplexity ratio", "perplexity_ratio", "max_perplexity_ratio", ".3f"),
)
_SPEEDS: Final = (
    ("read/s", "prompt_tokens_per_second"),
    ("write/s", "generation_tokens_per_second"),
)


def print_table(run: Run, files: Sequence[Entry], metric: str | None) -> None:
    """Print a line for each file: every measure with its bound; `metric` is that of answers."""
    words = (metric or "").replace("_", " ")
    lost = (f"{words} lost", "metric_drop", "max_metric_drop", ".1%")
    measures = (*_MEASURES, lost) if metric else _MEASURES
    titles = ["type", "MiB", *(title for title, *_ in measures + _SPEEDS), "RAM, MiB", "verdict"]
    table = [titles]
    for entry in files:
        cells = [entry["type"], f"{entry['bytes'] / 2**20:,.1f}"]
        for _, name, bound, layout in measures:
            limit = f"{bound[:3]} {_show(entry['bounds'][bound], layout)}"
            cells.append(f"{_show(entry[name], layout)} ({limit})")
        cells += [_show(entry[name], ",.0f") for _, name in _SPEEDS]
        cells.append(f"{entry['resident_bytes'] / 2**20:,.1f}")
        table.append([*cells, "sound" if entry["fault"] is None else "FAILED"])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        run.say("  ".join(map(str.rjust, line, widths)))
    if metric:
        run.say(f"{words} of the trained model: {_show(files[0][f'trained_{metric}'], '.1%')}")


def draw(path: Path, files: Sequence[Entry]) -> None:
    """Draw the divergence of each file with its bound, the smallest file at the bottom."""
    figure = Figure(figsize=(8, 1.8 + 0.3 * len(files)), layout="constrained")
    axes = figure.subplots()
    ordered = sorted(files, key=lambda entry: int(entry["bytes"]))
    for line, entry in enumerate(ordered):
        measured, most = (
            max(number or 0, 1e-6)  # less is rounding
            for number in (entry["divergence"], entry["bounds"]["max_divergence"])
        )
        axes.plot((measured, most), (line, line), color="0.8", zorder=0)
        axes.plot(most, line, "|", color="black", markersize=10)
        axes.plot(measured, line, "o" if entry["fault"] is None else "x", color="black")
    names = [f"{entry['type']}, {entry['bytes'] / 2**20:,.1f} MiB" for entry in ordered]
    axes.set_yticks(range(len(names)), names)
    axes.set(
        title="How far each GGUF file is from the trained model",
        xlabel="divergence, nats per token (o measured, x failed, | bound)",
        xscale="log",
    )
    figure.savefig(path, dpi=120)


def _show(number: float | None, layout: str) -> str:
    """Return a measured number as text, or a dash if there is none."""
    return "-" if number is None else format(number, layout)
