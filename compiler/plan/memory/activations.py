"""Bytes that the layers, the loss and generated answers keep on the device.

What a layer keeps for its backward pass is per token; an architecture that is not Llama-like keeps
more.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from ftc.compiler.knowledge.architectures.architecture import Shape
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.adapters import adapter_bytes, adapter_casts
from ftc.compiler.plan.memory.attention import (
    attention_bytes,
    layer_table,
    saves_attention,
    window_bytes,
)
from ftc.compiler.plan.memory.passes import loss_of, whole_bytes

# For layers of a class that was not traced, without and with a state space among them: they cover
# nine in ten of the classes that were (`python -m benchmarks.tensor_shapes`).
_WIDE_MARGIN, _WIDE_STATE_MARGIN = 2.5, 12.0
_STATES = frozenset({"linear_attention", "state_space", "parallel"})
_HALF = 2  # the width that the table was measured in
_INDEX = 8  # int64
# Per element in fp32: PyTorch's log-sum-exp of an attention head, RMSNorm's upcast input.
_FP32 = 4
_ENGINE_BYTES = 2 * 1024**3  # vLLM's CUDA graphs and the activations of a pass
_TOKEN_TILE = 4096  # trl/kernels/chunked_logprob.py, TOKEN_CHUNK_SIZE
_VOCABULARY_TILE = 32768  # trl/trainer/utils.py, _CHUNKED_LOGPROB_CHUNK_SIZE
_HEAD_STATISTICS_BYTES = 40  # fp32 running sums of the fused head, per token
_CHUNK_TOKENS = 128  # LitGPT's lm_head_chunk_size for LoRA
_PASS_SECONDS, _LAYER_SECONDS = 0.0025, 0.0005  # Python's floor of a forward pass: `roofline.py`


def layer_bytes(job: Job) -> int:
    """Return the bytes that the most expensive decoder layer saves per token, not recomputed."""
    side = 0 if job.full else 1
    most = formula_bytes(job, max(pair[side] for pair in layer_margins(job.shape)))
    return most + window_bytes(job)


def stored_bytes(job: Job, layer: int) -> int:
    """Return the bytes per token that layers keep for their backward pass, if not recomputed.

    `layer` is what the most expensive one keeps, and so each of them where all are equal.
    """
    every = job.every_layers
    without = job.stored_layers * (job.shape.layers - job.shape.window_layers) // job.shape.layers
    if not job.stored_layers or not job.shape.order:
        return job.stored_layers * layer - without * window_bytes(job)
    stored = range(job.frozen_layers, job.shape.layers)
    numbers = [n for n in stored if not job.recomputed_layers or n % every]
    return _sum_layers(job, numbers) + (job.stored_layers - without) * window_bytes(job)


def mean_layer_bytes(job: Job) -> float:
    """Return the bytes that a decoder layer saves per token, not recomputed, on average."""
    shape = job.shape
    if not shape.order:
        without = shape.layers - shape.window_layers
        return layer_bytes(job) - without * window_bytes(job) / shape.layers
    whole = _sum_layers(job, range(shape.layers)) + shape.window_layers * window_bytes(job)
    return whole / shape.layers


def _sum_layers(job: Job, numbers: Sequence[int]) -> int:
    """Return the bytes that the layers of these numbers save per token, not recomputed."""
    side, margins = 0 if job.full else 1, layer_margins(job.shape)
    counts = Counter(job.shape.order[number] for number in numbers)
    return sum(count * formula_bytes(job, margins[kind][side]) for kind, count in counts.items())


def formula_bytes(job: Job, times: float) -> int:
    """Return the bytes that a decoder layer saves per token, whose margin is `times`.

    Source: reading of transformers' Llama-like modeling code, checked against published peaks (see
    `benchmarks/memory.md`). Two norms keep an fp32 input each (a fused one only the second input,
    since the first is the layer's own); a trained norm also keeps its normalised input, a trained
    linear its input; attention keeps q, k, v, the output and the log-sum-exp; a gated MLP keeps
    gate, activation and up, and their product.
    """
    shape, width = job.shape, job.compute_bytes
    if job.stack.fused_norms:
        norms = width * shape.hidden + 2 * _FP32
    else:
        wide = shape.norm == "rms" and not job.stack.narrow_norms
        norms = 2 * (_FP32 if wide else width) * shape.hidden
    if job.full:
        norms += (1 if job.stack.fused_norms else 2) * 2 * width * shape.hidden
        norms += _autocast_bytes(job)
    inner = mlp_width(job)
    mlp = (2 if job.stack.fused_mlp else 3 if shape.gated_mlp else 2) * width * inner
    mlp += product_bytes(job)
    extra = _routed_bytes(job) if _looped(job) else extra_bytes(job, inner)
    router = 0 if _looped(job) else router_bytes(job)
    if (
        job.mixed and shape.experts
    ):  # fused experts are no linear modules: autocast leaves them fp32
        mlp, extra = 2 * mlp, 2 * extra
    kept = norms + attention_bytes(job) + mlp + extra + router
    return round(times * kept) + adapter_bytes(job) + _input_bytes(job)


def layer_margins(shape: Shape) -> tuple[tuple[float, float], ...]:
    """Return how often a layer keeps what the formula says: with trained and with frozen weights.

    There is a pair for each kind of layer, and one where all are equal. It is 1 for the classes
    that the formula describes. For a class derived from transformers it is what the layers of the
    kind kept in a trace of a miniature (`layer_margins.json`, a column for trained and one for
    frozen weights), with the plain operations that stand in for the kernels of a state space; that
    of its most expensive layer for a kind that the miniature lacks; and a wide margin where no
    trace was made, or no table has the class.
    """
    kinds = [f"{kind.mixer}/{kind.mlp}" for kind in shape.kinds] or [""]
    if is_described(shape.architecture):
        return ((1, 1),) * len(kinds)
    wide = wide_margin(shape)
    traced = _margins().get(shape.architecture, {"": (wide, wide)})
    most = max(full for full, _ in traced.values()), max(frozen for _, frozen in traced.values())
    return tuple(traced.get(kind, most) for kind in kinds)


def wide_margin(shape: Shape) -> float:
    """Return the margin of the layers of a class that was not traced."""
    has_state = any(kind.mixer in _STATES for kind in shape.kinds)
    return _WIDE_STATE_MARGIN if has_state else _WIDE_MARGIN


def has_margin(architecture: str) -> bool:
    """Return whether a class's layers were traced."""
    return architecture in _margins() or is_described(architecture)


def is_described(architecture: str) -> bool:
    """Return whether the formula has a class's own terms, so that its layers need no margin."""
    return architecture in layer_table()


def _autocast_bytes(job: Job) -> int:
    """Return the bytes that autocast keeps in addition with fp32 weights, per layer and token.

    The residual stream is fp32, and so is what a norm keeps for its weight; each linear that reads
    it makes a 16-bit copy of its own (`benchmarks/trace.py` prints it as "mixed").
    """
    if not job.mixed or job.halved:
        return 0
    shape, width = job.shape, job.compute_bytes
    # all but the attention's and the MLP's last, which read 16 bits
    readers = max(2, len(shape.linear_shapes) - 2) if shape.linear_shapes else 5
    return (2 * (_FP32 - width) + (readers - 2) * width) * shape.hidden


def _input_bytes(job: Job) -> int:
    """Return the inputs that a frozen base in eight bits keeps per layer and token.

    bitsandbytes' `MatMul8bitLt` keeps its input until its backward pass; other frozen linears do
    not. The inputs are the outputs of the two norms and the product of a gated MLP.
    """
    if job.storage != "int8":
        return 0
    product = mlp_width(job) if job.shape.gated_mlp else 0
    return job.compute_bytes * (2 * job.shape.hidden + product)


def product_bytes(job: Job) -> int:
    """Return a gated MLP's product per token, which a trained down projection keeps."""
    if job.full and job.shape.gated_mlp:
        return job.compute_bytes * mlp_width(job)
    return 0


def recompute_bytes(job: Job) -> int:
    """Temporaries of one layer's backward pass, per token: three MLP widths and two hiddens.

    Where the MLP's last linear has an adapter, the most is there before, when the layer's forward
    pass ends: the product, four hiddens and the input's copies (`adapter_casts`).

    Of experts that run one by one, one expert has them at a time, for its share of the tokens. That
    is twice an equal share, since routing is uneven (1.97 from published runs of Mixtral).
    """
    width, shape = mlp_width(job), job.shape
    if _looped(job):
        width = 2 * shape.expert_intermediate * shape.experts_per_token // shape.experts
    backward = job.compute_bytes * (3 * width + 2 * shape.hidden)
    casts = None if _looped(job) else adapter_casts(job, width)
    if casts is None:
        return backward
    forward = job.compute_bytes * (width + 4 * shape.hidden) + casts
    return forward if job.checkpointing else max(forward, backward)


def _looped(job: Job) -> bool:
    return job.stack.looped_experts and job.shape.experts > 0


def _routed_bytes(job: Job) -> int:
    """Return the bytes of routed experts' outputs, and of their inputs if they are trained."""
    copies = 2 if job.full else 1
    return copies * job.shape.experts_per_token * job.compute_bytes * job.shape.hidden


def checkpoint_bytes(job: Job) -> int:
    """Return the bytes that recomputed layers keep per token: inputs, on the device or the host.

    Norms or an embedding in fp32 make the residual stream fp32. Selective recomputing keeps the
    results of attention as well (TRL's `selective_activation_checkpointing.py`): its output and the
    log-sum-exp.
    """
    if job.inputs_on_host:
        return 0
    kept = residual_bytes(job)
    if job.checkpointing == "selective" and saves_attention(job):
        shape = job.shape
        kept += job.compute_bytes * shape.heads * shape.head_dim + _FP32 * shape.heads
    return round(job.recomputed_layers * job.shape.passes * kept)


def input_host_bytes(job: Job) -> int:
    """Return the pinned host memory of a process for the inputs of its recomputed layers."""
    if not job.inputs_on_host:
        return 0
    return round(job.recomputed_layers * job.shape.passes) * residual_bytes(job) * job.tokens


def residual_bytes(job: Job) -> int:
    """Return one layer's input per token: as wide as the embedding, or as a norm that is fp32."""
    wide = job.stack.upcast_norms or (job.mixed and not job.halved)
    wide |= not job.full and job.embedding_moves and job.stack.adapter_bytes == _FP32
    return (_FP32 if wide else job.compute_bytes) * job.shape.hidden


def own_input_bytes(job: Job) -> int:
    """Return the bytes of its input that a layer keeps if not recomputed, beside `layer_bytes`.

    A fused norm keeps it. Autocast's fp32 copies have it already.
    """
    return residual_bytes(job) if job.stack.fused_norms and not job.mixed else 0


def held_bytes(job: Job, layer: int) -> int:
    """Return the bytes that other layers keep per token during the first layer's backward pass.

    Usually that is only the layer's own input. FSDP1 hooks a frozen layer's inputs to reshard it
    after its backward (`_register_post_backward_reshard_only_hook`), and under reentrant
    checkpointing those are leaves with a gradient: both stay until the whole backward is over, so
    every layer's input and all gradients but two (which `recompute_bytes` has) are alive. This is
    what published FSDP runs of LoRA and QLoRA show at 32 and at 80 layers. `layer` is what a whole
    layer keeps (`layer_bytes`).
    """
    if job.sharding == "fsdp1" and not job.full and job.checkpointing:
        return (2 * job.backward_layers - 2) * residual_bytes(job)
    if job.checkpointing:
        return residual_bytes(job)
    return layer


def mlp_width(job: Job) -> int:
    """Return the MLP width of one token: of all experts that it is routed to, and the shared one.

    In a mixture the linear modules of an MLP are the shared expert; routed ones are fused tensors.
    """
    shape = job.shape
    if not shape.experts:
        return shape.intermediate
    routed = shape.experts_per_token * shape.expert_intermediate
    shared = shape.linear_shapes.get("gate_proj")
    if shared is not None:
        return routed + shared.out_features
    return max(shape.intermediate, routed)


def extra_bytes(job: Job, inner: int) -> int:
    """Return the bytes of one layer beyond the Llama-like formula; `inner` is its MLP's width.

    These are norms of query and key, norms after a block, activations that run in fp32. The table
    (`layer_activations.json`) holds bytes per unit of hidden, query, key-value and MLP width, and
    of hidden per routed expert, for trained weights and for frozen ones, traced from transformers'
    own classes in bf16 (`benchmarks/trace.py` holds it; what has no SDPA in its eager form). For a
    wider dtype the bytes are scaled; fp32 parts are then counted twice.
    """
    entry = layer_table().get(job.shape.architecture)
    if entry is None:
        return 0
    shape = job.shape
    query, key = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    sides = (shape.hidden, query, key, inner, shape.experts_per_token * shape.hidden)
    rates = entry["full" if job.full else "frozen"]
    found = sum(rate * side for rate, side in zip(rates, sides, strict=True))
    return round(found * job.compute_bytes / _HALF)


def router_bytes(job: Job) -> int:
    """Return the bytes that a router and sorting tokens by expert keep per layer and token.

    Always in fp32: the softmax over all experts (not in the two classes that take it
    over the chosen ones) and the weights of the chosen ones, before and after they are made to sum
    to one. The choice itself and the orders to and from the experts (transformers' `moe.py`) are
    four indices of 64 bits per chosen expert.
    """
    shape = job.shape
    if not shape.experts:
        return 0
    [per_expert] = layer_table().get(shape.architecture, {}).get("router", [_FP32])
    chosen = 4 * _INDEX + 2 * _FP32
    return round(per_expert * shape.experts + chosen * shape.experts_per_token)


@cache
def _margins() -> Mapping[str, Mapping[str, tuple[float, float]]]:
    path = files("ftc.compiler.plan.memory") / "layer_margins.json"
    return {
        name: {kind: (full, frozen) for kind, (full, frozen) in kinds.items()}
        for name, kinds in json.loads(path.read_text(encoding="utf-8")).items()
    }


def head_bytes(job: Job, *, training: bool) -> int:
    """Return the bytes of the loss: hidden states, and logits, whole or in tiles.

    The fused head keeps one tile of 4,096 tokens x 32,768 entries (`_folded_bytes` on a CPU), an
    fp32 gradient of the hidden states and, when trained, of the whole head. Plain cross-entropy
    keeps `logits_bytes` per token and vocabulary entry. Liger's linear loss
    (`fused_linear_cross_entropy.py`) makes logits of as many tokens as the vocabulary is wider than
    the hidden state, and gradients of input and head at once.
    """
    shape, tokens, width = job.shape, job.tokens, job.compute_bytes
    hidden = tokens * job.stack.hidden_copies * width * shape.hidden
    kind = loss_of(job)
    if kind == "scores":
        return hidden + shortened_bytes(job)
    if kind == "whole":
        head = shape.vocab * shape.hidden * width if job.head_moves and training else 0
        return hidden + tokens * whole_bytes(job) * shape.vocab + head
    if job.stack.loss == "logits":
        return hidden + tokens * job.stack.logits_bytes * shape.vocab
    if job.stack.loss == "linear":
        rows = -(-tokens * shape.hidden // shape.vocab)
        head = shape.vocab * shape.hidden * width if job.head_moves and training else 0
        return hidden + rows * shape.vocab * (width + _FP32) + head
    if job.stack.loss == "chunked":
        # all logits in 16 bits, a chunk of them in fp32 at a time, and their gradient
        chunk = min(tokens, _CHUNK_TOKENS) * shape.vocab * 3 * _FP32
        return hidden + 2 * tokens * width * shape.vocab + chunk
    tile = min(tokens, _TOKEN_TILE) * min(shape.vocab, _VOCABULARY_TILE)
    tiles = tile * (width + (0 if job.gpu else _folded_bytes(training=training)))
    total = hidden + tiles + tokens * _HEAD_STATISTICS_BYTES
    if job.teacher is not None:  # a second tile, and hidden states: `kernels/chunked_divergence.py`
        states = tokens * job.teacher.load_bytes * job.teacher.shape.hidden
        total += states + tiles + tokens * _HEAD_STATISTICS_BYTES
    if training:
        total += tokens * _FP32 * shape.hidden
        total += _FP32 * shape.vocab * shape.hidden if job.head_moves else 0
    return total


def _folded_bytes(*, training: bool) -> int:
    """Return the bytes that TRL's plain torch makes beside each number of a tile, without Triton.

    `chunked_logprob.py`. Backward (`_backward_tile`): the scaled logit, its quotient, the logarithm
    of its probability, the probability, the gradient, a truth value and two temporaries. Forward
    (`_forward_tile`): the quotient, a truth value, the exponential and a product.
    """
    return 7 * _FP32 + 1 if training else 3 * _FP32 + 1


def shortened_bytes(job: Job) -> int:
    """Return the bytes of vectors of several sizes (sentence-transformers' `MatryoshkaLoss`).

    Each size of each vector of a step is there in fp32 as the cut one, a copy without its history
    and a gradient.
    """
    rows = job.micro if job.scored_pairs else job.micro * job.accumulation
    return 3 * _FP32 * job.vector_numbers * rows * job.row_sequences


def generated_rows(job: Job) -> int:
    """Return how many answers a process generates at a time: those of an optimizer step.

    TRL 1.16 (`GRPOConfig.generation_batch_size`): micro-batch x passes per step.
    """
    return job.micro * job.accumulation if job.answer_tokens else 0


def cache_bytes(job: Job) -> int:
    """Return the bytes of keys and values of all rows at full length; one layer's count twice.

    transformers' `DynamicCache` joins each new token to a layer's cache (`torch.cat`). `generate`
    runs outside autocast, in the weights' own dtype. After the result of a tool TRL generates as
    many tokens again as a whole answer has, and cuts what is too long.
    """
    tokens = job.length_tokens + (job.answer_tokens if job.tool_rounds else 0)
    return generated_rows(job) * tokens * token_cache_bytes(job)


def token_cache_bytes(job: Job) -> int:
    """Return the bytes of what all layers cache of a token, the largest of them twice."""
    numbers = job.shape.cached_numbers()
    numbers += job.shape.most_cached() if numbers else 0
    return numbers * job.load_bytes


def engine_weights(job: Job) -> int:
    """Return the bytes of vLLM's own copy of the weights, which it holds in 16 bits."""
    return _HALF * job.shape.parameters


def engine_cache_bytes(job: Job) -> int:
    """Return the bytes of the keys and values in vLLM's blocks: of all answers of a step.

    A server generates those of all processes.
    """
    shape = job.shape
    rows = generated_rows(job) * (job.world if job.engine == "server" else 1)
    return rows * shape.cached_numbers() * _HALF * job.length_tokens


def engine_bytes(job: Job) -> int:
    """Return the bytes that vLLM needs of a GPU: weights, keys and values, logits, and graphs.

    `_ENGINE_BYTES` is an allowance and not measured.
    """
    logits = generated_rows(job) * job.shape.vocab * (_HALF + _FP32)
    return engine_weights(job) + engine_cache_bytes(job) + logits + _ENGINE_BYTES


def sampling_bytes(job: Job) -> int:
    """Return the bytes of all rows' last logits, with an fp32 copy and probabilities."""
    return generated_rows(job) * word_bytes(job)


def word_bytes(job: Job) -> int:
    """Return the bytes of one token's logits, with an fp32 copy and probabilities."""
    return job.shape.vocab * (job.load_bytes + 2 * _FP32)


def prefill_tokens(job: Job) -> int:
    """Return the tokens that go through the model at once before it generates: the prompts'.

    After the result of a tool all tokens up to there are read again.
    """
    answered = 0 if job.tool_rounds else job.answer_tokens
    return generated_rows(job) * (job.length_tokens - answered)


def token_seconds(job: Job, *, rate: float, bytes_per_second: float) -> float:
    """Return the seconds of one more token of every row.

    The largest of three times: reading all weights and on average half of the cache; computing the
    products; launching the kernels.
    """
    reading = job.shape.parameters * job.load_bytes + cache_bytes(job) / 2
    computing = 2 * generated_rows(job) * job.shape.parameters / rate
    launching = _PASS_SECONDS + _LAYER_SECONDS * job.shape.layers
    return max(reading / bytes_per_second, computing, launching)
