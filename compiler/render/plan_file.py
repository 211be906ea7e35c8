"""The plan as a file of the bundle: what `ftc watch` holds a run against."""

from typing import Any

from ftc.compiler.render.source import BundleSource
from ftc.compiler.render.uses import Uses, find_uses


def plan_data(source: BundleSource) -> dict[str, Any]:
    """Return the stages in their order, and what training takes: one process's bytes, seconds."""
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
        "seconds": None
        if time is None
        else {"low": time.low_seconds, "total": time.total_seconds, "high": time.high_seconds},
    }


def find_stages(uses: Uses) -> list[str]:
    """Return the scripts that run.sh starts, in its order."""
    stages = {
        "prepare": True,
        "train": True,
        "merge": True,
        "evaluate": uses.test,
        "quantize": uses.gguf,
        "adapter": uses.adapter,
        "modelfile": uses.ollama_checked,
        "report": True,
    }
    return [name for name, used in stages.items() if used]
