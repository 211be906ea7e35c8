"""The plan: every number of a run as a decision, and the cost of the run."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from ftc.compiler.plan.decision import Decision
from ftc.spec.message import Message
from ftc.spec.sections import (
    Attention,
    BestBy,
    Init,
    Metric,
    Offload,
    Optimizer,
    Packing,
    Part,
    PolicyLoss,
    Pooling,
    Precision,
    PreferenceLoss,
    Published,
    Quantization,
    QuantStorage,
    Reference,
    Schedule,
    TeacherQuantization,
    Vllm,
)

# fsdp is PyTorch's FSDP2
Sharding = Literal["single", "ddp", "zero1", "zero2", "zero3", "fsdp"]
Bound = float | Literal["measured"]
# What of the activations is recomputed: none, all layers, every n-th layer, all but attention, or
# all layers, whose inputs are on the host.
Recomputing = bool | int | Literal["selective", "offload"]
Evidence = Literal["pilot", "published", "none"]  # of the rates of a device
# For a classification: rows of all labels count equally, or each label has a weight.
Weights = Literal["balanced", "none"] | Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How the training is divided among processes, nodes, and the disk.

    `nvme_bytes` are the bytes of offloaded states on each node's disk, `world` counts processes.
    """

    sharding: Decision[Sharding]
    offload: Decision[Offload]
    nvme_bytes: Decision[int] | None
    world: Decision[int]
    network: Decision[float] | None
    calibration: Decision[Mapping[str, float]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """The number formats and kernels of a pass."""

    precision: Decision[Precision]
    load_dtype: Decision[Precision]
    attention: Decision[Attention]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """How rows become sequences.

    `packed_rows` is how many packed rows the training split gives, `packed_length` the tokens of
    one.
    """

    max_length: Decision[int]
    max_pixels: Decision[int] | None
    packing: Decision[Packing]
    packed_length: Decision[int] | None
    packed_rows: Decision[int] | None
    group_by_length: Decision[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The rows of a step and of a pass, and the activations that a pass keeps.

    Batches count rows, packed ones where rows are packed.
    """

    micro_batch: Decision[int]
    eval_batch: Decision[int]
    accumulation: Decision[int]
    global_batch: Decision[int]
    gradient_checkpointing: Decision[Recomputing]
    liger: Decision[bool] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """The rows of each split."""

    train_rows: Decision[int]
    validation_rows: Decision[int]
    test_rows: Decision[int]
    mixture: Decision[Mapping[str, int]] | None
    stratify: Decision[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The optimizer, its learning rate, and the steps.

    All but `epochs`, `patience`, the rates, `cycles` and `power` count optimizer steps. The
    settings of a schedule are None under other schedules.
    """

    epochs: Decision[float]
    total_steps: Decision[int]
    eval_steps: Decision[int]
    save_steps: Decision[int]
    patience: Decision[int | None]
    learning_rate: Decision[float]
    embedding_learning_rate: Decision[float] | None
    optimizer: Decision[Optimizer]
    schedule: Decision[Schedule]
    warmup_steps: Decision[int]
    decay_steps: Decision[int] | None
    learning_rate_floor: Decision[float] | None
    cycles: Decision[int] | None
    power: Decision[float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Whether the model is compiled, and how batches are prepared."""

    compile: Decision[bool]
    loader_workers: Decision[int]
    loader_prefetch: Decision[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The loss of preferences and of labels."""

    preference_loss: Decision[PreferenceLoss] | None
    beta: Decision[float] | None
    reference: Decision[Reference] | None
    pair_smoothing: Decision[float] | None
    desirable_weight: Decision[float] | None
    undesirable_weight: Decision[float] | None
    margin: Decision[float] | None
    answer_weight: Decision[float] | None
    class_weights: Decision[Weights] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """The answers that training generates, and their rewards."""

    rewards: Decision[tuple[str, ...]] | None
    num_generations: Decision[int] | None
    temperature: Decision[float] | None
    policy_loss: Decision[PolicyLoss] | None
    tool_rounds: Decision[int] | None
    tool_seconds: Decision[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Teaching:
    """The teacher of a distillation.

    `teacher_bytes` are those of its weights, `teacher_rows` the rows of its embedding that are kept
    where it has more than the student.
    """

    teacher_quantization: Decision[TeacherQuantization] | None
    teacher_bytes: Decision[int] | None
    teacher_rows: Decision[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """The vectors of an embedding model, and the texts of a reranker."""

    pooling: Decision[Pooling] | None
    similarity_scale: Decision[float] | None
    matryoshka_dimensions: Decision[tuple[int, ...]] | None
    hard_negatives: Decision[int] | None
    wrong_texts: Decision[int] | None
    query_prompt: Decision[str | None] | None
    document_prompt: Decision[str | None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The engine that generates the answers of training."""

    vllm: Decision[Vllm] | None
    vllm_share: Decision[float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The evaluation of the model during and after training."""

    metric: Decision[Metric]
    best_by: Decision[BestBy]
    answered_rows: Decision[int] | None
    judged_rows: Decision[int] | None
    harness: Decision[tuple[str, ...]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """The matrices of an adapter; None under other methods."""

    lora_rank: Decision[int] | None
    lora_alpha: Decision[int] | None
    lora_dropout: Decision[float] | None
    lora_targets: Decision[tuple[str, ...]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The bounds for exported files; None if nothing is exported.

    Bounds are nats per token, a share, a ratio and a share, or measured by the bundle;
    `max_metric_drop` is None without a metric.
    """

    verify_tokens: Decision[int] | None
    max_divergence: Decision[Bound] | None
    min_agreement: Decision[Bound] | None
    max_perplexity_ratio: Decision[Bound] | None
    max_metric_drop: Decision[Bound] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """The trained weights, and the storage of the base; None under other methods."""

    target_pattern: Decision[str] | None
    lora_experts: Decision[bool] | None
    loraplus_ratio: Decision[float] | None
    rslora: Decision[bool] | None
    dora: Decision[bool] | None
    lora_init: Decision[Init] | None
    trained_layers: Decision[tuple[int, ...]] | None
    also_train: Decision[tuple[Part, ...]] | None
    new_tokens: Decision[int] | None
    quantization: Decision[Quantization] | None
    double_quantization: Decision[bool] | None
    quant_storage: Decision[QuantStorage] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """All decisions in sections, in the order of a run; unneeded decisions are None.

    `settings` are fields of the spec that are passed on to the Trainer, by their names in the table
    of settings.
    """

    distribution: Distribution
    compute: Compute
    rows: Rows
    batch: Batch
    splits: Splits
    training: Training
    settings: Mapping[str, Decision[Any]]
    loop: Loop
    comparison: Comparison
    sampling: Sampling
    teacher: Teaching
    vectors: Vectors
    engine: Engine
    evaluation: Evaluation
    published: Decision[tuple[Published, ...]] | None
    answer_tokens: Decision[int] | None
    lora: Lora
    verification: Verification
    method: Method

    @property
    def most_answer_tokens(self) -> int:
        """The maximum tokens of a generated answer; 0 without generation."""
        return 0 if self.answer_tokens is None else self.answer_tokens.value

    @property
    def batch_rows(self) -> int:
        """The rows of an epoch as batches count them: fewer than `train_rows` where packed."""
        packed = self.rows.packed_rows
        return self.splits.train_rows.value if packed is None else packed.value

    def items(self) -> Mapping[str, Decision[Any]]:
        """Return the decisions that were made, by name, in the order of a run."""
        found: dict[str, Decision[Any] | None] = {}
        for place in fields(self):
            section = getattr(self, place.name)
            if section is None or isinstance(section, Decision):
                found[place.name] = section
            elif isinstance(section, Mapping):
                found |= section
            else:
                found |= {inner.name: getattr(section, inner.name) for inner in fields(section)}
        return {name: decision for name, decision in found.items() if decision is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The peak of one process, in bytes; `phases` maps a phase to its allocated peak.

    `parts` maps a phase to what its peak is made of: static, gradients, activations, loss,
    copies, gathered weights and a cache of keys and values.

    `expected_bytes` adds what the caching allocator is expected to hold free between tensors,
    `reserved_bytes` the `margin_bytes` for what these formulas miss, `device_bytes` the CUDA
    context and NCCL on top. `capacity_bytes` is the device's (the host's share on a CPU), None when
    unknown; what fits does so with the margin. `optimizer_bytes` are those of the static part that
    are optimizer states.
    """

    allocated_bytes: int
    expected_bytes: int
    margin_bytes: int
    reserved_bytes: int
    device_bytes: int
    capacity_bytes: int | None
    fits: bool | None
    phases: Mapping[str, int]
    largest_phase: str
    parts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    optimizer_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """The seconds of a run, with its evaluation on the test split, and their range.

    `judging_seconds` are those of the test split. `tokens_per_second` counts unpadded tokens of all
    processes while training. `evidence` is what the rates rest on: a pilot on this machine, rates
    that were published for this card, or none of either.
    """

    total_seconds: float
    low_seconds: float
    high_seconds: float
    training_seconds: float
    evaluation_seconds: float
    saving_seconds: float
    loading_seconds: float
    judging_seconds: float
    tokens_per_second: float
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of a run in the currency of the spec's price, with the range of its time."""

    total: float
    low: float
    high: float


# layout: the same training in another order; method and data: another result; hardware: more money
Kind = Literal["layout", "method", "data", "hardware"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A change that would fit in words, its peak in bytes, and the patch on the spec that makes it.

    `time_ratio` is the run's time over that of the plan which does not fit, None where unknown;
    `cost` is the run's, None without a price.
    """

    words: Message
    device_bytes: int
    fix: tuple[Mapping[str, Any], ...]
    kind: Kind = "layout"
    time_seconds: float | None = None
    time_ratio: float | None = None
    cost: float | None = None

    @property
    def change(self) -> str:
        """The change in English."""
        return str(self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """A line of the ladder: rows of a pass and passes of a step, with what they are to need.

    The bytes are those of one process at its peak: allocated, and reserved on a GPU or all of the
    process's memory on a CPU, of which `margin_bytes` are added for safety. `step_seconds` is None
    where no rate is known.
    """

    micro: int
    accumulation: int
    allocated_bytes: int
    memory_bytes: int
    margin_bytes: int
    step_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The best plan for known facts, whether or not it fits.

    `ladder` are the rows (micro-batch, accumulation) to fall back on when memory runs out: each
    keeps the global batch and needs less than the one before; `rungs` are the same lines with their
    memory and time. `trainable_parameters` counts weights that move. `export_bytes` maps each type
    of `export.types` and `export.vllm` to its predicted size. `disk_bytes` are the most that `run/`
    has at any time and `download_bytes`, the weights of the Hub in its cache, which stay there.
    `tokens_per_step` is a mean, without padding, of both texts of a pair. `fitting_gpus` names the
    accelerators that would take a plan which does not fit, with as many of them, smallest first.
    `context_gpus` are the GPUs that would hold its rows if they divided the tokens of each, which
    no bundle does; None where that is not what is missing.
    """

    decisions: Decisions
    memory: Memory
    ladder: tuple[tuple[int, int], ...]
    trainable_parameters: int
    tokens_per_step: int
    time_seconds: float | None
    disk_bytes: int
    download_bytes: int
    host_ram_bytes: int
    export_bytes: Mapping[str, int]
    alternatives: tuple[Alternative, ...]
    time: Time | None = None
    cost: Cost | None = None
    fitting_gpus: tuple[str, ...] = ()
    context_gpus: int | None = None
    rungs: tuple[Rung, ...] = ()
