"""Bytes that attention keeps: queries, keys, values, scores and masks."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from ftc.compiler.knowledge.architectures.architecture import repeats_keys
from ftc.compiler.plan.job import Job

_FP32: Final = 4  # of PyTorch's log-sum-exp of a head, per token
_HALF: Final = 2  # the width that the table was measured in


def attention_bytes(job: Job) -> int:
    """Return the bytes of query, key, value, output and log-sum-exp, with copies for the kernel."""
    shape, width = job.shape, job.compute_bytes
    if job.attention == "sdpa" and not repeats_keys(shape):
        return _plain_attention_bytes(job)
    query, key = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    kept = width * (2 * query + 2 * key) + _FP32 * shape.heads
    if job.stack.joint_projections and query == key:  # the value is a view of all three
        kept += width * (query + key)
    repeated = width * 2 * (query - key)
    if job.attention == "flash_attention_2":
        return kept + (repeated if job.stack.repeated_keys else 0)
    if job.attention == "eager":  # the matrix of scores
        return kept + repeated + shape.heads * job.length_tokens * score_bytes(job)
    if job.stack.joint_projections:  # LitGPT
        return kept + repeated + width * query
    kept += width * query if job.full else 0  # a trained projection reads the output reordered
    if not job.masked:  # SDPA's flash kernel groups queries, as FlashAttention does
        return kept
    return kept + _masked_bytes(job)


def _masked_bytes(job: Job) -> int:
    """Return the bytes that SDPA keeps in addition per layer and token if it gets a mask.

    No kernel then groups queries: keys and values are repeated per head, and each layer makes its
    own 16-bit number of every pair of tokens.
    """
    repeated = 2 * (job.shape.heads - job.shape.kv_heads) * job.shape.head_dim
    return job.compute_bytes * (repeated + job.length_tokens)


def window_bytes(job: Job) -> int:
    """Return the bytes that a layer with a window keeps per token for its mask, if others get none.

    transformers skips the mask of a single row (`_ignore_causal_mask_sdpa`), but not one that says
    how far back a token reads.
    """
    fused = repeats_keys(job.shape) and not job.stack.joint_projections
    own = job.windowed and not job.masked and job.attention == "sdpa" and fused
    return _masked_bytes(job) if own else 0


def mask_bytes(job: Job) -> int:
    """Return the bytes of masks that all layers share: a truth value of every pair of tokens.

    Where some layers have windows and others not, there is one for each kind. FlashAttention reads
    the lengths instead. Eager attention adds numbers of the activations' type.
    """
    if job.attention == "flash_attention_2":
        return 0
    windows = job.shape.window_layers if job.windowed else 0
    masked = job.masked or job.attention == "eager"
    kinds = int(windows > 0) + int(masked and windows < job.shape.layers)
    width = job.compute_bytes if job.attention == "eager" else 1
    return kinds * job.tokens * job.length_tokens * width


def _plain_attention_bytes(job: Job) -> int:
    """Return the bytes that SDPA keeps if no fused kernel supports its heads (`repeats_keys`).

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


def saves_attention(job: Job) -> bool:
    """Return whether selective recomputing finds a fused kernel of attention, and keeps its result.

    Eager attention is plain products, and so is SDPA where no fused kernel supports the heads.
    """
    if job.attention == "eager":
        return False
    return job.attention != "sdpa" or repeats_keys(job.shape)


def score_bytes(job: Job) -> int:
    """Return the bytes that eager attention keeps of a head's score for each pair of tokens.

    A softmax in fp32 and its result in the width of the values, unless the class does otherwise:
    Gemma 2 caps its scores as well, GPT-OSS keeps one 16-bit matrix (traced). Autocast changes
    nothing of it, as far as a CPU shows it.
    """
    entry = layer_table().get(job.shape.architecture, {})
    if "scores" in entry:
        return round(entry["scores"][0] * job.compute_bytes / _HALF)
    return job.compute_bytes + _FP32


@cache
def layer_table() -> Mapping[str, Mapping[str, list[float]]]:
    """Return the table of `extra_bytes`, by class."""
    path = files("ftc.compiler.plan.memory") / "layer_activations.json"
    text = path.read_text(encoding="utf-8")
    table: Mapping[str, Mapping[str, list[float]]] = json.loads(text)
    return table
