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
        "adapter": uses.adapter,
        "modelfile": uses.ollama_checked,
    }
    return [name for name in STAGES if used.get(name, True)]
