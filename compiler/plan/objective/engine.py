"""The engine that generates answers: transformers in the training processes, or vLLM."""

import math
from dataclasses import dataclass
from typing import Final

from ftc.compiler.plan.decision import Decision, derived, keep
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.activations import engine_bytes, engine_cache_bytes, engine_weights
from ftc.compiler.plan.memory.sending import packed_bytes
from ftc.compiler.plan.objective.sampling import find_engine, rewarded
from ftc.compiler.plan.plan import Plan
from ftc.compiler.resolve.facts import HardwareFacts
from ftc.spec.sections import Spec, Vllm

#: The most of a GPU that vLLM may take: its own default of 0.92, less what the driver holds.
MOST_SHARE: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The decisions; a field is None where no answers are generated, or not by vLLM."""

    vllm: Decision[Vllm] | None = None
    share: Decision[float] | None = None


def decide_engine(spec: Spec, job: Job, hardware: HardwareFacts) -> Engine:
    """Decide vLLM's share of a GPU's memory from the needs of a step's answers.

    With sleep mode it gives all of it back while the weights are trained (TRL 1.16,
    `VLLMGeneration`: `sleep(level=2)` after each generation).
    """
    if not rewarded(spec.objective):
        return Engine()
    vllm = keep(spec, "/objective/vllm", spec.objective.vllm)
    if vllm.value == "off" or hardware.kind != "gpu":
        return Engine(vllm=vllm)
    needed, most = engine_bytes(job), MOST_SHARE * hardware.memory_bytes
    values = {"weights_bytes": engine_weights(job), "cache_bytes": engine_cache_bytes(job)}
    taken = math.ceil(100 * needed / hardware.memory_bytes)
    if vllm.value == "server":  # nothing else is on that GPU, except weights sent to the server
        arriving = packed_bytes(job)
        taken = math.floor(100 * (most - arriving) / hardware.memory_bytes)
        needed += arriving
        values["arriving_bytes"] = arriving
    share = max(0.0, min(MOST_SHARE, taken / 100))
    key = f"vllm_share.{vllm.value}"
    return Engine(vllm=vllm, share=derived(share, key, needed_bytes=needed, **values))


def can_generate(spec: Spec, plan: Plan, hardware: HardwareFacts) -> bool:
    """Return whether vLLM gets weights that it can load, if it generates the answers.

    See FTC552 to FTC555 for other problems.
    """
    if find_engine(spec.objective) == "off":
        return True
    share = plan.decisions.engine.vllm_share
    if share is None or spec.method.type == "qlora" or hardware.nodes > 1:
        return False
    return int(share.because.values["needed_bytes"]) <= MOST_SHARE * hardware.memory_bytes
