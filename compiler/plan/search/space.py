"""The decisions before the search for a layout, and the job of a layout.

They include the number of processes, the ways to shard a model, and the offloads.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ftc.compiler.knowledge.architectures.architecture import Shape
from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts
from ftc.compiler.knowledge.training.liger import has_liger_kernels
from ftc.compiler.plan.batch.lengths import are_all_cut
from ftc.compiler.plan.batch.sizes import Arrangement, Batch
from ftc.compiler.plan.decision import Because, Decision, derived
from ftc.compiler.plan.job import Job, Storage
from ftc.compiler.plan.memory.host import host_ram_bytes
from ftc.compiler.plan.memory.peak import measure, workspace_bytes
from ftc.compiler.plan.method.adapter import (
    Adapter,
    Freezing,
    part_parameters,
    trains_embedding,
    trains_head,
)
from ftc.compiler.plan.method.precision import decide_load_dtype, freezes_in_16_bits
from ftc.compiler.plan.objective.comparison import Comparison, switches_recomputing
from ftc.compiler.plan.objective.sampling import (
    calls_tools,
    find_engine,
    learns_from_shards,
    sampling_reference,
)
from ftc.compiler.plan.objective.teaching import Teaching
from ftc.compiler.plan.objective.vectors import (
    count_mined,
    count_texts,
    count_vector_numbers,
    pairs_in_passes,
)
from ftc.compiler.plan.plan import Memory, Recomputing, Rung, Sharding
from ftc.compiler.plan.schedule.learning_rate import job_word
from ftc.compiler.plan.sight import Sight, make_sight
from ftc.compiler.plan.software import LIGER, LIGER_QLORA, PINNED, PINNED_QLORA, Stack
from ftc.compiler.plan.splits import Splits
from ftc.compiler.plan.time.roofline import ASSUMED_GBIT, rate
from ftc.compiler.plan.time.run import Mined, attended_tokens, pass_tokens, step_seconds
from ftc.compiler.resolve.facts import HardwareFacts, KnownFacts, Lengths
from ftc.spec.sections import Attention, Metric, Objective, Offload, Precision, Spec

#: Of `runtime/evaluate/answers.py`: so many rows, or tokens with answers, are generated at once.
BATCH_ROWS: Final = 16
BATCH_TOKENS: Final = 8192
_EVERY: Final = (4, 2)  # intervals of recomputed layers
#: The objectives whose trainer recomputes selectively.
SELECTIVE: Final = frozenset({"sft", "cpt"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The decisions before the search: all inputs of a job except its layout.

    `pieces` is how many rows to train on each data row gives (more than 1 only where long texts are
    split), `lengths` are theirs, and `longest` is the most tokens that one of
    them is padded to. `answered_rows` is how many validation rows an evaluation answers,
    `answer_tokens` the most tokens of such an answer; None where it writes none. `sampled` is the
    most tokens of an answer that training samples, None where it samples none. `liger` says whether
    Liger's kernels replace those of transformers.
    """

    spec: Spec
    facts: KnownFacts
    shape: Shape
    world: Decision[int]
    precision: Decision[Precision]
    attention: Decision[Attention]
    adapter: Adapter | None
    freezing: Freezing | None
    comparison: Comparison
    teaching: Teaching
    metric: Decision[Metric]
    answered_rows: Decision[int] | None
    answer_tokens: Decision[int] | None
    sampled: Decision[int] | None
    max_length: Decision[int]
    longest: int
    splits: Splits
    pieces: float
    lengths: Lengths
    arrangement: Arrangement
    batch: Batch
    liger: bool

    def job(
        self,
        sharding: Sharding,
        *,
        checkpointing: Recomputing,
        micro: int,
        offload: Offload = "none",
    ) -> Job:
        """Return the process of this layout; an offload that the spec names takes precedence."""
        spec, shape = self.spec, self.shape
        precision, reference = self.precision.value, self.comparison.reference
        objective, partly = spec.objective, spec.method.type != "full"
        load = decide_load_dtype(spec, precision, sharding, self.facts.model).value
        halved = freezes_in_16_bits(spec, precision, sharding, self.facts.model)
        return Job(
            shape=shape,
            full=self.adapter is None,
            trainable=self.trainable,
            frozen_layers=self.frozen_layers(checkpointing=checkpointing),
            trains_embedding=trains_embedding(spec.method, shape) if partly else None,
            trains_head=trains_head(spec, shape) if partly else None,
            load_bytes=4 if load == "fp32" or halved else 2,
            file_bytes=4 if self.facts.model.dtype == "float32" else 2,
            frozen_bytes=2 if halved else None,
            compute_bytes=4 if precision == "fp32" else 2,
            storage=self.storage,
            optimizer=job_word(spec.training.optimizer),
            smoothed=spec.training.label_smoothing > 0,
            attention=self.attention.value,
            sharding=sharding,
            offload=written if (written := spec.distribution.offload) != "auto" else offload,
            nvme=spec.distribution.nvme_path is not None,
            world=self.world.value,
            nodes=self.facts.hardware.nodes,
            micro=micro,
            accumulation=self.batch.rows_per_process // micro,
            length_tokens=self.arrangement.length_tokens,
            packed=self.arrangement.packed,
            even=self._is_even,
            eval_length_tokens=self.longest,
            attended_tokens=0 if self.sampled else attended_tokens(self.arrangement, micro=micro),
            written_rows=self.written_rows,
            written_length_tokens=self.written_length_tokens,
            checkpointing=checkpointing,
            gpu=self.facts.hardware.kind == "gpu",
            workspace_bytes=workspace_bytes(self.facts.hardware),
            objective=spec.objective.type,
            reference=reference.value if reference else sampling_reference(spec),
            texts=count_texts(spec, self.facts.data),
            vector_numbers=count_vector_numbers(spec, shape.hidden),
            scored_pairs=pairs_in_passes(spec.objective, self.facts.data),
            answer_tokens=self.sampled.value if self.sampled else 0,
            tool_rounds=objective.max_tool_calling_iterations if calls_tools(objective) else 0,
            engine=find_engine(objective),
            teacher=self.teaching.teacher,
            sight=self.sight,
            stack=self.stack,
            **self._describe_adapter(),
        )

    def _describe_adapter(self) -> dict[str, Any]:
        """Return the adapter's part of a job; nothing without an adapter."""
        spec, adapter = self.spec, self.adapter
        if adapter is None:
            return {}
        return {
            "targets": adapter.modules,
            "rank": adapter.rank.value,
            "dropout": adapter.dropout.value,
            "dora": adapter.dora is not None,
            "adapts_experts": adapter.experts is not None,
            "saved_parameters": part_parameters(spec, self.shape),
            "trained_tokens": len(spec.model.new_tokens),
        }

    @property
    def _is_even(self) -> bool:
        """Whether all rows are equally long, because each is cut: then there is no padding."""
        objective = OBJECTIVES[self.spec.objective.type]
        alone = objective.sequences == 1 and not objective.splits  # a last piece is shorter
        given = not self.arrangement.packed and self.sampled is None
        written = self.facts.data.lengths  # `lengths` are those of the rows that are cut already
        return alone and given and are_all_cut(written, self.max_length.value)

    @property
    def rows(self) -> int:
        """The rows to train on in an epoch; each piece of a long text is one."""
        return round(self.splits.train.value * self.pieces)

    @property
    def trainable(self) -> int:
        """The number of trained weights."""
        seeing = self.sight.trainable if self.sight is not None else 0
        if self.adapter is not None:
            return self.adapter.parameters + seeing
        if self.freezing is not None:
            return self.freezing.parameters
        return self.shape.parameters + seeing

    @property
    def written_rows(self) -> int:
        """The rows that an evaluation answers at once, for its metric or as samples."""
        asked = 0 if self.answered_rows is None else self.answered_rows.value
        shown = min(self.spec.training.evaluation.samples, self.splits.validation.value)
        if self.answer_tokens is None or not max(asked, shown):
            return 0
        fitting = BATCH_TOKENS // self.written_length_tokens
        return max(1, min(BATCH_ROWS, fitting, max(asked, shown)))

    @property
    def written_length_tokens(self) -> int:
        """The most tokens of a row's prompt and of the answer that an evaluation writes."""
        prompt = min(self.facts.data.lengths.prompt_max, self.max_length.value)
        return prompt + (0 if self.answer_tokens is None else self.answer_tokens.value)

    @property
    def sight(self) -> Sight | None:
        """The tower's input of images; None without images."""
        return make_sight(
            self.spec.method,
            self.facts,
            rank=self.adapter.rank.value if self.adapter else None,
            dora=self.adapter is not None and self.spec.method.dora,
        )

    def frozen_layers(self, *, checkpointing: Recomputing) -> int:
        """Return how many layers come before the first trained one; no backward pass reaches them.

        With an adapter, gradient checkpointing or a quantized base makes the output of the
        embedding require a gradient (`enable_input_require_grads` of TRL and PEFT), so that every
        layer has a backward pass.
        """
        if self.freezing is not None:
            return self.freezing.frozen_layers
        if self.adapter is None or checkpointing or self.storage != "plain":
            return 0
        embeds = trains_embedding(self.spec.method, self.shape) or bool(self.spec.model.new_tokens)
        return 0 if embeds else self.adapter.first_layer

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
        """The software stack. QLoRA's adapters are fp32 under fp16, which scales the loss.

        They are fp32 beside a classification head too, which is new and learns by small steps, and
        where TRL does not cast them. In fp32 they are as wide as what is trained whole beside them.
        """
        is_new = OBJECTIVES[self.spec.objective.type].head != "tokens"
        beside = self.precision.value == "fp32" and bool(self.spec.method.also_train)
        wide = self.precision.value == "fp16" or is_new or beside
        plain = self.storage == "plain" or wide
        if self.liger:
            return LIGER if plain else LIGER_QLORA
        return PINNED if plain else PINNED_QLORA

    @property
    def switches_recomputing(self) -> bool:
        """Whether a step switches recomputing off and on again, so that it is all or nothing."""
        reference = self.comparison.reference
        return switches_recomputing(self.spec, reference.value if reference else None)

    def memory(
        self,
        sharding: Sharding,
        *,
        checkpointing: Recomputing,
        micro: int,
        offload: Offload = "none",
    ) -> Memory:
        """Return the peak of one process of this layout."""
        job = self.job(sharding, checkpointing=checkpointing, micro=micro, offload=offload)
        return measure(job, self.facts.hardware)


def decide_world(objective: Objective, facts: KnownFacts) -> Decision[int]:
    """Decide the number of processes: one per GPU of each node, or on a CPU what the spec says.

    The last GPU of the machine is left to vLLM's server, where there is one.
    """
    hardware = facts.hardware
    values: dict[str, object] = {"count": max(1, hardware.count), "hardware": hardware.name}
    if find_engine(objective) == "server" and hardware.kind == "gpu":
        return derived(max(1, hardware.world - 1), "world.gpu.server", **values)
    if hardware.nodes > 1:
        values["nodes"] = hardware.nodes
        return derived(hardware.world, f"world.{hardware.kind}.nodes", **values)
    return derived(hardware.world, f"world.{hardware.kind}", **values)


def decide_calibration(hardware: HardwareFacts) -> Decision[Mapping[str, float]] | None:
    """Decide the factors of planned memory and time by what a pilot measured; None without one."""
    found = hardware.calibration
    if found is None:
        return None
    if found.time is None:
        return derived({"memory": found.memory}, "calibration.memory", memory=found.memory)
    values = {"memory": found.memory, "time": found.time}
    return derived(values, "calibration.measured", **values)


def decide_network(facts: KnownFacts) -> Decision[float] | None:
    """Decide the bandwidth between nodes in Gbit/s; None on one node."""
    hardware = facts.hardware
    if hardware.nodes == 1:
        return None
    if hardware.network_gbit is None:
        return derived(ASSUMED_GBIT, "network.assumed")
    because = Because(key="said", values={"field": "hardware.network_gbit"})
    return Decision(value=hardware.network_gbit, source="spec", because=because)


def shardings(frame: Frame) -> tuple[Sharding, ...]:
    """Return the shardings to try, fastest first; a strategy that the spec names is the only one.

    DDP communicates no weights, ZeRO-1 and ZeRO-2 gather the updated ones once a step, ZeRO-3
    gathers each layer twice. Offloading needs ZeRO, on one process too. ZeRO-3 does not divide a
    base in 4 bits (FTC427), FSDP does. For other weights FSDP needs as much memory as ZeRO-3, so
    the planner uses it only if the spec asks for it. Weights are not divided where answers cannot
    be sampled from shards (FTC593). Vectors are compared across processes by DDP.
    """
    strategy, offload = frame.spec.distribution.strategy, frame.spec.distribution.offload
    if compares_texts(frame.spec.objective.type) and strategy == "auto":
        return ("single",) if frame.world.value == 1 else ("ddp",)
    if strategy == "ddp" and frame.world.value == 1:
        return ("single",)
    if strategy != "auto":
        return (strategy,)
    if frame.spec.distribution.nvme_path is not None:
        return ("zero3",)
    if offload == "parameters":
        return ("zero3",)
    if offload == "optimizer":
        options: tuple[Sharding, ...] = ("zero2", "zero3")
    else:
        options = ("single",) if frame.world.value == 1 else ("ddp", "zero1", "zero2", "zero3")
    divides = frame.storage == "plain" and learns_from_shards(frame.spec, "zero3")
    return options if divides else tuple(o for o in options if o != "zero3")


def offloads(frame: Frame, sharding: Sharding) -> tuple[Offload, ...]:
    """Return the offloads to try under a sharding; one that the spec names is the only one.

    The planner offloads by itself only if the memory of the host is known, which must hold what is
    offloaded. On a single GPU it offloads only if the spec asks for it, as that needs DeepSpeed,
    whose CPU optimizer (AdamW) is compiled on the machine. A disk is used only, and always, if the
    spec names a folder on it.
    """
    written, hardware = frame.spec.distribution.offload, frame.facts.hardware
    if written != "auto":
        return (written,)
    if frame.spec.distribution.nvme_path is not None and sharding == "zero3":
        return ("optimizer", "parameters") if frame.storage == "plain" else ("optimizer",)
    divided = sharding in ("zero2", "zero3") and frame.spec.training.optimizer == "adamw"
    if not divided or hardware.kind == "cpu" or hardware.host_ram_bytes is None:
        return ("none",)
    whole = sharding == "zero2" or frame.storage != "plain"
    return ("none", "optimizer") if whole else ("none", "optimizer", "parameters")


def is_held(frame: Frame, job: Job, memory: Memory) -> bool:
    """Return whether the host holds what the planner itself, not the spec, offloads to it."""
    spec = frame.spec
    chosen = spec.distribution.offload == "auto" and job.offload != "none" and not job.swaps
    free = spec.training.gradient_checkpointing == "auto"
    if not chosen and not (free and job.checkpointing == "offload"):
        return True
    held = frame.facts.hardware.host_ram_bytes or 0
    return host_ram_bytes(job, memory.device_bytes) <= held


def partly_recomputed(frame: Frame, sharding: Sharding) -> tuple[Recomputing, ...]:
    """Return what may be recomputed beside everything and nothing, the fastest first.

    Selective recomputing is TRL's, of its trainer for supervised fine-tuning. It replaces a method
    of the model, which PEFT's wrapper hides from the Trainer. ZeRO-3 gathers weights during the
    backward pass that the forward pass did not gather, which PyTorch's selective recomputing does
    not accept. A classification head under ZeRO-3 has options of its own. Vectors are computed in
    passes of any size.
    """
    objective = frame.spec.objective.type
    divided_head = objective == "classification" and sharding == "zero3"
    if divided_head or compares_texts(objective) or frame.switches_recomputing:
        return ()
    every = tuple(every for every in _EVERY if every < frame.shape.layers)
    selective = objective in SELECTIVE and frame.adapter is None and sharding != "zero3"
    return (*every, *(("selective",) if selective else ()))


def may_fuse(frame: Frame) -> bool:
    """Return whether the planner may use Liger's kernels: Triton's, for some kinds of models.

    TRL has no such losses of its own beside supervised fine-tuning. `torch.compile` fuses layers
    itself.
    """
    spec, hardware = frame.spec, frame.facts.hardware
    written = spec.training.liger == "auto" and spec.training.compile is not True
    known = hardware.kind == "gpu" and hardware.compute_capability is not None
    fused = has_liger_kernels(frame.facts.model.model_type)
    return written and known and fused and spec.objective.type in SELECTIVE


def read_for_mining(frame: Frame) -> Mined | None:
    """Return the texts that are read to find hard negatives: the queries and the different texts.

    Each is counted with the mean length of a row's longest one.
    """
    if not count_mined(frame.spec, frame.facts.data):
        return None
    queries, documents = frame.splits.train.value, frame.facts.data.documents
    tokens = min(frame.lengths.mean, frame.max_length.value)
    return Mined(texts=queries + min(queries, documents), row_tokens=tokens)


def measure_rungs(frame: Frame, job: Job, lines: Iterable[tuple[int, int]]) -> tuple[Rung, ...]:
    """Return the memory and the time of a step for each line: rows of a pass, passes of a step.

    A line that does not need less memory than those before it is left out: with several passes the
    gradients of earlier ones stay.
    """
    found: list[Rung] = []
    for micro, passes in lines:
        job = replace(job, micro=micro, accumulation=passes, eval_micro=1)
        rung = measure_rung(frame, job)
        if not found or rung.memory_bytes < found[-1].memory_bytes:
            found.append(rung)
    return tuple(found)


def measure_rung(frame: Frame, job: Job) -> Rung:
    """Return the peak of one process and the seconds of a step; a pilot does not evaluate."""
    hardware = frame.facts.hardware
    memory = measure(job, hardware)
    step = frame.batch.decision.value
    tokens = pass_tokens(frame.arrangement, micro=job.micro, world=job.world, step=step)
    seconds = round(step_seconds(job, hardware, tokens), 4) if rate(job, hardware) else None
    return Rung(
        micro=job.micro,
        accumulation=job.accumulation,
        allocated_bytes=memory.allocated_bytes,
        memory_bytes=memory.reserved_bytes if job.gpu else memory.device_bytes,
        margin_bytes=memory.margin_bytes,
        step_seconds=seconds,
    )
