"""Converts the merged model to GGUF, quantizes it to each type, and verifies every file.

A file that is beyond a bound ends as *.failed, and the stage with an error. A measured bound is
what rounding to the type should cost this model, times a margin (see noise_response.py).
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..compare import fidelity, reference, rounding, same_tokens, token_comparison, verdicts
from ..compare.judged_rows import JudgedRows
from ..files import sync, write_json
from ..llama_cpp import gguf_file
from ..llama_cpp.converter import Converter
from ..run import Run
from ..stages import Identity
from . import gguf_report

Matrix = Mapping[bytes, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The GGUF files of a bundle, NAME-TYPE.gguf in run/quantize.

    `bounds` have the names of the spec; a bound is a number or "measured". `predicted_bytes` is by
    type. `weighed` types are written with the importance matrix that `measure_importance` returns
    for the 16-bit file.
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
    measure_importance: Callable[[Path], tuple[Matrix, Any]] | None = None

    @property
    def out(self) -> Path:
        """The folder of the files."""
        return self.run.folder / "quantize"


def write_files(job: Job, identity: Identity, metric: str | None = None) -> None:
    """Write and verify every file, and the reports; ends the stage if one is not sound."""
    run, out = job.run, job.out
    out.mkdir(parents=True, exist_ok=True)
    for earlier in out.glob("*.gguf"):  # of another model: nothing may take it for this one
        earlier.rename(earlier.with_suffix(".earlier"))
    for leftover in out.glob("unfinished-*"):
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=out) as folder:
        source = Path(folder) / "source.gguf"
        how = "convert_hf_to_gguf.py", run.folder / "merged", "--outtype", "auto"
        job.converter.convert(run, *how, into=source)
        compared = same_tokens.compare(run, job.judged, source)
        files, floor = _write_types(job, source)
    gguf_report.print_table(run, files, metric)
    gguf_report.draw(out / "quality.png", files)
    write_json(out / "tokens.json", compared)
    report = {"version": 1, "judged": job.fidelity.rows, "source_divergence": floor}
    write_json(out / "quality.json", report | {"files": files})
    verdicts.stop_if_failed(run, files)
    for pattern in ("*.earlier", "*.failed"):
        for leftover in out.glob(pattern):
            leftover.unlink()
    reports = [out / name for name in ("tokens.json", "quality.json", "quality.png")]
    run.mark_done(identity, *(out / entry["file"] for entry in files), *reports)


def _write_types(job: Job, source: Path) -> tuple[list[dict[str, Any]], float | None]:
    """Return an entry of quality.json for each type, and the divergence of the 16-bit file."""
    run = job.run
    matrix, entries = (
        job.measure_importance(source) if job.measure_importance else (dict[bytes, Any](), None)
    )
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
        rounded = rounding.measure(source, path, matrix if is_weighed else {})
        expected, bounds = None, dict(job.bounds)
        if noise is not None and floor is not None:
            parts = rounding.sum_parts(rounded)
            expected, bounds = verdicts.find_bounds(bounds, noise, parts, floor, found)
        fault = token_comparison.find_fault(found, bounds)
        if fault is None and job.bounds["max_divergence"] == "measured":
            fault = rounding.find_fault(rounded)
        kept = job.out / (path.name if fault is None else f"{path.stem}.failed")
        entry = {"type": kind, "file": kept.name, "bytes": path.stat().st_size, **found}
        entry |= {"expected_divergence": expected, "rounding": rounding.summarize(rounded)}
        entry["predicted_bytes"] = job.predicted_bytes[kind]
        verdicts.warn_of_size(run, kept.name, entry["bytes"], entry["predicted_bytes"])
        entry |= {"bounds": bounds, "fault": fault, "seconds": round(time.monotonic() - began, 1)}
        files.append(entry)
        sync(path)
        path.replace(kept)
    return files, floor
