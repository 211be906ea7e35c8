"""Tells whether a planned spec would compile and fit."""

from ftc.compiler.knowledge.objectives import compares_texts
from ftc.compiler.plan.objective.engine import can_generate
from ftc.compiler.plan.objective.sampling import learns_from_shards
from ftc.compiler.plan.plan import Plan
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec


def works(spec: Spec, facts: KnownFacts, plan: Plan, *, divides: bool = True) -> bool:
    """Return whether a plan would compile: it fits on device and host, and has the spec's batch.

    The batch matters only where it `divides` now. This is the one test of what would fit, also for
    the list of models. ZeRO-3 does not divide a base in 4 bits (FTC427), not all answers can be
    sampled from shards (FTC593), nor models that compare texts be quantized or divided (FTC573).
    """
    ram, asked = facts.hardware.host_ram_bytes, spec.training.global_batch
    decided = plan.decisions
    sharding = decided.distribution.sharding.value
    return (
        plan.memory.fits is True
        and (ram is None or plan.host_ram_bytes <= ram)
        and (not divides or asked in ("auto", decided.batch.global_batch.value))
        and not (spec.method.type == "qlora" and sharding == "zero3")
        and can_generate(spec, plan, facts.hardware)
        and (sharding not in ("zero3", "fsdp") or learns_from_shards(spec, sharding))
        and not (
            compares_texts(spec.objective.type)
            and (spec.method.type not in ("full", "lora") or sharding not in ("single", "ddp"))
        )
    )
