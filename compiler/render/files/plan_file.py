"""The plan as a file of the bundle: `ftc watch` and the bundle's report compare a run with it."""

from collections.abc import Mapping
from typing import Any, Final

from ftc.compiler.knowledge.bundle_stages import STAGES
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.objective.comparison import PAIRING
from ftc.compiler.plan.plan import Decisions, Time
from ftc.compiler.render.source import BundleSource
from ftc.compiler.render.uses import Uses
from ftc.compiler.resolve.resolver import canonical_hash

#: Objectives with a loss per row.
_PER_ROW: Final = PAIRING.union(name for name, each in OBJECTIVES.items() if each.head != "tokens")


def plan_data(source: BundleSource) -> dict[str, Any]:
    """Return the stages in their order, and the bytes of one process and seconds of training."""
    plan = source.plan
    gpu = source.facts.hardware.kind == "gpu"
    time = plan.time
    return {
        "version": 1,
        "name": source.spec.name,
        "stages": find_stages(Uses(source)),
        "steps": plan.decisions.training.total_steps.value,
        "micro_batch": plan.decisions.batch.micro_batch.value,
        "tokens_per_step": plan.tokens_per_step,
        "memory_bytes": plan.memory.reserved_bytes if gpu else plan.memory.device_bytes,
        "capacity_bytes": plan.memory.capacity_bytes,
        "host_bytes": plan.host_ram_bytes,
        "seconds": None if time is None else _training_seconds(time),
        "pilot": _pilot(source),
        "report": _report(source),
    }


def _pilot(source: BundleSource) -> dict[str, Any]:
    """Return what `run.sh --pilot` compares its measurements with, for each line of the ladder."""
    plan, found = source.plan, source.facts.hardware.calibration
    calibration = {"memory": 1.0, "time": 1.0}
    if found is not None:
        calibration = {"memory": found.memory, "time": found.time or 1.0}
    return {
        "calibration": calibration,
        "rungs": [
            {
                "micro_batch": rung.micro,
                "accumulation": rung.accumulation,
                "allocated_bytes": rung.allocated_bytes,
                "memory_bytes": rung.memory_bytes,
                "margin_bytes": rung.margin_bytes,
                "step_seconds": rung.step_seconds,
            }
            for rung in plan.rungs
        ],
    }


def _report(source: BundleSource) -> dict[str, Any]:
    """Return what the report shows of the plan: settings, the unit of the loss, and hashes."""
    decisions, model, data = source.plan.decisions, source.facts.model, source.facts.data
    settings = {
        "base model": _name(source.written.get("model"), "id"),
        "data": _name(source.written.get("data"), "source"),
        "method": name_method(decisions),
        "precision": decisions.compute.precision.value,
    }
    hashes = {
        "the spec": canonical_hash(source.spec),
        "config.json of the base": model.config_sha256,
        "revision of the base": model.revision,
    }
    parts = data.sources or (data,)
    for number, part in enumerate(parts, 1):
        name = "the data" if len(parts) == 1 else f"the data of source {number}"
        hashes |= {name: part.sha256, f"revision of {name}": part.revision}
    is_per_row = source.spec.objective.type in _PER_ROW
    return {
        "settings": settings,
        "loss": "loss per row" if is_per_row else "loss per token (nats)",
        "hashes": {name: value for name, value in hashes.items() if value},
    }


def _name(section: Any, key: str) -> str:
    """Return the name in a section of the spec; the section's short form is the name itself."""
    if not isinstance(section, Mapping):
        return str(section)
    parts = section.get("sources") or [section]
    return ", ".join(str(part.get(key) if isinstance(part, Mapping) else part) for part in parts)


def name_method(decisions: Decisions) -> str:
    """Return what is trained, in words."""
    if decisions.method.trained_layers is not None and decisions.method.trained_layers.value:
        return "some layers, the others frozen"
    if decisions.lora.lora_rank is None:
        return "full: all weights"
    if decisions.method.quantization is None:
        return "LoRA"
    if decisions.method.quantization.value == "int8":
        return "LoRA on a base in 8 bits"
    return "QLoRA: LoRA on a base in 4 bits"


def _training_seconds(time: Time) -> dict[str, float]:
    """Return the seconds of the training stage, with a range."""
    share = 1 - time.judging_seconds / time.total_seconds
    seconds = {"low": time.low_seconds, "total": time.total_seconds, "high": time.high_seconds}
    return {name: round(share * number, 1) for name, number in seconds.items()}


def find_stages(uses: Uses) -> list[str]:
    """Return the stages of run.sh, in their order."""
    used = {
        "evaluate": uses.decisions.splits.test_rows.value > 0,
        "quantize": bool(uses.spec.export.types),
        "projector": uses.projector,
        "adapter": uses.spec.export.adapter,
        "vllm": bool(uses.spec.export.vllm),
    }
    return [name for name in STAGES if used.get(name, True)]
