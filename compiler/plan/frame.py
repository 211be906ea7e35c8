"""What is decided before the search for a layout, and the job that a layout gives."""

from dataclasses import dataclass

from ftc.compiler.knowledge.architecture import Shape
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.adapter import Adapter, hit
from ftc.compiler.plan.arrangement import Arrangement
from ftc.compiler.plan.batch import Batch
from ftc.compiler.plan.comparison import decide_reference
from ftc.compiler.plan.curve import job_word
from ftc.compiler.plan.freezing import Freezing, part_parameters, trains_embedding, trains_head
from ftc.compiler.plan.job import Job, Storage
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.memory import measure, workspace_bytes
from ftc.compiler.plan.plan import Memory, Sharding
from ftc.compiler.plan.precision import decide_attention, decide_load_dtype
from ftc.compiler.plan.sampling import decide_sampled_tokens, samples, sampling_reference
from ftc.compiler.plan.stack import LIGER, LIGER_QLORA, PINNED, PINNED_QLORA, Stack
from ftc.compiler.resolve.facts import Lengths
from ftc.spec.sections import Offload, Precision, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What is decided before the search: everything a job needs but its layout."""

    spec: Spec
    facts: KnownFacts
    shape: Shape
    precision: Precision
    adapter: Adapter | None
    freezing: Freezing | None
    max_length: int
    lengths: Lengths
    arrangement: Arrangement
    batch: Batch
    world: int

    def job(
        self, sharding: Sharding, *, checkpointing: bool, micro: int, offload: Offload = "none"
    ) -> Job:
        """Return the process that this layout gives; an offload that the spec names wins."""
        spec, shape, adapter = self.spec, self.shape, self.adapter
        load = decide_load_dtype(spec, self.precision, sharding).value
        targets = hit(shape, adapter.targets.value) if adapter else ()
        reference = decide_reference(spec)
        return Job(
            shape=shape,
            full=adapter is None,
            trainable=self.trainable,
            targets=targets,
            rank=adapter.rank.value if adapter else 0,
            dropout=adapter.dropout.value if adapter else 0.0,
            dora=adapter is not None and adapter.dora is not None,
            frozen_layers=self.frozen_layers(checkpointing=checkpointing),
            saved_parameters=part_parameters(spec, shape) if adapter else 0,
            saves_embedding=adapter is not None and trains_embedding(spec, shape),
            trained_tokens=len(spec.model.new_tokens) if adapter else 0,
            trains_head=trains_head(spec, shape) if spec.method.type != "full" else None,
            load_bytes=4 if load == "fp32" else 2,
            compute_bytes=4 if self.precision == "fp32" else 2,
            storage=self.storage,
            optimizer=job_word(spec.training.optimizer),
            smoothed=spec.training.label_smoothing > 0,
            attention=decide_attention(spec, self.facts.model).value,
            sharding=sharding,
            offload=written if (written := spec.distribution.offload) != "auto" else offload,
            nvme=spec.distribution.nvme_path is not None,
            world=self.world,
            nodes=self.facts.hardware.nodes,
            micro=micro,
            accumulation=self.batch.rows_per_process // micro,
            length_tokens=self.arrangement.length_tokens,
            eval_length_tokens=self.max_length,
            checkpointing=checkpointing,
            gpu=self.facts.hardware.kind == "gpu",
            workspace_bytes=workspace_bytes(self.facts.hardware),
            objective=spec.objective.type,
            reference=reference.value if reference else sampling_reference(spec),
            answer_tokens=self.sampled_tokens,
            stack=self.stack,
        )

    @property
    def trainable(self) -> int:
        """The weights that move."""
        if self.adapter is not None:
            return self.adapter.parameters
        return self.shape.parameters if self.freezing is None else self.freezing.parameters

    def frozen_layers(self, *, checkpointing: bool) -> int:
        """Return the layers before the first that moves, which no backward pass reaches.

        Recomputing beside an adapter, or a rounded base, makes the embedding's output ask for a
        gradient (TRL's and PEFT's `enable_input_require_grads`): every layer has one then.
        """
        if self.freezing is not None:
            return self.freezing.frozen_layers
        if self.adapter is None or checkpointing or self.storage != "plain":
            return 0
        embeds = trains_embedding(self.spec, self.shape) or bool(self.spec.model.new_tokens)
        return 0 if embeds else self.adapter.first_layer

    @property
    def sampled_tokens(self) -> int:
        """The most tokens of an answer that is tried while training; 0 where none is."""
        if not samples(self.spec):
            return 0
        return decide_sampled_tokens(self.spec, self.facts.model, self.facts.data).value

    @property
    def storage(self) -> Storage:
        """How the base is stored: in 4 or 8 bits under QLoRA."""
        if self.adapter is None or self.adapter.quantization is None:
            return "plain"
        if self.adapter.double_quantization is None:
            return "int8"
        return "nf4-double" if self.adapter.double_quantization.value else "nf4"

    @property
    def stack(self) -> Stack:
        """The pinned stack; under QLoRA too, adapters are fp32 where loss scaling needs that.

        So they are beside a head that scores, which is new and learns by small steps.
        """
        scores = OBJECTIVES[self.spec.objective.type].head == "scores"
        wide = self.precision == "fp16" or scores
        plain = self.storage == "plain" or wide
        if self.spec.training.liger:
            return LIGER if plain else LIGER_QLORA
        return PINNED if plain else PINNED_QLORA

    def memory(
        self, sharding: Sharding, *, checkpointing: bool, micro: int, offload: Offload = "none"
    ) -> Memory:
        """Return the peak of one process of this layout."""
        job = self.job(sharding, checkpointing=checkpointing, micro=micro, offload=offload)
        return measure(job, self.facts.hardware)
