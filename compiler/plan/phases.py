"""The phases of a run and what each holds allocated at its peak, in bytes."""

from ftc.compiler.plan.activations import checkpoint_bytes, layer_bytes, recompute_bytes
from ftc.compiler.plan.job import Job

_BATCH_BYTES = 24  # int64 ids, labels and attention mask, per token
_TOKEN_TILE = 4096  # trl/kernels/chunked_logprob.py, TOKEN_CHUNK_SIZE
_VOCABULARY_TILE = 32768  # trl/trainer/utils.py, _CHUNKED_LOGPROB_CHUNK_SIZE
_HEAD_STATISTICS_BYTES = 40  # fp32 running sums of the fused head, per token
_DDP_COPIES = 1  # DDP's buckets are a second copy of the gradients (torch DDP, default views)
_FP32 = 4


def static_bytes(job: Job) -> int:
    """Weights and optimizer states that stay between steps.

    Full: weights and two AdamW moments in the weights' dtype. LoRA: the frozen base, and fp32
    adapters with their moments (PEFT casts adapters up). DeepSpeed: 16-bit weights, and an fp32
    master with two moments divided among the processes; ZeRO-3 divides the weights as well
    (arXiv 1910.02054, section 5).
    """
    parameters, trainable, world = job.shape.parameters, job.trainable, job.world
    frozen = 0 if job.full else parameters * job.load_bytes
    if job.sharding == "zero3":
        return (frozen + trainable * (job.load_bytes + 12)) // world + job.workspace_bytes
    if job.sharding == "zero2":
        held = frozen + trainable * job.load_bytes
        return held + trainable * 12 // world + job.workspace_bytes
    return frozen + trainable * 3 * trained_bytes(job) + job.workspace_bytes


def gradient_bytes(job: Job) -> int:
    """Gradients of the trained weights, once a backward pass has filled them all."""
    whole = job.trainable * trained_bytes(job)
    if job.sharding == "ddp":
        return whole * (1 + _DDP_COPIES)
    if job.sharding in ("zero2", "zero3"):
        bucket = min(job.stack.bucket_elements, job.trainable) * trained_bytes(job)
        return whole // job.world + 2 * bucket  # one bucket fills while another is reduced
    return whole


def trained_bytes(job: Job) -> int:
    """Bytes of one trained weight on the device: adapters are fp32, DeepSpeed's are not."""
    if job.full or job.sharding in ("zero2", "zero3"):
        return job.load_bytes
    return _FP32


def phases(job: Job) -> dict[str, int]:
    """Return the allocated peak of each phase; the run's peak is the largest, not their sum."""
    static, gradients = static_bytes(job), gradient_bytes(job)
    tokens, layers = job.tokens, job.shape.layers
    batch = tokens * _BATCH_BYTES
    kept = checkpoint_bytes(job) if job.checkpointing else layers * layer_bytes(job)
    # From the second micro-batch on, the gradients of the first are there.
    earlier = gradients if job.accumulation > 1 else 0
    active = (layer_bytes(job) if job.checkpointing else 0) + recompute_bytes(job)
    gathered = gathered_bytes(job)
    copies = step_copies(job)
    graph = 0 if job.checkpointing else autocast_copies(job)
    first = earlier + tokens * (kept + active)
    last = gradients + tokens * (active + kept // layers)
    backward = static + batch + gathered + graph + max(first, last)
    loss = static + earlier + batch + gathered + autocast_copies(job) + tokens * kept
    evaluated = max(tokens * active, head_bytes(job, training=False))
    return {
        "load": load_bytes(job),
        "loss": loss + head_bytes(job, training=True),
        "layer_backward": backward,
        "optimizer_step": static + gradients + batch + copies,
        "evaluation": static + batch + gathered + autocast_copies(job) + evaluated,
    }


def load_bytes(job: Job) -> int:
    """Return the weights as loaded; ZeRO-3 divides them from the start."""
    whole = job.shape.parameters * job.load_bytes
    return whole // job.world if job.sharding == "zero3" else whole


def step_copies(job: Job) -> int:
    """Return what the optimizer step copies beside states and gradients (foreach AdamW does)."""
    whole = job.trainable * trained_bytes(job) * job.stack.step_copies
    return whole // job.world if job.sharding in ("zero2", "zero3") else whole


def autocast_copies(job: Job) -> int:
    """16-bit copies of fp32 linear weights that autocast caches during a forward pass."""
    if not job.full or job.compute_bytes >= job.load_bytes:
        return 0
    return job.shape.linear_parameters * job.compute_bytes


def gathered_bytes(job: Job) -> int:
    """Under ZeRO-3, the whole weights of two layers and of embedding and head while in use."""
    if job.sharding != "zero3":
        return 0
    shape = job.shape
    whole = 2 * shape.largest_layer_parameters + shape.embedding_parameters + shape.head_parameters
    return whole * job.load_bytes


def head_bytes(job: Job, *, training: bool) -> int:
    """Return the loss: hidden states, and logits whole or in tiles.

    The fused head keeps one tile of 4,096 tokens x 32,768 entries (two more in fp32 off CUDA), an
    fp32 gradient of the hidden states and, when trained, of the whole head. Plain cross-entropy
    keeps `logits_bytes` per token and vocabulary entry.
    """
    shape, tokens, width = job.shape, job.tokens, job.compute_bytes
    hidden = tokens * job.stack.hidden_copies * width * shape.hidden
    if not job.stack.fused_head:
        return hidden + tokens * job.stack.logits_bytes * shape.vocab
    tile = min(tokens, _TOKEN_TILE) * min(shape.vocab, _VOCABULARY_TILE)
    tiles = tile * width if job.gpu else tile * (width + 2 * _FP32)
    total = hidden + tiles + tokens * _HEAD_STATISTICS_BYTES
    if training:
        total += tokens * _FP32 * shape.hidden
        total += _FP32 * shape.vocab * shape.hidden if job.full else 0
    return total
