"""Bytes of sending the trained weights to vLLM, before it generates the answers of a step."""

from typing import Final

from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.weights import largest_linear

_PACK_BYTES: Final = 1024**3  # a pack ends with the weight that exceeds it
_PACKS: Final = 2


def gathered_to_send(job: Job) -> int:
    """Return the bytes of whole weights that a process of a sharded run gathers at a time.

    vLLM in the same process loads one weight after the other. Those for a server wait until they
    fill a pack (TRL 1.16, `VLLMGeneration.sync_weights`).
    """
    if not job.gathers:
        return 0
    return pack_bytes(job) if job.engine == "server" else _largest_weight(job)


def packed_bytes(job: Job) -> int:
    """Return the bytes of all packs that are on their way, where they leave and where they arrive.

    The first process sends them to the server's GPU (vLLM 0.30, `packed_nccl_broadcast_producer`
    and `packed_nccl_broadcast_consumer`).
    """
    return min(_PACKS * pack_bytes(job), job.shape.parameters * job.load_bytes)


def pack_bytes(job: Job) -> int:
    """Return the most bytes of one pack."""
    return min(_PACK_BYTES + _largest_weight(job), job.shape.parameters * job.load_bytes)


def _largest_weight(job: Job) -> int:
    """Return the bytes of the largest tensor: an embedding, a linear's, or all experts' of a layer.

    Gate and up projections of experts are one tensor in transformers.
    """
    shape = job.shape
    experts = 2 * shape.experts * shape.expert_intermediate * shape.hidden
    numbers = max(shape.vocab * shape.hidden, largest_linear(job), experts)
    return numbers * job.load_bytes
