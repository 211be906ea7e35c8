"""Answers that a run generates while it trains: what their cache holds and how long they take."""

from ftc.compiler.plan.job import Job

_FP32 = 4
_PASS_SECONDS, _LAYER_SECONDS = 0.0025, 0.0005  # Python's floor of a forward pass: `roofline.py`


def generated_rows(job: Job) -> int:
    """Return the answers that one process generates at a time: those of an optimiser step.

    TRL 1.16 (`GRPOConfig.generation_batch_size`): micro-batch x passes per step.
    """
    return job.micro * job.accumulation if job.answer_tokens else 0


def cache_bytes(job: Job) -> int:
    """Return keys and values of all rows at full length; the layer that grows is there twice.

    transformers' `DynamicCache` joins each new token to a layer's cache (`torch.cat`). `generate`
    runs outside autocast, in the weights' own dtype.
    """
    shape = job.shape
    layer = 2 * shape.kv_heads * shape.head_dim * job.load_bytes * job.length_tokens
    return generated_rows(job) * layer * (shape.layers + 1)


def sampling_bytes(job: Job) -> int:
    """Return the last token's logits, an fp32 copy and its probabilities, of all rows."""
    return generated_rows(job) * job.shape.vocab * (job.load_bytes + 2 * _FP32)


def prefill_tokens(job: Job) -> int:
    """Return the prompts' tokens, which go through the model at once before the first answer."""
    return generated_rows(job) * (job.length_tokens - job.answer_tokens)


def token_seconds(job: Job, *, rate: float, bytes_per_second: float) -> float:
    """Return the seconds of one more token of every row.

    All weights and, on average, half of the cache are read once; or the products take longer, or
    launching them does.
    """
    reading = job.shape.parameters * job.load_bytes + cache_bytes(job) / 2
    computing = 2 * generated_rows(job) * job.shape.parameters / rate
    launching = _PASS_SECONDS + _LAYER_SECONDS * job.shape.layers
    return max(reading / bytes_per_second, computing, launching)
