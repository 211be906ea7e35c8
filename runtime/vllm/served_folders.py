"""Writes the folders for vLLM and SGLang, and verifies each by loading it as transformers does.

A folder that exceeds a bound is renamed to *.failed, and the stage fails. A measured bound is
what rounding should cost this model, times a margin (see noise_response.py).
"""

import gc
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from transformers import AutoTokenizer

from ..compare import reference, token_comparison
from ..evaluate import answers
from ..files import sync, write_json
from ..run import Run
from ..stages import Identity
from . import calibration, compressing

PROMPTS: Final = 3  # tried to find out whether a folder answers at all


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The folders of a bundle, NAME-TYPE in run/vllm.

    `bounds` have the names of the spec; a bound is a number or "measured". `predicted_bytes` is by
    type. At most `calibration_tokens` of `calibration_rows` are judged for the scales of inputs.
    `scoring` is the module that chooses rows and scores answers, if there is a metric.
    """

    run: Run
    name: str
    types: Sequence[str]
    predicted_bytes: Mapping[str, int]
    bounds: Mapping[str, Any]
    calibration_rows: Path
    calibration_tokens: int
    fidelity: reference.Job
    scoring: Any = None

    @property
    def out(self) -> Path:
        """The folder of the folders."""
        return self.run.folder / "vllm"

    @property
    def merged(self) -> Path:
        """The merged 16-bit model."""
        return self.run.folder / "merged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """What training rows show about the matrices, and the matrices that keep 16 bits.

    `input_divergences` are by type: what rounded inputs alone cost the trained model, in nats per
    token, with the scales of the training rows. A type with 16-bit inputs has none.
    """

    extents: compressing.Extents
    input_divergences: Mapping[str, float]
    kept: list[str]


def write_folders(job: Job, identity: Identity) -> None:
    """Write and verify every folder and quality.json; ends the stage if one is not sound."""
    run, out = job.run, job.out
    out.mkdir(parents=True, exist_ok=True)
    for leftover in out.iterdir():  # of another model: nothing may take it for this one
        if leftover.is_dir():
            shutil.rmtree(leftover)
    noting = Run(run.bundle, stage="reference", script=reference.SCRIPT)
    reference.note(noting, job.fidelity)
    _free()
    calibrated = calibrate(job)
    _free()
    files = [_write(job, calibrated, kind) for kind in job.types]
    report = {"version": 1, "judged": job.fidelity.rows, "calibrated": job.calibration_rows.stem}
    write_json(out / "quality.json", report | {"files": files})
    token_comparison.stop_if_failed(run, files)
    run.mark_done(identity, *(out / entry["file"] for entry in files), out / "quality.json")


def calibrate(job: Job) -> Calibrated:
    """Read training rows with the merged model; ends the stage if a matrix cannot be rounded."""
    run = job.run
    rows = reference.choose_rows(run.read_rows(job.calibration_rows), job.calibration_tokens)
    model = reference.load(job.merged, job.fidelity)
    if any(weight.is_meta for weight in model.parameters()):
        run.stop("the trained model does not fit in this machine's memory: use a larger machine")
    compute = reference.make_compute(model, job.fidelity)
    extents = calibration.find_extents(model, rows, compute)
    if not extents:
        run.stop("the model has no linear modules in its layers: set export.vllm to []")
    for name, extent in extents.items():
        if not (math.isfinite(extent.input) and extent.input > 0):
            run.stop(f"the inputs of {name} are {extent.input:g} in all training rows")
    read = sum(len(row["ids"]) for row in rows)
    run.say(f"calibrated on {read:,} tokens of {len(rows):,} training rows")
    joined = compressing.join_extents(extents)
    cost = {}
    for kind in filter(calibration.rounds_inputs, job.types):
        with calibration.rounded_inputs(model, kind, joined):
            cost[kind] = token_comparison.compare(run, _make_reader(compute))["divergence"]
    kept = compressing.list_kept(model)
    return Calibrated(extents=joined, input_divergences=cost, kept=kept)


def _make_reader(compute: Callable[[token_comparison.Row], Any]) -> token_comparison.Reader:
    def read(row: token_comparison.Row) -> Iterator[Any]:
        yield compute(row).cpu().numpy()

    return read


def _write(job: Job, calibrated: Calibrated, kind: str) -> dict[str, Any]:
    """Write a folder and return its entry of quality.json."""
    run, began = job.run, time.monotonic()
    partial, kept = job.out / f"unfinished-{kind}", job.out / f"{job.name}-{kind}"
    try:
        compressing.write_folder(job.merged, partial, kind, calibrated.extents, calibrated.kept)
    except ValueError as error:
        run.stop(f"{kind}: {error}")
    entry = judge(job, calibrated, partial, kind)
    kept = kept if entry["fault"] is None else kept.with_name(f"{kept.name}.failed")
    size = sum(path.stat().st_size for path in compressing.list_shards(partial))
    token_comparison.warn_of_size(run, kept.name, size, job.predicted_bytes[kind])
    for path in partial.iterdir():
        sync(path)
    partial.rename(kept)
    sync(job.out)
    verdict = "sound" if entry["fault"] is None else "FAILED"
    lost, most = (
        token_comparison.show(number, ".2g")
        for number in (entry["divergence"], entry["bounds"]["max_divergence"])
    )
    same = token_comparison.show(entry["agreement"], ".1%")
    run.say(
        f"{kept.name}: {size / 2**20:,.1f} MiB, {lost} nats per token (at most {most}),"
        f" {same} same next token: {verdict}"
    )
    return {
        "type": kind,
        "file": kept.name,
        "bytes": size,
        "predicted_bytes": job.predicted_bytes[kind],
        **entry,
        "seconds": round(time.monotonic() - began, 1),
    }


def judge(job: Job, calibrated: Calibrated, folder: Path, kind: str) -> dict[str, Any]:
    """Return what was measured of a folder, its bounds and its fault, which is None if sound."""
    rounded = compressing.measure(job.merged, folder, kind, calibrated.extents)
    worst = max(
        rounded, key=lambda entry: entry["error"] - compressing.TOLERANCE * entry["expected"]
    )
    found = _compare(job, folder)
    _free()
    expected, bounds = _find_bounds(job, calibrated, kind, rounded, found)
    fault = compressing.find_fault(rounded) or token_comparison.find_fault(found, bounds)
    summary = {name: worst[name] for name in ("name", "type", "expected")}
    summary["error"] = worst["error"] if math.isfinite(worst["error"]) else None
    return {
        **found,
        "expected_divergence": expected,
        "rounding": summary,
        "input_divergence": calibrated.input_divergences.get(kind),
        "bounds": bounds,
        "fault": fault,
    }


def load(folder: Path, job: reference.Job) -> Any:
    """Return the model in a folder with rounded weights, which also rounds its activations.

    `dequantize=True` of transformers would leave activations as they are. The weights are unpacked
    at once: compressed-tensors unpacks 4-bit floats to bfloat16, whatever the model computes in.
    """
    model = reference.load(folder, job)
    dtype = model.dtype
    model.hf_quantizer.compressor.decompress_model(model)
    torch.nn.Module.to(model, dtype)
    return model


def _compare(job: Job, folder: Path) -> dict[str, Any]:
    model = load(folder, job.fidelity)
    compute = reference.make_compute(model, job.fidelity)
    found = token_comparison.compare(job.run, _make_reader(compute))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if job.scoring is None:
        found["answers"] = _answers(job, model, tokenizer)
    else:
        asked = job.scoring.choose_rows(job.run, job.fidelity)
        said = iter(answers.write(model, tokenizer, asked, job.fidelity.answer_tokens))
        found |= job.scoring.examine(job.fidelity, asked, lambda *_: next(said))
    return token_comparison.keep_finite(found)


def _answers(job: Job, model: Any, tokenizer: Any) -> bool:
    """Return whether the model writes something after any of some prompts."""
    rows, _ = token_comparison.read_rows(job.run)
    prompts = [row.get("prompt_ids") or row["ids"][: len(row["ids"]) // 2 + 1] for row in rows]
    ends = answers.find_ends(model, tokenizer, [])
    said = answers.generate(model, tokenizer, prompts[:PROMPTS], job.fidelity.answer_tokens, ends)
    return any(tokens and tokens[0] not in ends for tokens in said)


def _find_bounds(
    job: Job,
    calibrated: Calibrated,
    kind: str,
    rounded: Sequence[Mapping[str, Any]],
    found: Mapping[str, Any],
) -> tuple[float | None, dict[str, Any]]:
    """Return the divergence that a folder should have, and its bounds; None if none is measured.

    The cost of rounded weights is predicted, that of rounded inputs was measured, and both add up.
    The embedding and the output head keep 16 bits.
    """
    if "measured" not in job.bounds.values():
        return None, dict(job.bounds)
    noise, floor = reference.read_response(job.run, job.fidelity)
    weights = sum(entry["weights"] for entry in rounded)
    power = sum(entry["weights"] * entry["expected"] ** 2 for entry in rounded) / weights
    parts = {"embedding": 0.0, "head": 0.0, "layers": math.sqrt(power)}
    floor += calibrated.input_divergences.get(kind, 0.0)
    none = (0.0, 0.0)
    return token_comparison.find_bounds(
        job.bounds, noise, parts, floor, found, activation_errors=none
    )


def _free() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
