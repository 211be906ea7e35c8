"""Tokens per second and MFU: a bundle as planned, beside a plain script with TRL."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu.bundles import LEAST_SECONDS, Bundle, run_pilot
from benchmarks.gpu.cases import Case
from benchmarks.gpu.processes import LAUNCH, TURN, Clock, run
from benchmarks.gpu.utilisation import read_lengths, share_of_peak, token_operations

_PLAIN: Final = Path(__file__).with_name("plain.py")
_STEPS: Final = 10
_ALONE: Final = (
    "--num_processes=1",
    "--num_machines=1",
    "--mixed_precision=no",
    "--dynamo_backend=no",
)
_LAYOUT: Final = ("micro_batch", "global_batch", "gradient_checkpointing", "liger")
ARMS: Final = ("as planned", "plain, our settings", "plain, TRL's defaults")


def measure_arm(
    bundle: Bundle, arm: str, *, clock: Clock, gpu: bool, peak_tflops: float | None
) -> Mapping[str, Any]:
    """Return the entry of one of ARMS: tokens per second, and MFU where the peak is known.

    Tokens are those of the rows, without padding. The plain script has the same rows, weights and
    adapter.
    """
    if clock.left < LEAST_SECONDS:
        entry: dict[str, Any] = {"failed": "no time was left"}
    elif bundle.failure is None and arm != ARMS[0]:
        entry = _run_plain(bundle, arm, clock=clock, gpu=gpu)
    else:
        entry = {**run_pilot(bundle, clock=clock, gpu=gpu), "chosen": _read_chosen(bundle)}
    return _rate(bundle, {**entry, "case": name_arm(bundle.case, arm)}, peak_tflops)


def name_arm(case: Case, arm: str) -> str:
    """Return the name of a case's arm."""
    return f"{case.name}, {arm}"


def _read_chosen(bundle: Bundle) -> Mapping[str, Any]:
    """Return the spec's sections with the layout that the plan chose."""
    decided = bundle.plan.get("decisions", {})
    training = {name: decided[name] for name in _LAYOUT if name in decided}
    return {"training": training, "data": {"packing": decided.get("packing", "auto")}}


def _rate(bundle: Bundle, entry: dict[str, Any], peak_tflops: float | None) -> dict[str, Any]:
    if peak_tflops is None or "measured" not in entry:
        return entry
    full = bundle.case.method == "full"
    operations = token_operations(
        bundle.case.shape,
        adapter=0 if full else bundle.plan["trainable_parameters"],
        full=full,
        lengths=read_lengths(bundle.folder / "run/data/train.jsonl"),
    )
    measured = entry["measured"]
    share = share_of_peak(measured["tokens_per_second"], operations, peak_tflops)
    return {**entry, "measured": {**measured, "mfu": share}}


def _run_plain(bundle: Bundle, arm: str, *, clock: Clock, gpu: bool) -> dict[str, Any]:
    out = bundle.folder / "run" / "plain" / str(ARMS.index(arm))
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / "told.json").write_text(json.dumps(_tell(bundle, arm, out, gpu=gpu)), encoding="utf-8")
    command: tuple[str | Path, ...] = (
        *LAUNCH[:3],
        *_ALONE,
        *([] if gpu else ["--cpu"]),
        TURN,
        _PLAIN,
        out / "told.json",
    )
    ended = run(command, bundle.folder, clock=clock, gpu=gpu)
    if ended.failure is not None:
        return {"failed": ended.failure}
    found = json.loads((out / "speed.json").read_text(encoding="utf-8"))
    measured = {
        "allocated_bytes": None,
        "reserved_bytes": found.get("reserved_bytes"),
        "device_bytes": ended.device_bytes,
        "step_seconds": round(found["seconds"] / found["steps"], 4),
        "tokens_per_second": round(found["tokens"] / found["seconds"], 1),
    }
    return {"measured": measured}


def _tell(bundle: Bundle, arm: str, out: Path, *, gpu: bool) -> Mapping[str, Any]:
    """Return what the plain script is told: TRL's defaults, or the plan's decisions."""
    decided = bundle.plan["decisions"]
    adapter = bundle.case.method != "full" and {
        "r": decided["lora_rank"],
        "lora_alpha": decided["lora_alpha"],
        "lora_dropout": decided["lora_dropout"],
        "target_modules": list(decided["lora_targets"]),
    }
    settings: dict[str, Any] = {"max_steps": _STEPS, "disable_tqdm": True, "bf16": gpu}
    if arm == ARMS[1]:
        settings |= {
            "per_device_train_batch_size": decided["micro_batch"],
            "gradient_accumulation_steps": decided["accumulation"],
            "activation_checkpointing": bool(decided["gradient_checkpointing"]),
            "max_length": decided.get("packed_length") or decided["max_length"],
            "packing": "packed_length" in decided,
            "learning_rate": decided["learning_rate"],
        }
    return {
        "model": str((bundle.folder.parent / "model").resolve()),
        "rows": str(bundle.folder.parent / "rows.jsonl"),
        "out": str(out),
        "dtype": {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}[decided["load_dtype"]],
        "quantized": bundle.case.method == "qlora",
        "adapter": adapter or None,
        "settings": settings,
    }
