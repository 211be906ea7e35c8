"""Compares what a miniature with adapters has in memory at its peak with the plan, per token.

    python -m benchmarks.live_tensors

A Llama of three layers in bf16 is run forward and backward on this CPU under autocast, with a
dispatch mode that knows every tensor that is alive. The difference of 512 and 256 tokens leaves
out what does not grow. `kept` is what the forward pass leaves, `peak` the most that is ever there;
both beside the plan's. Exits 1 if the plan is more than 5% off. What cannot be seen here: the
masks of several rows, and kernels that only a GPU has.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from typing import Any, Final

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, LlamaConfig

from benchmarks.storages import Storages
from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.activations import layer_bytes, recompute_bytes, residual_bytes
from ftc.compiler.plan.software import PINNED, PINNED_QLORA

_LAYERS: Final = 3
_RANK: Final = 16
_TARGETS: Final = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
_FEW, _MANY = 256, 512  # tokens
_BOUND: Final = 0.05
# Per hidden unit, beside the layers: the output and what the last norm keeps of its fp32 input; at
# the peak the output, its gradient, and that of the norm.
_OWN_BYTES: Final = 2 + 4


def trace(*, dropout: float, narrow: bool, checkpointing: bool) -> Iterator[float]:
    """Yield what the forward pass keeps and what the peak is, in bytes per token."""
    few, many = (
        _run(tokens, dropout=dropout, narrow=narrow, checkpointing=checkpointing)
        for tokens in (_FEW, _MANY)
    )
    for less, more in zip(few, many, strict=True):
        yield (more - less) / (_MANY - _FEW)


def _run(tokens: int, *, dropout: float, narrow: bool, checkpointing: bool) -> tuple[int, int]:
    torch.manual_seed(0)
    made: Any = AutoModelForCausalLM.from_config(
        _configure(), attn_implementation="sdpa", dtype=torch.bfloat16
    )
    adapters = LoraConfig(
        r=_RANK, lora_dropout=dropout, target_modules=list(_TARGETS), task_type="CAUSAL_LM"
    )
    whole: Any = get_peft_model(made.train(), adapters)
    for name, weight in whole.named_parameters():
        if narrow and "lora" in name:
            weight.data = weight.data.bfloat16()
    model: Any = whole.base_model.model
    if checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.model.embed_tokens.register_forward_hook(lambda _m, _i, out: out.requires_grad_())
    ids = torch.randint(0, 64, (1, tokens))
    live = Storages(whole.parameters())
    with live:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model.model(input_ids=ids, use_cache=False).last_hidden_state
        kept = live.count_bytes()
        out.backward(torch.ones_like(out))
    return kept, live.peak_bytes


def _configure() -> LlamaConfig:
    return LlamaConfig(
        hidden_size=512,
        intermediate_size=1792,
        num_attention_heads=8,
        num_key_value_heads=2,
        vocab_size=64,
        num_hidden_layers=_LAYERS,
        architectures=["LlamaForCausalLM"],
    )


def plan(*, dropout: float, narrow: bool, checkpointing: bool) -> tuple[float, float]:
    """Return the plan's bytes per token: of what is kept, and of the peak of the layers."""
    shape = read_shape(_configure().to_dict())
    assert shape is not None
    job = Job(
        shape=shape, full=False, trainable=0, targets=_TARGETS, rank=_RANK, dropout=dropout,
        load_bytes=2, compute_bytes=2, attention="sdpa", sharding="single", world=1, micro=1,
        accumulation=1, length_tokens=_FEW, checkpointing=checkpointing, gpu=True,
        stack=PINNED_QLORA if narrow else PINNED,
    )  # fmt: skip
    own = _OWN_BYTES * shape.hidden
    layer = layer_bytes(job)
    if checkpointing:
        kept = _LAYERS * residual_bytes(job)
        return kept + own, kept + own + layer + recompute_bytes(job)
    return _LAYERS * layer + own, _LAYERS * layer + own + recompute_bytes(job)


def use_fused_dropout() -> None:
    """Make dropout keep a mask of one byte, as on a GPU; on a CPU it keeps one in fp32."""

    def drop(self: torch.nn.Dropout, given: torch.Tensor) -> torch.Tensor:
        return torch.native_dropout(given, self.p, True)[0]

    replaced: Any = torch.nn.Dropout
    replaced.forward = drop


def main() -> None:
    """Trace all kinds, and print them beside the plan."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.live_tensors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args()
    warnings.filterwarnings("ignore")
    use_fused_dropout()
    off = 0
    print(f"{'adapters':9}{'dropout':>8}{'layers':>12}{'kept':>9}{'plan':>9}{'peak':>9}{'plan':>9}")
    for narrow in (False, True):
        for dropout in (0.0, 0.05):
            for checkpointing in (False, True):
                kind: Any = {"dropout": dropout, "narrow": narrow, "checkpointing": checkpointing}
                (kept, peak), (left, most) = trace(**kind), plan(**kind)
                off += abs(most / peak - 1) > _BOUND
                how = "recomputed" if checkpointing else "kept"
                print(
                    f"{'bf16' if narrow else 'fp32':9}{dropout:>8}{how:>12}"
                    f"{kept:>9.0f}{left:>9.0f}{peak:>9.0f}{most:>9.0f}  {most / peak - 1:+.1%}"
                )
    print(f"{off} more than 5% off")
    sys.exit(1 if off else 0)


if __name__ == "__main__":
    main()
