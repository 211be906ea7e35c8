"""What a run leaves on the disk and needs of the host's memory, in bytes."""

from collections.abc import Mapping
from typing import Final

from ftc.compiler.plan.job import Job
from ftc.compiler.plan.stack import GIB
from ftc.spec.sections import GgufType, Spec

# Bits per weight. F16 to Q4_0, Q6_K: block layouts of llama.cpp's ggml-common.h (Q8_0: 34 bytes
# per 32 weights). The mixtures (_M, _S, Q2_K): file size over parameters of Llama 3.1 8B, from the
# table of llama.cpp's tools/quantize/README.md.
BITS_PER_WEIGHT: Final[Mapping[GgufType, float]] = {
    "F16": 16.0,
    "BF16": 16.0,
    "Q8_0": 8.5,
    "Q6_K": 6.5625,
    "Q5_K_M": 5.70,
    "Q5_K_S": 5.57,
    "Q4_K_M": 4.89,
    "Q4_K_S": 4.67,
    "Q4_0": 4.66,
    "Q3_K_M": 4.00,
    "Q2_K": 3.16,
}
_GGUF_HEADER_BYTES_PER_TOKEN = 24  # vocabulary, scores and types in the file's metadata
_SHARD_BYTES = 5 * GIB  # one file of weights in memory while it is saved


def export_bytes(spec: Spec, job: Job) -> dict[str, int]:
    """Return the predicted size of each GGUF file."""
    header = job.shape.vocab * _GGUF_HEADER_BYTES_PER_TOKEN
    return {
        kind: round(job.shape.parameters * BITS_PER_WEIGHT[kind] / 8) + header
        for kind in spec.export.types
    }


def checkpoint_bytes(job: Job) -> int:
    """One checkpoint: trained weights and AdamW's states, over all processes.

    DeepSpeed saves an fp32 master and two moments beside the 16-bit weights.
    """
    if job.sharding in ("zero2", "zero3"):
        return job.trainable * (job.load_bytes + 12)
    return job.trainable * 3 * (job.load_bytes if job.full else 4)


def disk_bytes(spec: Spec, job: Job, exports: Mapping[str, int]) -> int:
    """Return the most that `run/` holds.

    Checkpoints and the best one, the trained model, the merged 16-bit folder, the F16 GGUF that
    the others are made from, and each GGUF.
    """
    checkpoints = (spec.training.keep_checkpoints + 1) * checkpoint_bytes(job)
    trained = job.trainable * (job.load_bytes if job.full else 4)
    merged = 2 * job.shape.parameters
    between = 2 * job.shape.parameters if exports and "F16" not in exports else 0
    return checkpoints + trained + merged + between + sum(exports.values())


def merge_bytes(job: Job) -> int:
    """Host memory of the merge on a CPU: the 16-bit model, and a file of it while saving."""
    whole = 2 * job.shape.parameters
    return whole + min(whole, _SHARD_BYTES) + GIB


def host_ram_bytes(job: Job, device_bytes: int) -> int:
    """Return the most host memory of any stage: loading everywhere, training on a CPU, merging."""
    whole = job.shape.parameters * job.load_bytes
    loading = job.world * (min(whole, _SHARD_BYTES) + GIB)
    training = 0 if job.gpu else job.world * device_bytes
    return max(loading, training, merge_bytes(job))
