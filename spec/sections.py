"""The typed spec: what `validate` returns once short forms are long and defaults are filled in.

Every field mirrors one property of `schema.json`. `"auto"` means that the planner decides.
`Spec.said` holds the JSON pointers (of the long form) that the user wrote, so that a decision can
tell a choice from a default.
"""

from dataclasses import dataclass
from typing import Any, Literal

Auto = Literal["auto"]
Precision = Literal["bf16", "fp16", "fp32"]
Attention = Literal["sdpa", "eager", "flash_attention_2"]
Form = Literal["chat", "prompt_completion", "instruction", "text", "preference", "feedback"]
ObjectiveType = Literal["sft", "cpt", "dpo", "kto", "orpo", "classification", "reward", "grpo"]
PreferenceLoss = Literal[
    "sigmoid", "ipo", "hinge", "robust", "exo_pair", "apo_zero", "apo_down", "sigmoid_norm"
]
Reference = Literal["adapter_off", "copy", "precomputed"]
PolicyLoss = Literal["dapo", "bnpo", "grpo", "dr_grpo"]
Match = Literal["exact", "numeric"]
FileFormat = Literal["csv", "jsonl", "json", "parquet"]
Packing = Literal["none", "best-fit"]
BestBy = Literal["loss", "metric"]
# fmt: off
Schedule = Literal[
    "cosine", "linear", "constant", "polynomial", "cosine_with_restarts", "inverse_sqrt",
    "warmup_stable_decay",
]
Optimizer = Literal[
    "adamw", "adamw_8bit", "paged_adamw", "paged_adamw_8bit",
    "lion", "lion_8bit", "paged_lion", "paged_lion_8bit", "adafactor", "sgd",
]
# fmt: on
Quantization = Literal["nf4", "int8"]
QuantStorage = Literal["uint8", "bf16", "fp16", "fp32"]
Init = Literal["default", "gaussian", "pissa", "pissa_niter_16", "olora"]
Part = Literal["embeddings", "head"]
Strategy = Literal["ddp", "zero1", "zero2", "zero3", "fsdp"]
Offload = Literal["none", "optimizer", "parameters"]
Tracker = Literal["tensorboard", "wandb", "mlflow", "trackio", "none"]
Launcher = Literal["local", "slurm", "kubernetes", "skypilot"]
Metric = Literal["accuracy", "macro_f1", "exact_match", "numeric_match", "rouge_l", "chrf", "none"]
# fmt: off
GgufType = Literal[
    "F16", "BF16", "Q8_0", "Q6_K",
    "Q5_K_M", "Q5_K_S", "Q5_1", "Q5_0",
    "Q4_K_M", "Q4_K_S", "Q4_1", "Q4_0", "IQ4_NL", "IQ4_XS",
    "Q3_K_L", "Q3_K_M", "Q3_K_S", "IQ3_M", "IQ3_S", "IQ3_XS", "IQ3_XXS",
    "Q2_K", "Q2_K_S", "IQ2_M", "IQ2_S", "IQ2_XS", "IQ2_XXS", "IQ1_M", "IQ1_S",
]
# fmt: on


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """`id` is a Hub id or a folder relative to the spec; `chat_template` a Jinja file likewise."""

    id: str
    revision: str | None
    chat_template: str | None
    attention: Attention | Auto
    trust_remote_code: bool
    pickled_weights: bool
    new_tokens: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which column plays which role; None where the role is unused or to be recognised."""

    messages: str | None
    tools: str | None
    prompt: str | None
    completion: str | None
    instruction: str | None
    input: str | None
    output: str | None
    text: str | None
    chosen: str | None
    rejected: str | None
    label: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning:
    """What `prepare.py` removes or repairs before it splits."""

    drop_duplicates: bool
    repair_encoding: bool
    overlong: Literal["drop", "truncate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """Shares of the cleaned rows; what is left after test and validation is trained on."""

    test: float
    validation: float
    stratify: bool | Auto


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One of several sources as it is written; what is None is the whole section's to say."""

    source: str
    revision: str | None = None
    subset: str | None = None
    split: str | None = None
    format: FileFormat | None = None
    form: Form | None = None
    columns: dict[str, str] | None = None
    weight: float | None = None
    max_rows: int | None = None
    max_repeats: int | None = None
    streaming: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """`source` is a file relative to the spec, or a Hub data set id; `sources` are several.

    Whoever reads data asks `list_sources` of `ftc.spec.sources`, to which one is a list of one.
    """

    source: str | None
    sources: tuple[Source | str, ...] | None
    revision: str | None
    subset: str | None
    split: str
    format: FileFormat | Auto
    form: Form | Auto
    columns: Columns
    system: str | None
    max_length: int | Auto
    max_rows: int | None
    streaming: bool
    packing: Packing | Auto
    cleaning: Cleaning
    splits: Splits


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelWeight:
    """How much a row of one label counts in the loss; 1 is as much as any other."""

    label: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """What makes a sampled answer good, and how much: one of the first four says it.

    `json_schema` is a schema or a file of one, `functions` a Python file, both relative to the
    spec; `names` are those of its functions that are called, each with this `weight`.
    """

    match: Match | None = None
    regex: str | None = None
    json_schema: str | dict[str, Any] | None = None
    functions: str | None = None
    names: tuple[str, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What is learned; each type reads the fields that `x-when` of the schema gives it."""

    type: ObjectiveType
    loss_on: Literal["completion", "last_turn", "all"]
    class_weights: tuple[LabelWeight, ...] | Literal["auto", "balanced", "none"]
    rewards: tuple[Reward | Match, ...] | Auto
    num_generations: int | Auto
    temperature: float
    answer_tokens: int | Auto
    policy_loss: PolicyLoss
    loss: PreferenceLoss
    beta: float | Auto
    reference: Reference | Auto
    label_smoothing: float | Auto
    desirable_weight: float | Auto
    undesirable_weight: float | Auto


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """Which weights move; `full` reads no knob, `layers` is `freeze`'s, three are `qlora`'s."""

    type: Literal["full", "freeze", "lora", "qlora"]
    rank: int | Auto
    alpha: int | Auto
    dropout: float
    targets: tuple[str, ...] | Literal["auto", "all-linear", "attention"]
    target_pattern: str | None
    experts: bool
    also_train: tuple[Part, ...]
    loraplus_ratio: float | None
    rslora: bool
    dora: bool
    init: Init
    quantization: Quantization
    double_quantization: bool
    quant_storage: QuantStorage | Auto
    layers: int | tuple[int, ...] | Auto


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How often the validation split is measured, and by what answers are judged.

    `answered_rows` of validation are answered each time where `best_by` is the metric; `harness`
    names tasks of the evaluation harness. `allow_worse` lets a run go on whose result is worse than
    what it began with.
    """

    every_steps: int | Auto
    metric: Metric | Auto
    best_by: BestBy
    answered_rows: int
    allow_worse: bool
    harness: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Batch sizes are rows; `warmup` and `decay` are shares of all optimiser steps.

    `learning_rate_floor` is a share of the peak.
    """

    epochs: float | Auto
    max_steps: int | None
    global_batch: int | Auto
    micro_batch: int | Auto
    learning_rate: float | Auto
    embedding_learning_rate: float | None
    compile: bool | Auto
    loader_workers: int | Auto
    loader_prefetch: int | None
    optimizer: Optimizer
    schedule: Schedule
    learning_rate_floor: float
    decay: float
    cycles: int
    power: float
    warmup: float
    weight_decay: float
    max_grad_norm: float
    neftune: float | None
    label_smoothing: float
    precision: Precision | Auto
    gradient_checkpointing: bool | Auto
    group_by_length: bool | Auto
    liger: bool
    evaluation: Evaluation
    keep_checkpoints: int
    early_stopping: int | None
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """`gpu` is a name of the accelerator table, `auto` (this machine) or `cpu`.

    `count` is the number of GPUs of a node, or of processes on its CPU; `ram_gib` and `disk_gib`
    are a node's, None where they are not known, and so is `network_gbit`, what it sends to others
    in Gbit/s. `price_per_hour` is of one GPU, or of a CPU's machine, in a currency that nobody
    names.
    """

    gpu: str
    count: int | Auto
    ram_gib: float | None
    disk_gib: float | None
    nodes: int
    network_gbit: float | None
    price_per_hour: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How several processes share one model, and what of it waits in the host's memory.

    Where `nvme_path` is given, what is offloaded waits in files of that folder instead.
    """

    strategy: Strategy | Auto
    offload: Offload | Auto
    nvme_path: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    """How far a GGUF file may be from the trained model: nats per token, shares, a ratio."""

    max_divergence: float | Auto
    min_agreement: float | Auto
    max_perplexity_ratio: float | Auto
    max_metric_drop: float | Auto
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """The GGUF types to write; none stops after the merged 16-bit folder.

    `adapter` writes the LoRA adapter by itself as well.
    """

    types: tuple[GgufType, ...]
    adapter: bool
    verify: Verify


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracking:
    """Where training is followed besides its own log; None is the spec's name.

    Keys and servers are no field: they come from the environment.
    """

    type: Tracker
    project: str | None
    run: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What starts the bundle; each type reads the fields that `x-when` of the schema gives it.

    Texts are held by the schema to patterns without blanks, quotes or anything that a shell reads.
    """

    type: Launcher
    partition: str | None
    account: str | None
    qos: str | None
    hours: float | None
    modules: tuple[str, ...]
    container: str | None
    image: str | None
    volume: str | None
    secret: str | None
    namespace: str | None
    spot: bool
    bucket: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One fine-tune, in the long form."""

    name: str
    model: Model
    data: Data
    objective: Objective
    method: Method
    training: Training
    hardware: Hardware
    distribution: Distribution
    export: Export
    tracking: Tracking
    launch: Launch
    allow: tuple[str, ...]
    said: frozenset[str]
