"""Bytes per token that a layer keeps for its backward pass."""

from ftc.compiler.plan.job import Job

# Per element in fp32: PyTorch's log-sum-exp of an attention head, RMSNorm's upcast input.
_FP32 = 4


def layer_bytes(job: Job) -> int:
    """Return what one decoder layer saves per token without checkpointing.

    Source: reading of transformers' Llama-like modeling code, checked against published peaks (see
    `tests/compiler/plan/test_memory_cases.py`). Two norms keep an fp32 input each; a trained norm
    also keeps its normalised input, a trained linear its input; attention keeps q, k, v, the
    output and the log-sum-exp; a gated MLP keeps gate, activation and up, and their product.
    """
    shape, width = job.shape, job.compute_bytes
    norm_input = _FP32 if shape.norm == "rms" else width
    norms = 2 * norm_input * shape.hidden
    if job.full:
        norms += 2 * (width * shape.hidden + width * shape.hidden)
    inner = mlp_width(job)
    mlp = (3 if shape.gated_mlp else 2) * width * inner
    if job.full and shape.gated_mlp:
        mlp += width * inner
    return norms + _attention_bytes(job) + mlp + _adapter_bytes(job)


def recompute_bytes(job: Job) -> int:
    """Gradient temporaries of one layer's backward, per token: three MLP widths, two hiddens."""
    return job.compute_bytes * (3 * mlp_width(job) + 2 * job.shape.hidden)


def checkpoint_bytes(job: Job) -> int:
    """Return what checkpointing keeps of all layers per token: each layer's input."""
    return job.shape.layers * job.compute_bytes * job.shape.hidden


def mlp_width(job: Job) -> int:
    """Return the MLP width that one token sees: all experts that it is routed to."""
    shape = job.shape
    if shape.experts:
        return max(shape.intermediate, shape.experts_per_token * shape.expert_intermediate)
    return shape.intermediate


def _attention_bytes(job: Job) -> int:
    """Query, key, value, output and log-sum-exp; more where the kernel needs copies."""
    shape, width = job.shape, job.compute_bytes
    query, key = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    kept = width * (2 * query + 2 * key) + _FP32 * shape.heads
    if job.attention == "flash_attention_2":
        return kept
    # A padding mask rules out grouped queries in SDPA: keys and values are repeated per head.
    kept += width * (query + 2 * (query - key))
    if job.attention == "eager":
        kept += shape.heads * job.length_tokens * (2 * width + _FP32)
    return kept


def _adapter_bytes(job: Job) -> int:
    """Return each adapted module's input in the adapter's dtype, and a byte of dropout mask."""
    features = sum(job.shape.linear_shapes[name].in_features for name in job.targets)
    return features * (job.stack.adapter_input_bytes + (1 if job.dropout else 0))
