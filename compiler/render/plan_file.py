"""The plan as a file of the bundle: `ftc watch` compares a run with it."""

from typing import Any

from ftc.compiler.knowledge.bundle_stages import STAGES
from ftc.compiler.plan.plan import Time
from ftc.compiler.render.find_uses import find_uses
from ftc.compiler.render.source import BundleSource
from ftc.compiler.render.uses import Uses


def plan_data(source: BundleSource) -> dict[str, Any]:
    """Return the stages in their order, and the bytes of one process and seconds of training."""
    plan = source.plan
    gpu = source.facts.hardware.kind == "gpu"
    time = plan.time
    return {
        "version": 1,
        "name": source.spec.name,
        "stages": find_stages(find_uses(source)),
        "steps": plan.decisions.total_steps.value,
        "micro_batch": plan.decisions.micro_batch.value,
        "tokens_per_step": plan.tokens_per_step,
        "memory_bytes": plan.memory.reserved_bytes if gpu else plan.memory.device_bytes,
        "capacity_bytes": plan.memory.capacity_bytes,
        "host_bytes": plan.host_ram_bytes,
        "seconds": None if time is None else _training_seconds(time),
        "pilot": _pilot(source),
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


def _training_seconds(time: Time) -> dict[str, float]:
    """Return the seconds of the training stage, with a range."""
    share = 1 - time.judging_seconds / time.total_seconds
    seconds = {"low": time.low_seconds, "total": time.total_seconds, "high": time.high_seconds}
    return {name: round(share * number, 1) for name, number in seconds.items()}


def find_stages(uses: Uses) -> list[str]:
    """Return the stages of run.sh, in their order."""
    used = {
        "evaluate": uses.test,
        "quantize": uses.gguf,
        "projector": uses.projector,
        "adapter": uses.adapter,
        "vllm": uses.served,
    }
    return [name for name in STAGES if used.get(name, True)]
