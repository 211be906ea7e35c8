"""Converts the merged model to GGUF, quantizes it to each type, and verifies every file.

A file that is beyond a bound ends as *.failed, and the stage with an error. A measured bound is
what rounding to the type should cost this model, times a margin (see noise_response.py).
"""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..compare import fidelity, noise_response, reference, rounding, same_tokens, token_comparison
from ..compare.judged_rows import JudgedRows
from ..files import is_complete, sync, write_json
from ..llama_cpp import gguf_file
from ..llama_cpp.converter import Converter
from ..run import Run
from ..stages import Identity
from . import gguf_report

SIZE_TOLERANCE: Final = 0.02  # of the planned size: the plan's disk was counted with it

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
        check_weights(run, run.folder / "merged")
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
    failed = [entry for entry in files if entry["fault"] is not None]
    if failed:
        first = failed[0]
        more = f" (and {len(failed) - 1} more types failed)" if len(failed) > 1 else ""
        run.stop(f"{first['type']} differs too much from the trained model: {first['fault']}{more}")
    for pattern in ("*.earlier", "*.failed"):
        for leftover in out.glob(pattern):
            leftover.unlink()
    reports = [out / name for name in ("tokens.json", "quality.json", "quality.png")]
    run.mark_done(identity, *(out / entry["file"] for entry in files), *reports)


def check_weights(run: Run, folder: Path) -> None:
    """End the stage unless every file of a model's weights is there and complete."""
    index = folder / "model.safetensors.index.json"
    shards = {folder / "model.safetensors"}
    if index.is_file():
        shards = {folder / name for name in json.loads(index.read_text())["weight_map"].values()}
    for shard in sorted(shards):
        if not shard.is_file() or not is_complete(shard):
            state = "cut off or damaged" if shard.is_file() else "missing"
            run.stop(f"run/{folder.name}/{shard.name} is {state}: run export.py --merge again")


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
        expected, bounds = _find_bounds(job, noise, floor, rounded, found)
        fault = token_comparison.find_fault(found, bounds)
        if fault is None and job.bounds["max_divergence"] == "measured":
            fault = rounding.find_fault(rounded)
        kept = job.out / (path.name if fault is None else f"{path.stem}.failed")
        entry = {"type": kind, "file": kept.name, "bytes": path.stat().st_size, **found}
        entry |= {"expected_divergence": expected, "rounding": rounding.summarize(rounded)}
        entry["predicted_bytes"] = job.predicted_bytes[kind]
        off = entry["bytes"] / entry["predicted_bytes"] - 1
        if abs(off) > SIZE_TOLERANCE:
            run.say(f"warning: the size of {kept.name} differs from the planned one by {off:+.1%}")
        entry |= {"bounds": bounds, "fault": fault, "seconds": round(time.monotonic() - began, 1)}
        files.append(entry)
        sync(path)
        path.replace(kept)
    return files, floor


def _find_bounds(
    job: Job,
    noise: Mapping[str, Any] | None,
    floor: float | None,
    rounded: Sequence[Mapping[str, Any]],
    found: Mapping[str, Any],
) -> tuple[float | None, dict[str, Any]]:
    """Return the divergence that a file should have, and its bounds; None if none is measured.

    A file that computes no numbers has nothing to expect: any bound fails it.
    """
    if noise is None or floor is None:
        return None, dict(job.bounds)
    numbers = {name: 0.0 if number is None else number for name, number in found.items()}
    parts = rounding.sum_parts(rounded)
    expected, measured = noise_response.derive(noise, parts, floor, numbers)
    return expected, {
        name: measured[name] if bound == "measured" else bound for name, bound in job.bounds.items()
    }
