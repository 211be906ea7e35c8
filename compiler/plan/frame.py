"""What is decided before the search for a layout, and the job that a layout gives."""

from dataclasses import dataclass

from ftc.compiler.knowledge.architecture import Shape
from ftc.compiler.plan.adapter import Adapter, hit
from ftc.compiler.plan.batch import Batch
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.memory import measure, workspace_bytes
from ftc.compiler.plan.plan import Memory, Sharding
from ftc.compiler.plan.precision import decide_attention, decide_load_dtype
from ftc.spec.sections import Precision, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What is decided before the search: everything a job needs but its layout."""

    spec: Spec
    facts: KnownFacts
    shape: Shape
    precision: Precision
    adapter: Adapter | None
    max_length: int
    batch: Batch
    world: int

    def job(self, sharding: Sharding, *, checkpointing: bool, micro: int) -> Job:
        """Return the process that this layout gives."""
        spec, shape, adapter = self.spec, self.shape, self.adapter
        load = decide_load_dtype(spec, self.precision, sharding).value
        targets = hit(shape, adapter.targets.value) if adapter else ()
        return Job(
            shape=shape,
            full=adapter is None,
            trainable=shape.parameters if adapter is None else adapter.parameters,
            targets=targets,
            rank=adapter.rank.value if adapter else 0,
            dropout=adapter.dropout.value if adapter else 0.0,
            load_bytes=4 if load == "fp32" else 2,
            compute_bytes=4 if self.precision == "fp32" else 2,
            attention=decide_attention(spec, self.facts.model).value,
            sharding=sharding,
            world=self.world,
            micro=micro,
            accumulation=self.batch.rows_per_process // micro,
            length_tokens=self.max_length,
            checkpointing=checkpointing,
            gpu=self.facts.hardware.kind == "gpu",
            workspace_bytes=workspace_bytes(self.facts.hardware),
        )

    def memory(self, sharding: Sharding, *, checkpointing: bool, micro: int) -> Memory:
        """Return the peak of one process of this layout."""
        job = self.job(sharding, checkpointing=checkpointing, micro=micro)
        return measure(job, self.facts.hardware)
