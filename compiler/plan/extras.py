"""What an architecture's layer keeps beside a Llama-like one's, in bytes per token."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ftc.compiler.plan.job import Job

_FP32 = 4
_HALF = 2  # the width that the table was measured in
_INDEX = 8  # int64


def extra_bytes(job: Job, inner: int) -> int:
    """Return the bytes of one layer beyond the Llama-like formula; `inner` is its MLP's width.

    Norms of query and key, norms after a block, activations that run in fp32: whatever the class
    does. The table (`extras.json`) holds bytes per unit of hidden, query, key-value and MLP
    width, and of hidden per routed expert, for trained weights and for frozen ones, traced from
    transformers' own classes in bf16 (`benchmarks/trace.py` holds it; what has no SDPA in its
    eager form). Wider numbers scale it: fp32 parts are then counted twice.
    """
    entry = _table().get(job.shape.architecture)
    if entry is None:
        return 0
    shape = job.shape
    query, key = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    sides = (shape.hidden, query, key, inner, shape.experts_per_token * shape.hidden)
    rates = entry["full" if job.full else "frozen"]
    found = sum(rate * side for rate, side in zip(rates, sides, strict=True))
    return round(found * job.compute_bytes / _HALF)


def router_bytes(job: Job) -> int:
    """Return what a mixture's router and the sorting of tokens by expert keep per layer and token.

    In fp32, whatever the width: the softmax over all experts (not in the two classes that take it
    over the chosen ones) and the weights of the chosen ones, before and after they are made to sum
    to one. The choice itself and the orders to and from the experts (transformers' `moe.py`) are
    four indices of 64 bits per chosen expert.
    """
    shape = job.shape
    if not shape.experts:
        return 0
    [per_expert] = _table().get(shape.architecture, {}).get("router", [_FP32])
    chosen = 4 * _INDEX + 2 * _FP32
    return round(per_expert * shape.experts + chosen * shape.experts_per_token)


def score_bytes(job: Job) -> int:
    """Return what eager attention keeps of a head's score for each pair of tokens.

    A softmax in fp32 and its result in the width of the values, unless the class does otherwise:
    Gemma 2 caps its scores as well, GPT-OSS keeps one 16-bit matrix (traced). Autocast changes
    nothing of it, as far as a CPU shows it.
    """
    entry = _table().get(job.shape.architecture, {})
    if "scores" in entry:
        return round(entry["scores"][0] * job.compute_bytes / _HALF)
    return job.compute_bytes + _FP32


@cache
def _table() -> Mapping[str, Mapping[str, list[float]]]:
    text = (files("ftc.compiler.plan") / "extras.json").read_text(encoding="utf-8")
    table: Mapping[str, Mapping[str, list[float]]] = json.loads(text)
    return table
