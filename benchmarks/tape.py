"""The tensors of training steps in the order of allocation and release, for one process.

Models a Llama-like decoder as transformers runs it. The tensors that each layer keeps are those of
`activations.py`; temporary ones follow the modeling code. The order decides what the allocator can
reuse.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.heap import Block, Heap
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.activations import (
    head_bytes,
    layer_bytes,
    mlp_width,
    recompute_bytes,
    residual_bytes,
)
from ftc.compiler.plan.memory.passes import reference_bytes
from ftc.compiler.plan.memory.states import moment_bytes, step_copies, trained_bytes
from ftc.compiler.plan.memory.weights import base_weights

_FP32, _INT64 = 4, 8
_STEPS = 2  # optimizer states appear in the first step; all later steps are like the second


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor of a layer's forward pass: its bytes, and how many later tensors it outlives.

    A `kept` tensor stays until the backward pass, if there is one.
    """

    size: int
    life: int
    kept: bool = False


def read_layer(job: Job) -> tuple[Tensor, ...]:
    """Return the tensors of one layer's forward pass; the kept ones add up to `layer_bytes`."""
    left = layer_bytes(job) * job.tokens
    found = []
    for tensor in _llama(job):
        if not tensor.kept:
            found.append(tensor)
        elif left:
            found.append(Tensor(size=min(tensor.size, left), life=tensor.life, kept=True))
            left -= found[-1].size
    if left:
        found.append(Tensor(size=left, life=1, kept=True))
    return tuple(tensor for tensor in found if tensor.size)


def _llama(job: Job) -> Iterator[Tensor]:
    """Yield a Llama layer's tensors: norm, projections, rotation, attention; norm and MLP."""
    shape, width, tokens = job.shape, job.compute_bytes, job.tokens
    hidden, wide = width * shape.hidden * tokens, width * mlp_width(job) * tokens
    query = width * shape.heads * shape.head_dim * tokens
    key = width * shape.kv_heads * shape.head_dim * tokens
    yield from _norm(job)
    for name, size in (("q_proj", query), ("k_proj", key), ("v_proj", key)):
        yield from _linear(job, name, size, life=12)
    for size in (query, key):  # rotated halves, two products, and the sum that is kept
        yield Tensor(size=size, life=2)
        yield Tensor(size=size, life=2)
        yield Tensor(size=size, life=1)
        yield Tensor(size=size, life=6, kept=True)
    yield Tensor(size=key, life=3, kept=True)
    yield Tensor(size=query, life=4, kept=True)
    yield Tensor(size=_FP32 * shape.heads * tokens, life=1, kept=True)
    yield from _linear(job, "o_proj", hidden, life=1)
    yield Tensor(size=hidden, life=24)
    yield from _norm(job)
    yield from _linear(job, "gate_proj", wide, life=10, kept=True)
    yield Tensor(size=wide, life=8, kept=True)
    yield from _linear(job, "up_proj", wide, life=3, kept=True)
    yield Tensor(size=wide, life=4, kept=job.full)
    yield from _linear(job, "down_proj", hidden, life=1)


def _norm(job: Job) -> Iterator[Tensor]:
    """Yield a norm's fp32 input, its square and its scaled copy, and its 16-bit result."""
    hidden = job.shape.hidden * job.tokens
    if job.stack.fused_norms:
        yield Tensor(size=2 * _FP32 * job.tokens, life=1, kept=True)
    else:
        yield Tensor(size=_FP32 * hidden, life=3, kept=True)
        yield Tensor(size=_FP32 * hidden, life=1)
        yield Tensor(size=_FP32 * hidden, life=1)
        yield Tensor(size=job.compute_bytes * hidden, life=1, kept=job.full)
    yield Tensor(size=job.compute_bytes * hidden, life=14)


def _linear(job: Job, name: str, size: int, *, life: int, kept: bool = False) -> Iterator[Tensor]:
    """Yield a linear module's output, its dequantized weight, and its adapter's tensors."""
    kind = job.shape.linear_shapes.get(name)
    if kind is not None and job.storage != "plain":
        yield Tensor(size=kind.in_features * kind.out_features * job.compute_bytes, life=1)
    if kind is None or name not in job.targets:
        yield Tensor(size=size, life=life, kept=kept)
        return
    yield Tensor(size=size, life=5)
    wide = max(job.stack.adapter_input_bytes, job.compute_bytes)
    yield Tensor(size=kind.in_features * wide * job.tokens, life=2, kept=True)
    yield Tensor(size=job.rank * wide * job.tokens, life=1, kept=True)
    for _ in ("the product", "scaled", "added"):
        yield Tensor(size=size * wide // job.compute_bytes, life=1)
    yield Tensor(size=size, life=life, kept=kept)


def replay(
    job: Job,
    *,
    expandable: bool,
    capacity_bytes: int | None = None,
    lengths: Sequence[int] = (),
    losses: Heap | None = None,
) -> Heap:
    """Return the allocator's state after some optimizer steps of a job on one device.

    Two steps of rows at full length, or one step for each of `lengths` (tokens per row). With
    `losses` whole logits are in that heap, apart from all other tensors.
    """
    heap = Heap(expandable=expandable, capacity_bytes=capacity_bytes)
    trained = _load(heap, job)
    states = _spread(moment_bytes(job, trained_bytes(job)), trained)
    for length in lengths or (job.length_tokens,) * _STEPS:
        rows = job if length == job.length_tokens else replace(job, length_tokens=length)
        layer, gradients = read_layer(rows), list[Block]()
        for _ in range(min(job.accumulation, _STEPS)):
            _pass(heap, rows, layer, gradients, losses or heap)
        _take(heap, states)
        states = []  # allocated in the first step
        _give(heap, _take(heap, _spread(step_copies(job), trained)))
        _give(heap, gradients)
    return heap


def _load(heap: Heap, job: Job) -> list[int]:
    """Allocate weights, a tensor per matrix; return the numbers of those that are trained."""
    shape, base = job.shape, base_weights(job)
    matrices = _matrices(job)
    whole = shape.parameters * job.load_bytes
    if not job.full:
        whole = base.shared_bytes + base.whole_bytes
    whole += reference_bytes(job)
    outside = (shape.embedding_parameters + shape.head_parameters) * job.load_bytes
    inside = max(0, whole - outside) // shape.layers
    parts = _spread(inside, matrices) or [inside]
    rounding = max(matrices, default=0) * job.load_bytes if job.storage != "plain" else 0
    _take(heap, (shape.embedding_parameters * job.load_bytes,))
    for _ in range(shape.layers):
        for part in parts:
            scratch = _take(heap, (rounding,))
            _take(heap, (part,))
            _give(heap, scratch)
    _take(heap, (shape.head_parameters * job.load_bytes, job.workspace_bytes))
    if job.full:
        return [*matrices * shape.layers, shape.embedding_parameters, shape.head_parameters]
    adapters = _adapters(job) * shape.layers
    _take(heap, (size * trained_bytes(job) for size in adapters))
    return adapters


def _matrices(job: Job) -> list[int]:
    """Return the numbers in each linear matrix of one layer."""
    return [kind.in_features * kind.out_features for kind in job.shape.linear_shapes.values()]


def _adapters(job: Job) -> list[int]:
    """Return the numbers in each adapter matrix of one layer."""
    kinds = [job.shape.linear_shapes[name] for name in job.targets]
    return [side * job.rank for kind in kinds for side in (kind.in_features, kind.out_features)]


def _pass(
    heap: Heap, job: Job, layer: tuple[Tensor, ...], gradients: list[Block], losses: Heap
) -> None:
    """Run one micro-batch forward and backward; the first of a step makes the gradients."""
    tokens, width, fresh = job.tokens, trained_bytes(job), not gradients
    residual = residual_bytes(job) * tokens
    batch = _take(heap, (_INT64 * tokens,) * 3)
    inputs, kept = _take(heap, (residual,)), []
    for _ in range(job.shape.layers):
        kept.append(_forward(heap, layer, keep=not job.checkpointing))
        inputs += _take(heap, (residual,))
    _loss(heap, job, losses)
    if fresh and job.full:
        gradients += _take(heap, (job.shape.head_parameters * width,))
    flowing = _take(heap, (residual,))
    for _ in range(job.shape.layers):
        _give(heap, (inputs.pop(),))
        saved = kept.pop() or _forward(heap, layer, keep=True)
        flowing, made = _backward(heap, job, flowing, saved, fresh=fresh)
        gradients += made
    if fresh and job.full:
        gradients += _take(heap, (job.shape.embedding_parameters * width,))
    _give(heap, (*flowing, *inputs, *batch))


def _forward(heap: Heap, layer: tuple[Tensor, ...], *, keep: bool) -> list[Block]:
    """Run one layer; without `keep`, as with checkpointing, no tensor is kept."""
    saved: list[Block] = []
    due: dict[int, list[Block]] = defaultdict(list)
    for place, tensor in enumerate(layer):
        block = heap.take(tensor.size)
        if keep and tensor.kept:
            saved.append(block)
        else:
            due[place + tensor.life].append(block)
        _give(heap, due.pop(place, ()))
    for blocks in due.values():
        _give(heap, blocks)
    return saved


def _backward(
    heap: Heap, job: Job, flowing: list[Block], saved: list[Block], *, fresh: bool
) -> tuple[list[Block], list[Block]]:
    """Run one layer's backward pass; return the gradient that is passed on, and those that stay."""
    tokens, hidden = job.tokens, job.compute_bytes * job.shape.hidden
    third = max(0, recompute_bytes(job) - 2 * hidden) // 3
    largest = max(_matrices(job), default=0) if job.storage != "plain" else 0
    temporary = _take(heap, (hidden * tokens, third * tokens))
    _give(heap, _take(heap, (largest * job.compute_bytes,)))
    temporary += _take(heap, (third * tokens, third * tokens))
    numbers = _matrices(job) if job.full else _adapters(job)
    made = _take(heap, (size * trained_bytes(job) for size in numbers)) if fresh else []
    temporary += _take(heap, (hidden * tokens,))
    _give(heap, temporary[1:])
    onward = _take(heap, (residual_bytes(job) * tokens,))
    _give(heap, (temporary[0], *flowing, *saved))
    return onward, made


def _loss(heap: Heap, job: Job, losses: Heap) -> None:
    """Compute the loss and the gradient of the last hidden state."""
    whole, copies = head_bytes(job, training=True), job.stack.hidden_copies
    hidden = min(whole, job.tokens * copies * job.compute_bytes * job.shape.hidden)
    kept = _take(heap, (hidden // max(1, copies),) * copies)
    rest = whole - hidden
    if rest < _FP32 * job.tokens * job.shape.vocab:  # no logits, or a tile of them at a time
        _give(heap, _take(heap, (rest // 2, rest - rest // 2)))
    else:
        _logits(losses, job, wide=max(2, rest // (_FP32 * job.tokens * job.shape.vocab)), kept=rest)
    _give(heap, kept)


def _logits(heap: Heap, job: Job, *, wide: int, kept: int) -> None:
    """Run a loss with so many fp32 matrices of whole logits; `kept` are the bytes of its peak.

    transformers' `ForCausalLMLoss`: 16-bit logits, all in fp32, then without each row's last, whose
    log-softmax the backward pass needs. A fused kernel (two matrices) writes its gradient over the
    logits.
    """
    words = job.tokens * job.shape.vocab
    shifted = min(kept - _FP32 * words, _FP32 * (job.tokens - job.sequences) * job.shape.vocab)
    narrow = _take(heap, (2 * words,))
    first = _take(heap, (_FP32 * words,))
    if kept % (_FP32 * words) == 0:  # the 16-bit logits are freed once they are fp32
        _give(heap, narrow)
        narrow = []
    *later, result = _take(heap, (shifted,) * (wide - 1))
    _give(heap, (*first, *later, *narrow))
    if later:
        chosen = _take(heap, (shifted,))
        gradient = _take(heap, (shifted,))
        _give(heap, (*chosen, result))
        [result] = gradient
    whole = _take(heap, (_FP32 * words,))
    _give(heap, (result,))
    back = _take(heap, (2 * words,))
    _give(heap, whole)
    _give(heap, back)


def _spread(total: int, sizes: list[int]) -> list[int]:
    """Divide bytes among tensors in proportion to their sizes."""
    whole = sum(sizes)
    return [total * size // whole for size in sizes] if whole else []


def _take(heap: Heap, sizes: Iterable[int]) -> list[Block]:
    return [heap.take(size) for size in sizes if size > 0]


def _give(heap: Heap, blocks: Iterable[Block]) -> None:
    for block in blocks:
        heap.give(block)
