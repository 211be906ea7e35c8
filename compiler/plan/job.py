"""One process of a run: everything that determines its memory."""

from dataclasses import dataclass
from typing import Literal

from ftc.compiler.knowledge.architectures.architecture import Shape
from ftc.compiler.knowledge.objectives import OBJECTIVES, gives_vectors
from ftc.compiler.plan.plan import Recomputing, Sharding
from ftc.compiler.plan.sight import Sight
from ftc.compiler.plan.software import PINNED, Stack
from ftc.spec.sections import Attention, ObjectiveType, Offload, Vllm

# How a frozen base is stored; "int8" is bitsandbytes' LLM.int8. GPTQ is here for published runs; no
# spec can ask for it ("gptq-4" has a scale per 128 weights, "gptq-4-row" one per output).
Storage = Literal["plain", "int8", "nf4", "nf4-double", "gptq-4", "gptq-4-row"]
# FSDP1 is here for published runs; `fsdp` of a spec is FSDP2.
Sharing = Sharding | Literal["fsdp1"]
# What they keep is in `memory/states.py`, with the names that the pinned Trainer has for them.
Optimizer = Literal[
    "adamw", "adamw-8bit", "paged-adamw", "paged-adamw-8bit", "lion", "lion-8bit", "paged-lion",
    "paged-lion-8bit", "adafactor", "sgd",
]  # fmt: skip
# Where the reference's log-probabilities come from: none are needed; a second, frozen model; the
# base with its adapter switched off; they are computed before training.
Reference = Literal["none", "copy", "adapter_off", "precomputed"]

# Objectives that compare two texts of a row: they are one batch of twice the rows.


@dataclass(frozen=True, slots=True, kw_only=True)
class Teacher:
    """The frozen model of a distillation, whole on every process; `load_bytes` are per number.

    `beta` selects the divergence from it.
    """

    shape: Shape
    load_bytes: int
    storage: Storage = "plain"
    beta: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A training process. `load_bytes` and `compute_bytes` are the bytes per number.

    `frozen_bytes` are those of frozen layers where they have another width than trained ones.
    `file_bytes` are those in the model's files. `trainable` counts the trained parameters of the
    whole model. `targets` are the linear modules with an adapter, empty under a full fine-tune.
    `rank`, if known, adds the inner products of the adapters. `adapts_experts` says whether fused
    experts have adapters as well. `frozen_layers` are the layers before the first trained weight,
    which have no backward pass. `saved_parameters` of `trainable` are trained whole beside an
    adapter, as copies of the base's (`modules_to_save`). `trained_tokens` are the trained rows of
    an embedding that is otherwise frozen. `trains_embedding` and `trains_head` say whether the
    embedding and the output head are trained whole; None means that they are if `full`.

    `length_tokens` is the length of one sequence: prompt and answer, the longer of a pair, a packed
    row. `packed` says that rows are joined, `even` that all are equally long. `answer_tokens` of a
    sequence are generated, under GRPO, RLOO and distillation. `eval_micro` are the rows per pass of
    an evaluation, 0 for `micro`; `eval_length_tokens` is their length, 0 for `length_tokens`, as
    packed rows are longer. `attended_tokens` is the length of the row of a mean token, 0 for
    `length_tokens`. `written_rows` are answered at once in an evaluation (0 for none), of at most
    `written_length_tokens` with their answers. `engine` generates the answers. `smoothed` says
    whether the loss has label smoothing, `scored_pairs` whether it compares the vectors of one pass
    only. `texts` are those of a row that an embedding model reads, or the pairs of a reranker,
    `vector_numbers` the numbers of a text's vectors of all sizes, where several are trained.
    `teacher` is the model whose probabilities are learned, under distillation.

    `world` counts the processes of all `nodes`. `nvme` says whether offloaded states are on a disk.
    `workspace_bytes` is that of cuBLAS, inside torch's allocator. `sight` is what the tower sees of
    images; its trained weights are among `trainable`.
    """

    shape: Shape
    full: bool
    trainable: int
    targets: tuple[str, ...] = ()
    rank: int = 0
    dropout: float = 0.0
    dora: bool = False
    adapts_experts: bool = False
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
    packed: bool = False
    even: bool = False
    checkpointing: Recomputing
    gpu: bool
    workspace_bytes: int = 0
    eval_micro: int = 0
    eval_length_tokens: int = 0
    attended_tokens: float = 0.0
    written_rows: int = 0
    written_length_tokens: int = 0
    objective: ObjectiveType = "sft"
    reference: Reference = "none"
    smoothed: bool = False
    texts: int | None = None
    vector_numbers: int = 0
    scored_pairs: bool = False
    answer_tokens: int = 0
    tool_rounds: int = 0
    teacher: Teacher | None = None
    engine: Vllm = "off"
    frozen_layers: int = 0
    saved_parameters: int = 0
    trained_tokens: int = 0
    trains_embedding: bool | None = None
    trains_head: bool | None = None
    frozen_bytes: int | None = None
    file_bytes: int = 2
    sight: Sight | None = None
    stack: Stack = PINNED

    @property
    def row_sequences(self) -> int:
        """Sequences of one row that go through the model, such as both of a pair."""
        return self.texts or OBJECTIVES[self.objective].sequences

    @property
    def passed_sequences(self) -> int:
        """Sequences of one row that go through the model at once.

        An embedding model reads one column of texts after the other, whatever their number.
        """
        if not self.texts or gives_vectors(self.objective):
            return OBJECTIVES[self.objective].sequences
        return self.texts

    @property
    def sequences(self) -> int:
        """Sequences of one micro-batch."""
        return self.micro * self.passed_sequences

    @property
    def masked(self) -> bool:
        """Whether attention gets a mask: of packed rows, or of the padding of several rows."""
        return self.packed or (self.sequences > 1 and not self.even)

    @property
    def windowed(self) -> bool:
        """Whether rows are as long as a window of attention, which then takes a mask by itself."""
        window = self.shape.window_tokens
        return bool(window) and self.length_tokens >= window

    @property
    def tokens(self) -> int:
        """Tokens of one micro-batch, padded to the full length: the worst case."""
        return self.sequences * self.length_tokens

    @property
    def backward_layers(self) -> int:
        """Layers with a backward pass, from the last to the first trained one."""
        return self.shape.layers - self.frozen_layers

    @property
    def recomputed_layers(self) -> int:
        """Layers with a backward pass whose activations are recomputed in it.

        transformers' `_set_gradient_checkpointing` takes every n-th layer, the first one included.
        """
        if isinstance(self.checkpointing, bool):
            return self.backward_layers if self.checkpointing else 0
        every = self.every_layers
        return -(-self.shape.layers // every) - -(-self.frozen_layers // every)

    @property
    def stored_layers(self) -> int:
        """Layers with a backward pass that keep their activations for it."""
        return self.backward_layers - self.recomputed_layers

    @property
    def freed_layers(self) -> int:
        """Stored layers after the last recomputed one, whose backward pass comes first."""
        partly = not isinstance(self.checkpointing, bool)
        return (self.shape.layers - 1) % self.every_layers if partly else 0

    @property
    def recomputed_share(self) -> float:
        """The recomputed layers' share of those with a backward pass."""
        if isinstance(self.checkpointing, bool):
            return float(self.checkpointing)
        return self.recomputed_layers / max(1, self.backward_layers)

    @property
    def every_layers(self) -> int:
        """The interval of recomputed layers, if activations are recomputed."""
        partial = not isinstance(self.checkpointing, bool | str)
        return int(self.checkpointing) if partial else 1

    @property
    def inputs_on_host(self) -> bool:
        """Whether the inputs of recomputed layers are kept in the host's memory."""
        return self.checkpointing == "offload"

    @property
    def head_moves(self) -> bool:
        """Whether the output head is trained."""
        return self.full if self.trains_head is None else self.trains_head

    @property
    def embedding_moves(self) -> bool:
        """Whether the embedding is trained whole."""
        return self.full if self.trains_embedding is None else self.trains_embedding

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
        """Whether DeepSpeed keeps an fp32 master of the trained weights."""
        return self.sharding in ("zero1", "zero2", "zero3")

    @property
    def states_on_host(self) -> bool:
        """Whether optimizer states are offloaded to the host, where the optimizer then runs."""
        return self.weights_on_host or (self.deepspeed and self.offload != "none")

    @property
    def swaps(self) -> bool:
        """Whether offloaded states are in files of a local disk, with buffers on the host."""
        return self.nvme and self.sharding == "zero3" and self.states_on_host

    @property
    def weights_on_host(self) -> bool:
        """Whether the shards of the weights are offloaded to the host as well."""
        return self.sharding in ("zero3", "fsdp") and self.offload == "parameters"

    @property
    def gathers(self) -> bool:
        """Whether each process has a share of the weights, and gathers them layer by layer."""
        return self.sharding == "zero3" or self.fsdp

    @property
    def halved(self) -> bool:
        """Whether layers that are not trained are kept in 16 bits, and with them the residuals."""
        return self.frozen_bytes is not None

    @property
    def mixed(self) -> bool:
        """Whether autocast computes in 16 bits with fp32 weights; FSDP casts its shards instead."""
        return self.full and self.compute_bytes < self.load_bytes and not self.fsdp
