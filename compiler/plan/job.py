"""One process's share of a run: everything that its memory follows from."""

from dataclasses import dataclass
from typing import Final, Literal

from ftc.compiler.knowledge.architecture import Shape
from ftc.compiler.plan.plan import Sharding
from ftc.compiler.plan.stack import PINNED, Stack
from ftc.spec.sections import Attention, Offload

# How a frozen base is stored; "int8" is bitsandbytes' LLM.int8. GPTQ is in the model for published
# runs, no spec asks for it ("gptq-4" has a scale per 128 weights, "gptq-4-row" one per output).
Storage = Literal["plain", "int8", "nf4", "nf4-double", "gptq-4", "gptq-4-row"]
# FSDP1 is in the model for published runs: the language has FSDP2, as `fsdp`.
Sharing = Sharding | Literal["fsdp1"]
# What they keep stands in `optimizer.py`; the pinned Trainer's own names are there too.
Optimizer = Literal[
    "adamw", "adamw-8bit", "paged-adamw", "paged-adamw-8bit", "lion", "lion-8bit", "paged-lion",
    "paged-lion-8bit", "adafactor", "sgd",
]  # fmt: skip
Objective = Literal["sft", "cpt", "dpo", "kto", "orpo", "reward", "classification", "grpo"]
# What a preference or a reward is measured against: nothing; a second, frozen model; the base with
# its adapter switched off; log-probabilities computed before training.
Reference = Literal["none", "copy", "adapter_off", "precomputed"]

# Objectives that compare two answers: TRL joins them to one batch of twice the rows.
PAIRED: Final = frozenset({"dpo", "orpo", "reward"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A training process; `load_bytes` and `compute_bytes` are per number.

    `trainable` counts parameters that move (of the whole model, not of this process); `targets`
    are the linear modules with an adapter, empty under a full fine-tune; `workspace_bytes` is
    cuBLAS's, inside the torch allocator. `rank`, where known, adds what the adapters' inner
    products keep. `eval_micro` is the rows of an evaluation's pass, 0 where they are `micro`, and
    `eval_length_tokens` the length of one, 0 where it is `length_tokens`: packed rows are longer.

    `length_tokens` is that of one sequence: prompt and answer, the longer of a pair, a packed row.
    `answer_tokens` of it are generated, under GRPO alone. `frozen_layers` are the layers before the
    first trained weight, which no backward pass reaches. `saved_parameters` of `trainable` are
    trained whole beside an adapter, as copies of the base's (`modules_to_save`), as wide as the
    adapter is; `saves_embedding` says whether the embedding is among them. `trained_tokens` are
    rows of the embedding trained beside it. `trains_head` says whether the output head moves, None
    where that follows from `full`. `smoothed` is label smoothing's loss. `world` counts the
    processes of all `nodes`. `nvme` says whether what is offloaded goes to a disk.
    """

    shape: Shape
    full: bool
    trainable: int
    targets: tuple[str, ...] = ()
    rank: int = 0
    dropout: float = 0.0
    dora: bool = False
    load_bytes: int
    compute_bytes: int
    storage: Storage = "plain"
    optimizer: Optimizer = "adamw"
    attention: Attention
    sharding: Sharing
    offload: Offload = "none"
    nvme: bool = False
    world: int
    nodes: int = 1
    micro: int
    accumulation: int
    length_tokens: int
    checkpointing: bool
    gpu: bool
    workspace_bytes: int = 0
    eval_micro: int = 0
    eval_length_tokens: int = 0
    objective: Objective = "sft"
    reference: Reference = "none"
    smoothed: bool = False
    answer_tokens: int = 0
    frozen_layers: int = 0
    saved_parameters: int = 0
    saves_embedding: bool = False
    trained_tokens: int = 0
    trains_head: bool | None = None
    stack: Stack = PINNED

    @property
    def sequences(self) -> int:
        """Sequences of one micro-batch: both of a pair go through the model at once."""
        return self.micro * (2 if self.objective in PAIRED else 1)

    @property
    def tokens(self) -> int:
        """Tokens of one micro-batch, padded to the full length: the worst case."""
        return self.sequences * self.length_tokens

    @property
    def backward_layers(self) -> int:
        """Layers that a backward pass goes through, from the last down to the first that moves."""
        return self.shape.layers - self.frozen_layers

    @property
    def head_moves(self) -> bool:
        """Whether the output head is trained."""
        return self.full if self.trains_head is None else self.trains_head

    @property
    def fsdp(self) -> bool:
        """Whether the weights are sharded by FSDP, of either version."""
        return self.sharding in ("fsdp1", "fsdp")

    @property
    def node_processes(self) -> int:
        """The processes of one node."""
        return max(1, self.world // self.nodes)

    @property
    def deepspeed(self) -> bool:
        """Whether DeepSpeed holds an fp32 master of what is trained."""
        return self.sharding in ("zero1", "zero2", "zero3")

    @property
    def states_on_host(self) -> bool:
        """Whether optimizer states wait in the host's memory, where the optimizer then runs."""
        return self.weights_on_host or (self.deepspeed and self.offload != "none")

    @property
    def swaps(self) -> bool:
        """Whether what is offloaded lies in files of a local disk, and the host holds buffers."""
        return self.nvme and self.sharding == "zero3" and self.states_on_host

    @property
    def weights_on_host(self) -> bool:
        """Whether the shards of the weights wait in the host's memory as well."""
        return self.sharding in ("zero3", "fsdp") and self.offload == "parameters"

    @property
    def gathers(self) -> bool:
        """Whether each process holds a share of the weights, and gathers them layer by layer."""
        return self.sharding == "zero3" or self.fsdp

    @property
    def mixed(self) -> bool:
        """Whether fp32 weights compute in 16 bits, by autocast; FSDP casts its shards instead."""
        return self.full and self.compute_bytes < self.load_bytes and not self.fsdp
