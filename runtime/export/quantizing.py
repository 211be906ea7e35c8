"""Converts the merged model to GGUF, quantizes it to each type, and verifies every file.

A file that exceeds a bound is renamed to *.failed, and the stage fails. A measured bound is
what rounding to the type should cost this model, times a margin (see noise_response.py).
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from ..compare import fidelity, reference, rounding, same_tokens, token_comparison
from ..compare.same_tokens import JudgedRows
from ..files import sync, write_json
from ..llama_cpp import gguf_file
from ..llama_cpp.converter import Converter
from ..run import Run
from ..stages import Identity

Entry = Mapping[str, Any]  # one file's entry in quality.json

_MEASURES: Final = (
    ("nats/token", "divergence", "max_divergence", ".2g"),
    ("top-1", "agreement", "min_agreement", ".1%"),
    ("perplexity ratio", "perplexity_ratio", "max_perplexity_ratio", ".3f"),
)
_SPEEDS: Final = (
    ("read/s", "prompt_tokens_per_second"),
    ("write/s", "generation_tokens_per_second"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The GGUF files of a bundle, NAME-TYPE.gguf in run/quantize.

    `bounds` have the names of the spec; a bound is a number or "measured". `predicted_bytes` is by
    type. `weighed` types are written with an importance matrix: from the 16-bit file,
    `measure_importance` returns the function that rounds with it, and its entries for llama.cpp.
    """

    run: Run
    name: str
    types: Sequence[str]
    predicted_bytes: Mapping[str, int]
    bounds: Mapping[str, Any]
    converter: Converter
    judged: JudgedRows
    fidelity: reference.Job
    weighed: Sequence[str] = ()
    measure_importance: Callable[[Path], tuple[rounding.Round, Any]] | None = None

    @property
    def out(self) -> Path:
        """The folder of the files."""
        return self.run.folder / "quantize"


def write_files(job: Job, identity: Identity, metric: str | None = None) -> None:
    """Write and verify every file, and the reports; ends the stage if one is not sound."""
    run, out = job.run, job.out
    out.mkdir(parents=True, exist_ok=True)
    for earlier in out.glob("*.gguf"):  # files of an earlier model must not be mistaken for these
        earlier.rename(earlier.with_suffix(".earlier"))
    for leftover in out.glob("unfinished-*"):
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=out) as folder:
        source = Path(folder) / "source.gguf"
        how = "convert_hf_to_gguf.py", run.folder / "merged", "--outtype", "auto"
        job.converter.convert(run, *how, into=source)
        compared = same_tokens.compare(run, job.judged, source)
        files, floor = _write_types(job, source)
    print_table(run, files, metric)
    draw(out / "quality.png", files)
    write_json(out / "tokens.json", compared)
    report = {"version": 1, "judged": job.fidelity.rows, "source_divergence": floor}
    write_json(out / "quality.json", report | {"files": files})
    token_comparison.stop_if_failed(run, files)
    for pattern in ("*.earlier", "*.failed"):
        for leftover in out.glob(pattern):
            leftover.unlink()
    reports = [out / name for name in ("tokens.json", "quality.json", "quality.png")]
    run.mark_done(identity, *(out / entry["file"] for entry in files), *reports)


def _write_types(job: Job, source: Path) -> tuple[list[dict[str, Any]], float | None]:
    """Return an entry of quality.json for each type, and the divergence of the 16-bit file."""
    run = job.run
    round_weighed: rounding.Round = rounding.round_alike
    entries = None
    if job.measure_importance:
        round_weighed, entries = job.measure_importance(source)
    fidelity.note_reference(run, job.fidelity)
    noise, floor = None, None
    if "measured" in job.bounds.values():
        noise, most = reference.read_response(run, job.fidelity)
        off = fidelity.judge(run, source, tokens_only=True)["divergence"]
        floor = most if off is None else min(off, most)
        run.say(
            "difference between the 16-bit GGUF file and the trained model:"
            f" {'no number' if off is None else format(off, '.2g')} nats per token"
            f" (rounding explains up to {most:.2g})"
        )
    files = []
    for kind in job.types:
        began = time.monotonic()
        path = source.with_name(f"{job.name}-{kind}.gguf")
        is_weighed = kind in job.weighed
        gguf_file.quantize(run, source, path, kind, entries if is_weighed else None)
        found = fidelity.judge(run, path)
        rounded = rounding.measure(
            source, path, round_weighed if is_weighed else rounding.round_alike
        )
        expected, bounds = None, dict(job.bounds)
        if noise is not None and floor is not None:
            parts = rounding.sum_parts(rounded)
            expected, bounds = token_comparison.find_bounds(bounds, noise, parts, floor, found)
        fault = token_comparison.find_fault(found, bounds)
        if fault is None and job.bounds["max_divergence"] == "measured":
            fault = rounding.find_fault(rounded)
        kept = job.out / (path.name if fault is None else f"{path.stem}.failed")
        entry = {"type": kind, "file": kept.name, "bytes": path.stat().st_size, **found}
        entry |= {"expected_divergence": expected, "rounding": rounding.summarize(rounded)}
        entry["predicted_bytes"] = job.predicted_bytes[kind]
        token_comparison.warn_of_size(run, kept.name, entry["bytes"], entry["predicted_bytes"])
        entry |= {"bounds": bounds, "fault": fault, "seconds": round(time.monotonic() - began, 1)}
        files.append(entry)
        sync(path)
        path.replace(kept)
    return files, floor


# -----------------------------------------------------------------------------
# The table and the picture


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
            limit = f"{bound[:3]} {token_comparison.show(entry['bounds'][bound], layout)}"
            cells.append(f"{token_comparison.show(entry[name], layout)} ({limit})")
        cells += [token_comparison.show(entry[name], ",.0f") for _, name in _SPEEDS]
        cells.append(f"{entry['resident_bytes'] / 2**20:,.1f}")
        table.append([*cells, "sound" if entry["fault"] is None else "FAILED"])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        run.say("  ".join(map(str.rjust, line, widths)))
    if metric:
        trained = token_comparison.show(files[0][f"trained_{metric}"], ".1%")
        run.say(f"{words} of the trained model: {trained}")


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
    title = "How far each GGUF file is from the trained model"
    label = "divergence, nats per token (o measured, x failed, | bound)"
    axes.set(title=title, xlabel=label, xscale="log")
    figure.savefig(path, dpi=120)
