"""The software stack in the memory model: which kernels a run uses."""

from dataclasses import dataclass, replace
from typing import Final, Literal

GIB: Final = 2**30

# logits: whole, as `logits_bytes` says; fused: TRL 1.16's tiles; linear: Liger's fused linear
# cross-entropy, in chunks of tokens; chunked: a few rows of tokens at a time (LitGPT, older TRL)
Loss = Literal["logits", "fused", "linear", "chunked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """What differs between versions; bytes are per element or per token, as the name says.

    `logits_bytes` is per token and vocabulary entry where the loss materialises logits, 0 where it
    does not; `hidden_copies` counts live copies of the last hidden state in the loss phase;
    `step_copies` counts copies of the trained weights that the optimizer step makes;
    `adapter_input_bytes` is what a LoRA module saves per input feature and token, and per rank;
    `bucket_elements` is the size of a DeepSpeed communication bucket.

    `adapter_bytes` is the width of an adapter's weights: PEFT casts to fp32, TRL 1.16 casts QLoRA's
    back to bf16. `fused_norms`: a kernel that recomputes from its input; `fused_mlp`: one that
    recomputes a gated MLP's activation (Liger's `SiLUMul` keeps gate and up alone).

    The other fields describe published runs, which no spec can ask for. `upcast_norms`: PEFT's
    `prepare_model_for_kbit_training` makes what is not quantized fp32, and with the norms the
    residual stream; `fused_adapters`: LoRA's projections in one autograd function; `repeated_keys`:
    FlashAttention got keys and values repeated for every query head (Mistral and Mixtral in
    transformers 4.45); `whole_adapters`: FSDP leaves the adapters out of its shards;
    `looped_experts`: transformers before 5 keeps most experts as linear modules and runs them one
    by one; `joint_projections`: query, key and value are one module, with one adapter, whose whole
    output the value keeps alive (LitGPT); `narrow_norms`: norms in 16 bits; `deferred_reduction`:
    FSDP reduces gradients once a step.
    """

    loss: Loss
    logits_bytes: int
    hidden_copies: int
    step_copies: int
    adapter_input_bytes: int
    bucket_elements: int
    adapter_bytes: int = 4
    fused_norms: bool = False
    fused_mlp: bool = False
    upcast_norms: bool = False
    fused_adapters: bool = False
    repeated_keys: bool = False
    whole_adapters: bool = False
    looped_experts: bool = False
    joint_projections: bool = False
    narrow_norms: bool = False
    deferred_reduction: bool = False


# transformers 5.23, TRL 1.16 (`kernels/chunked_logprob.py`: the `nll` loss never has all logits),
# torch 2.13 (fused AdamW works in place), DeepSpeed 0.19 (`reduce_bucket_size` 5e8).
PINNED: Final = Stack(
    loss="fused",
    logits_bytes=0,
    hidden_copies=3,
    step_copies=0,
    adapter_input_bytes=2,  # autocast's copy: the one in the adapter's fp32 is freed at once
    bucket_elements=500_000_000,
)

# TRL 1.16 (`SFTTrainer.__init__`): adapters on a quantized base are bf16; norms are not upcast
# (`prepare_model_for_kbit_training` is not called).
PINNED_QLORA: Final = replace(PINNED, adapter_bytes=2)

# Liger's kernels of norm, rotary embedding and MLP; TRL 1.16 leaves the loss to its own fused head
# (`SFTTrainer`: `fused_linear_cross_entropy` is refused).
LIGER: Final = replace(PINNED, fused_norms=True, fused_mlp=True)
LIGER_QLORA: Final = replace(PINNED_QLORA, fused_norms=True, fused_mlp=True)

# LitGPT (`litgpt/model.py`, `lora.py`, traced on a CPU): all in 16 bits, adapters and their moments
# too; the head runs on 128 tokens at a time.
LITGPT: Final = Stack(
    loss="chunked",
    logits_bytes=0,
    hidden_copies=2,
    step_copies=1,
    adapter_input_bytes=2,
    adapter_bytes=2,
    bucket_elements=500_000_000,
    joint_projections=True,
)

# ... in 2023 (`lit_gpt` at 8641822), before its RMSNorm computed in fp32.
LITGPT_2023: Final = replace(LITGPT, narrow_norms=True)

# transformers 4.48, TRL 0.13, torch 2.4: bf16 logits, an fp32 copy, a shifted copy and log-softmax
# are alive at once (2 + 4 + 4 + 4); foreach AdamW copies the weights once.
PLAIN_4_48: Final = Stack(
    loss="logits",
    logits_bytes=14,
    hidden_copies=3,
    step_copies=1,
    adapter_input_bytes=4,
    bucket_elements=500_000_000,
    looped_experts=True,
    deferred_reduction=True,
)
