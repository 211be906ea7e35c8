"""One process's share of a run: everything that its memory follows from."""

from dataclasses import dataclass

from ftc.compiler.knowledge.architecture import Shape
from ftc.compiler.plan.plan import Sharding
from ftc.compiler.plan.stack import PINNED, Stack
from ftc.spec.sections import Attention


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A training process; `load_bytes` and `compute_bytes` are per number.

    `trainable` counts parameters that move (of the whole model, not of this process); `targets`
    are the linear modules with an adapter, empty under a full fine-tune; `workspace_bytes` is
    cuBLAS's, inside the torch allocator.
    """

    shape: Shape
    full: bool
    trainable: int
    targets: tuple[str, ...] = ()
    dropout: float = 0.0
    load_bytes: int
    compute_bytes: int
    attention: Attention
    sharding: Sharding
    world: int
    micro: int
    accumulation: int
    length_tokens: int
    checkpointing: bool
    gpu: bool
    workspace_bytes: int = 0
    stack: Stack = PINNED

    @property
    def tokens(self) -> int:
        """Tokens of one micro-batch, padded to the full length: the worst case."""
        return self.micro * self.length_tokens
