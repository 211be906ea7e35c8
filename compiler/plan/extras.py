"""What an architecture's layer keeps beside a Llama-like one's, in bytes per token."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ftc.compiler.plan.job import Job

_FP32 = 4
_AUTOCAST_SCORES = 14
_HALF = 2  # the width that the table was measured in


def extra_bytes(job: Job, inner: int) -> int:
    """Return the bytes of one layer beyond the Llama-like formula; `inner` is its MLP's width.

    Norms of query and key, norms after a block, activations that run in fp32, routers: whatever the
    class does. The table (`extras.json`) holds bytes per unit of hidden, query, key-value and MLP
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


def score_bytes(job: Job) -> int:
    """Return what eager attention keeps of a head's score for each pair of tokens.

    A softmax in fp32 and its result in the width of the values, unless the class does otherwise:
    Gemma 2 caps its scores as well, GPT-OSS keeps one 16-bit matrix (traced). Autocast keeps fp32
    copies between: 10 to 14 bytes more in five classes on a CPU, of which the most is taken.
    """
    entry = _table().get(job.shape.architecture, {})
    copies = _AUTOCAST_SCORES if job.mixed else 0
    if "scores" in entry:
        return round(entry["scores"][0] * job.compute_bytes / _HALF) + copies
    return job.compute_bytes + _FP32 + copies


@cache
def _table() -> Mapping[str, Mapping[str, list[float]]]:
    text = (files("ftc.compiler.plan") / "extras.json").read_text(encoding="utf-8")
    table: Mapping[str, Mapping[str, list[float]]] = json.loads(text)
    return table
