"""The loss: what the language-model head holds beside the layers' activations, in bytes."""

from ftc.compiler.plan.job import Job
from ftc.compiler.plan.objective import head_of, whole_bytes

_TOKEN_TILE = 4096  # trl/kernels/chunked_logprob.py, TOKEN_CHUNK_SIZE
_VOCABULARY_TILE = 32768  # trl/trainer/utils.py, _CHUNKED_LOGPROB_CHUNK_SIZE
_HEAD_STATISTICS_BYTES = 40  # fp32 running sums of the fused head, per token
_CHUNK_TOKENS = 128  # LitGPT's lm_head_chunk_size for LoRA
_FP32 = 4


def head_bytes(job: Job, *, training: bool) -> int:
    """Return the loss: hidden states, and logits whole or in tiles.

    The fused head keeps one tile of 4,096 tokens x 32,768 entries (two more in fp32 off CUDA), an
    fp32 gradient of the hidden states and, when trained, of the whole head. Plain cross-entropy
    keeps `logits_bytes` per token and vocabulary entry. Liger's linear loss
    (`fused_linear_cross_entropy.py`) makes logits of as many tokens as the vocabulary is wider than
    the hidden state, and gradients of input and head at once.
    """
    shape, tokens, width = job.shape, job.tokens, job.compute_bytes
    hidden = tokens * job.stack.hidden_copies * width * shape.hidden
    kind = head_of(job)
    if kind == "scores":
        return hidden
    if kind == "whole":
        head = shape.vocab * shape.hidden * width if job.head_moves and training else 0
        return hidden + tokens * whole_bytes(job) * shape.vocab + head
    if job.stack.loss == "logits":
        return hidden + tokens * job.stack.logits_bytes * shape.vocab
    if job.stack.loss == "linear":
        rows = -(-tokens * shape.hidden // shape.vocab)
        head = shape.vocab * shape.hidden * width if job.head_moves and training else 0
        return hidden + rows * shape.vocab * (width + _FP32) + head
    if job.stack.loss == "chunked":
        # all logits in 16 bits, a chunk of them in fp32 at a time, and their gradient
        chunk = min(tokens, _CHUNK_TOKENS) * shape.vocab * 3 * _FP32
        return hidden + 2 * tokens * width * shape.vocab + chunk
    tile = min(tokens, _TOKEN_TILE) * min(shape.vocab, _VOCABULARY_TILE)
    tiles = tile * width if job.gpu else tile * (width + 2 * _FP32)
    total = hidden + tiles + tokens * _HEAD_STATISTICS_BYTES
    if training:
        total += tokens * _FP32 * shape.hidden
        total += _FP32 * shape.vocab * shape.hidden if job.head_moves else 0
    return total
