"""Bytes per token that a layer keeps for its backward pass."""

from ftc.compiler.knowledge.architecture import repeats_keys
from ftc.compiler.plan.extras import extra_bytes, router_bytes, score_bytes
from ftc.compiler.plan.job import Job

# Per element in fp32: PyTorch's log-sum-exp of an attention head, RMSNorm's upcast input.
_FP32 = 4


def layer_bytes(job: Job) -> int:
    """Return what one decoder layer saves per token without checkpointing.

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
    kept = norms + _attention_bytes(job) + mlp + extra + router
    return kept + _adapter_bytes(job) + _input_bytes(job)


def _autocast_bytes(job: Job) -> int:
    """Return what fp32 weights under autocast keep more, per layer and token.

    The residual stream is fp32, and so is what a norm keeps for its weight; each linear that reads
    it makes a 16-bit copy of its own (`benchmarks/trace.py` prints it as "mixed").
    """
    if not job.mixed:
        return 0
    shape, width = job.shape, job.compute_bytes
    # all but the attention's and the MLP's last, which read 16 bits
    readers = max(2, len(shape.linear_shapes) - 2) if shape.linear_shapes else 5
    return (2 * (_FP32 - width) + (readers - 2) * width) * shape.hidden


def _input_bytes(job: Job) -> int:
    """Return the inputs that a frozen base in eight bits keeps per layer and token.

    bitsandbytes' `MatMul8bitLt` holds its input until its backward pass, which other frozen linears
    have no use for: the two norms' outputs and a gated MLP's product.
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
    """Gradient temporaries of one layer's backward, per token: three MLP widths, two hiddens.

    Experts that run one by one have those of one expert, and that one's share of the tokens: twice
    a fair share, since routing is uneven (the published slope of Mixtral over Mistral says 1.97).
    """
    width, shape = mlp_width(job), job.shape
    if _looped(job):
        width = 2 * shape.expert_intermediate * shape.experts_per_token // shape.experts
    return job.compute_bytes * (3 * width + 2 * shape.hidden)


def _looped(job: Job) -> bool:
    return job.stack.looped_experts and job.shape.experts > 0


def _routed_bytes(job: Job) -> int:
    """Return each routed expert's output, kept to weigh it; its input too where it is trained."""
    copies = 2 if job.full else 1
    return copies * job.shape.experts_per_token * job.compute_bytes * job.shape.hidden


def checkpoint_bytes(job: Job) -> int:
    """Return what checkpointing keeps of all layers per token: each layer's input.

    Norms or an embedding in fp32 make the residual stream fp32 too.
    """
    return job.backward_layers * residual_bytes(job)


def residual_bytes(job: Job) -> int:
    """Return one layer's input per token: as wide as the embedding, or as a norm that is fp32."""
    wide = job.stack.upcast_norms or job.mixed
    wide |= job.saves_embedding and job.stack.adapter_bytes == _FP32
    return (_FP32 if wide else job.compute_bytes) * job.shape.hidden


def held_bytes(job: Job, layer: int) -> int:
    """Return what is kept of other layers per token while the first layer's backward runs.

    Usually nothing but that layer's own input. FSDP1 hooks a frozen layer's inputs to reshard it
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
    """Return the MLP width that one token sees: all experts that it is routed to or that all share.

    A mixture's linear modules of an MLP are its shared expert (the routed ones are fused tensors).
    """
    shape = job.shape
    if not shape.experts:
        return shape.intermediate
    routed = shape.experts_per_token * shape.expert_intermediate
    shared = shape.linear_shapes.get("gate_proj")
    if shared is not None:
        return routed + shared.out_features
    return max(shape.intermediate, routed)


def _attention_bytes(job: Job) -> int:
    """Query, key, value, output and log-sum-exp; more where the kernel needs copies."""
    shape, width = job.shape, job.compute_bytes
    if job.attention == "sdpa" and not repeats_keys(shape.architecture):
        return _plain_attention_bytes(job)
    query, key = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    kept = width * (2 * query + 2 * key) + _FP32 * shape.heads
    if job.stack.attention_copies:
        kept += width * (query + 2 * key)
    if job.stack.joint_projections and query == key:  # the value is a view of all three
        kept += width * (query + key)
    if job.attention == "flash_attention_2":
        return kept
    # A padding mask rules out grouped queries in SDPA: keys and values are repeated per head.
    repeated = width * 2 * (query - key)
    if job.attention == "eager":  # the matrix of scores
        return kept + repeated + shape.heads * job.length_tokens * score_bytes(job)
    return kept + repeated + width * query


def _plain_attention_bytes(job: Job) -> int:
    """Return what SDPA keeps where no fused kernel takes its heads (`repeats_keys`).

    PyTorch then computes in fp32 whatever the inputs are (`_scaled_dot_product_attention_math`):
    query, key, value and the softmax of every score. From two rows on its products copy key and
    value for every query head, where one row's are views. The output is kept for a trained
    projection.
    """
    shape = job.shape
    query, key = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    shared = key if job.micro == 1 else query
    kept = _FP32 * (query + 2 * shared + shape.heads * job.length_tokens)
    return kept + (job.compute_bytes * query if job.full else 0)


def _shared_bytes(job: Job, wide: int) -> int:
    """Return what one adapter of query, key and value keeps less than three.

    They share their input. Where not all three have one, its product is put in place by
    `index_copy_`, which keeps it.
    """
    names = [name for name in job.targets if name in ("q_proj", "k_proj", "v_proj")]
    each = job.shape.hidden * (wide + (1 if job.dropout else 0))
    placed = sum(job.shape.linear_shapes[name].out_features for name in names)
    kept = job.compute_bytes * placed if len(names) in (1, 2) else 0
    return each * max(0, len(names) - 1) - kept


def _adapter_bytes(job: Job) -> int:
    """Return each adapted module's input in the adapter's dtype, and a byte of dropout mask.

    One fused function for the query, key and value projections shares their input and recomputes
    the inner products. DoRA (PEFT `DoraLinearLayer`) keeps the outputs of base and adapter, each to
    scale it.
    """
    shapes = [job.shape.linear_shapes[name] for name in job.targets]
    wide = max(job.stack.adapter_input_bytes, job.compute_bytes)
    kept = sum(kind.in_features for kind in shapes) * (wide + (1 if job.dropout else 0))
    if job.dora:
        kept += 2 * sum(kind.out_features for kind in shapes) * job.compute_bytes
    if job.stack.joint_projections:
        return kept - _shared_bytes(job, wide)
    if job.stack.fused_adapters:
        return kept - job.compute_bytes * job.shape.hidden
    return kept + len(shapes) * job.rank * wide
