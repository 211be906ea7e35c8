"""How long training takes: operations over the rate that the hardware reaches."""

from ftc.compiler.plan.job import Job
from ftc.compiler.resolve.facts import HardwareFacts

# Mistral-7B on A100-80GB reaches 0.46 to 0.57 of 312 TFLOP/s with plain SFTTrainer on packed rows
# of 4,096 tokens (fms-acceleration, scripts/benchmarks/refs); padded short rows reach less.
_EFFICIENCY = 0.4
_CPU_FLOPS_PER_CORE = 30e9  # fp32 on a server core, a model of some million parameters: rough
_LEAST_OVERHEAD_SECONDS = 0.02  # per optimiser step: Python, data loader, kernel launches


def seconds(job: Job, hardware: HardwareFacts, *, steps: int, tokens_per_step: int) -> float | None:
    """Seconds of training, evaluation not counted; None where no rate is known."""
    if hardware.kind == "cpu":
        rate = None if hardware.cores is None else hardware.cores * _CPU_FLOPS_PER_CORE
    else:
        tflops = hardware.bf16_tflops
        rate = None if tflops is None else tflops * 1e12 * _EFFICIENCY * job.world
    if not rate:
        return None
    operations = operations_per_token(job) * tokens_per_step
    return round(steps * (operations / rate + _LEAST_OVERHEAD_SECONDS), 1)


def operations_per_token(job: Job) -> int:
    """Floating-point operations per token and step.

    2 per active parameter forward, 4 backward (arXiv 2001.08361, section 2.1); 2 more to recompute
    under checkpointing; 2 fewer where a frozen base needs no weight gradients.
    """
    factor = (6 if job.full else 4) + (2 if job.checkpointing else 0)
    shape = job.shape
    active = shape.parameters
    if shape.experts:
        active -= (
            shape.expert_parameters * (shape.experts - shape.experts_per_token) // shape.experts
        )
    return factor * active
