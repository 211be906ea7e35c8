"""One process's share of a run: everything that its memory follows from."""

from dataclasses import dataclass
from typing import Literal

from ftc.compiler.knowledge.architecture import Shape
from ftc.compiler.plan.plan import Sharding
from ftc.compiler.plan.stack import PINNED, Stack
from ftc.spec.sections import Attention, Offload

# How a frozen base is stored; GPTQ is in the model for published runs, no spec asks for it
# ("gptq-4" has a scale per 128 weights, "gptq-4-row" one per output).
Storage = Literal["plain", "nf4", "nf4-double", "gptq-4", "gptq-4-row"]
# FSDP is in the model for published runs: the language has DDP and ZeRO.
Sharing = Sharding | Literal["fsdp1", "fsdp2"]
Optimizer = Literal["adamw", "adamw-8bit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A training process; `load_bytes` and `compute_bytes` are per number.

    `trainable` counts parameters that move (of the whole model, not of this process); `targets`
    are the linear modules with an adapter, empty under a full fine-tune; `workspace_bytes` is
    cuBLAS's, inside the torch allocator. `rank`, where known, adds what the adapters' inner
    products keep. `eval_micro` is the rows of an evaluation's pass, 0 where they are `micro`.
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
    world: int
    micro: int
    accumulation: int
    length_tokens: int
    checkpointing: bool
    gpu: bool
    workspace_bytes: int = 0
    eval_micro: int = 0
    stack: Stack = PINNED

    @property
    def tokens(self) -> int:
        """Tokens of one micro-batch, padded to the full length: the worst case."""
        return self.micro * self.length_tokens

    @property
    def fsdp(self) -> bool:
        """Whether the weights are sharded by FSDP, of either version."""
        return self.sharding in ("fsdp1", "fsdp2")

    @property
    def deepspeed(self) -> bool:
        """Whether DeepSpeed holds an fp32 master of what is trained."""
        return self.sharding in ("zero1", "zero2", "zero3")

    @property
    def states_on_host(self) -> bool:
        """Whether optimizer states wait in the host's memory, where the optimizer then runs."""
        return self.deepspeed and self.offload != "none"

    @property
    def weights_on_host(self) -> bool:
        """Whether the shards of the weights wait in the host's memory as well."""
        return self.sharding == "zero3" and self.offload == "parameters"

    @property
    def mixed(self) -> bool:
        """Whether fp32 weights compute in 16 bits, by autocast; FSDP casts its shards instead."""
        return self.full and self.compute_bytes < self.load_bytes and not self.fsdp
