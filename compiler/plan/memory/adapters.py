"""Counts the tensors that adapters keep for a layer's backward pass, and the copies they make."""

from collections.abc import Iterator
from typing import Final

from ftc.compiler.plan.job import Job

#: Linear modules that read what another one reads, with the name of that one.
_SAME_INPUT: Final = {"k_proj": "q_proj", "v_proj": "q_proj", "up_proj": "gate_proj"}


def adapter_bytes(job: Job) -> int:
    """Return the bytes of adapted modules' inputs in the adapter's dtype, and of dropout masks.

    A mask has a byte per number on a GPU, and the type of the input on a CPU (torch's `_dropout`).
    One fused function for the query, key and value projections shares their input and recomputes
    the inner products. DoRA (PEFT `DoraLinearLayer`) keeps the outputs of base and adapter, each to
    scale it.
    """
    shapes = [job.shape.linear_shapes[name] for name in job.targets]
    wide = max(job.stack.adapter_input_bytes, job.compute_bytes)
    shared = not job.dropout and job.stack.adapter_bytes <= job.compute_bytes
    readers = _first_readers(job) if shared else job.targets
    inputs = sum(job.shape.linear_shapes[name].in_features for name in readers)
    mask = (1 if job.gpu else wide) if job.dropout else 0
    kept = inputs * (wide + mask)
    if job.dora:
        kept += 2 * sum(kind.out_features for kind in shapes) * job.compute_bytes
    if job.stack.joint_projections:
        return kept - _shared_bytes(job, wide)
    if job.stack.fused_adapters:
        return kept - job.compute_bytes * job.shape.hidden
    return kept + len(shapes) * job.rank * wide


def _first_readers(job: Job) -> Iterator[str]:
    """Yield the modules with an adapter whose input no other one before them reads.

    Adapters of the activations' own type keep that input itself, once for all its readers.
    """
    seen = set()
    for name in job.targets:
        place = _SAME_INPUT.get(name, name)
        if place not in seen:
            seen.add(place)
            yield name


def _shared_bytes(job: Job, wide: int) -> int:
    """Return the bytes that a joint adapter of query, key and value saves against three adapters.

    The three share their input. Where not all three have an adapter, `index_copy_` keeps the
    product.
    """
    names = [name for name in job.targets if name in ("q_proj", "k_proj", "v_proj")]
    each = job.shape.hidden * (wide + (1 if job.dropout else 0))
    placed = sum(job.shape.linear_shapes[name].out_features for name in names)
    kept = job.compute_bytes * placed if len(names) in (1, 2) else 0
    return each * max(0, len(names) - 1) - kept


def adapter_casts(job: Job, width: int) -> int | None:
    """Return the bytes of copies of an input as wide as the MLP; None if it has no adapter.

    PEFT (`LoraLayer._cast_input_dtype`) converts the input to the type of the adapter's weights,
    and dropout makes another copy; autocast then keeps one in 16 bits. Measured on an H200 and by
    a trace of all live tensors (`benchmarks/memory.md`).
    """
    reads = (job.shape.linear_shapes[name].in_features for name in job.targets)
    if width not in reads or job.stack.joint_projections:  # LitGPT's most is there later
        return None
    if job.deepspeed or job.stack.adapter_bytes <= job.compute_bytes:
        return 0
    return job.stack.adapter_bytes * width * (2 if job.dropout else 1)
