"""The software stack as the memory model sees it: which kernels a run goes through."""

from dataclasses import dataclass
from typing import Final

GIB: Final = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """What changes between versions; bytes are per element or per token as named.

    `logits_bytes` is per token and vocabulary entry where the loss materialises logits, 0 where it
    does not; `hidden_copies` counts live copies of the last hidden state in the loss phase;
    `step_copies` counts copies of the trained weights that the optimizer step makes;
    `adapter_input_bytes` is what a LoRA module saves per input feature and token;
    `bucket_elements` is the size of a DeepSpeed communication bucket.
    """

    fused_head: bool
    logits_bytes: int
    hidden_copies: int
    step_copies: int
    adapter_input_bytes: int
    bucket_elements: int


# transformers 5.23, TRL 1.16 (`kernels/chunked_logprob.py`: the `nll` loss never has all logits),
# torch 2.13 (fused AdamW works in place), DeepSpeed 0.19 (`reduce_bucket_size` 5e8).
PINNED: Final = Stack(
    fused_head=True,
    logits_bytes=0,
    hidden_copies=3,
    step_copies=0,
    adapter_input_bytes=4,
    bucket_elements=500_000_000,
)

# transformers 4.48, TRL 0.13, torch 2.4: bf16 logits, an fp32 copy, a shifted copy and log-softmax
# are alive at once (2 + 4 + 4 + 4); foreach AdamW copies the weights once.
PLAIN_4_48: Final = Stack(
    fused_head=False,
    logits_bytes=14,
    hidden_copies=3,
    step_copies=1,
    adapter_input_bytes=4,
    bucket_elements=500_000_000,
)
