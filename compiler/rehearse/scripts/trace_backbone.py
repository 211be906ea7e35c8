"""Traces what transformers' own classes keep for their backward pass, beside the plan's numbers.

    python -m benchmarks.trace [ARCHITECTURE ...]
    ftc plan spec.json --trace

Each architecture of the table is built as a miniature from its configuration alone, and run forward
on this CPU in bf16 with a hook on every tensor that autograd saves. What three layers keep over one
layer, per layer and token, is the truth that `layer_bytes` of the plan must meet within 2%: with
all weights trained, and with a frozen base as under LoRA. Attention is SDPA without a mask, which
keeps what FlashAttention keeps, and eager where a class has no other; Falcon's one key head makes
SDPA keep the scores, here as on a GPU. Weights in fp32 under
autocast ("mixed") are printed and not held: most are within 2%, some classes 4 to 9% off either
way. Needs torch and transformers. Exits 1 when a held figure is off.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from typing import Any, Final

import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

from ftc.compiler.knowledge.architectures.architecture import (
    Shape,
    read_shape,
    repeats_keys,
    supports_sdpa,
)
from ftc.compiler.knowledge.architectures.derived import derived_table
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.activations import is_described, layer_bytes
from ftc.spec.sections import Attention

_BOUND: Final = 0.02
_TOKENS: Final = 96
# sides that differ from each other, so that no term can hide behind another
_SIZES: Final = {
    "hidden_size": 320,
    "intermediate_size": 896,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 40,
    "vocab_size": 512,
    "max_position_embeddings": 2048,
    "num_experts": 32,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 192,
    "shared_expert_intermediate_size": 192,
}
#: Other names that configurations give to these sizes.
_NAMES: Final = {
    "hidden_size": ("n_embd", "n_embed"),
    "intermediate_size": ("n_inner", "ffn_hidden_size"),
    "num_hidden_layers": ("n_layer", "num_layers"),
    "num_attention_heads": ("n_head", "num_heads"),
    "max_position_embeddings": ("n_positions", "seq_length"),
    "num_experts": ("num_local_experts",),
    "moe_intermediate_size": ("intermediate_size",),
}
_DROPOUTS: Final = (
    "attention_dropout", "attn_pdrop", "resid_pdrop", "embd_pdrop", "hidden_dropout",
    "residual_dropout", "embedding_dropout", "attn_dropout",
)  # fmt: skip


def main() -> None:
    """Trace the architectures that are named, or all of the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("architectures", nargs="*", metavar="ARCHITECTURE")
    described = [name for name in derived_table() if is_described(name)]
    names = parser.parse_args().architectures or described
    warnings.filterwarnings("ignore")
    off, traced = 0, 0
    print(f"{'architecture':28}{'weights':>9}{'traced':>10}{'plan':>9}{'error':>9}")
    for name in names:
        try:
            rows = list(trace(name))
        except (AttributeError, RuntimeError, StrictDataclassError, TypeError, ValueError) as error:
            print(f"{name:28}  not traced: {str(error).splitlines()[0][:60]}")
            continue
        traced += 1
        for weights, found, planned in rows:
            share = planned / found - 1
            held = weights != "mixed"
            off += held and abs(share) > _BOUND
            print(f"{name:28}{weights:>9}{found:>10.1f}{planned:>9}{share:>9.2%}")
    print(f"{traced} of {len(names)} architectures traced, {off} held figures off by more than 2%")
    sys.exit(1 if off or not traced else 0)


def trace(name: str) -> Iterator[tuple[str, float, int]]:
    """Yield each kind of weights with the bytes of a layer per token, as traced and as planned.

    "full": trained in bf16; "frozen": as under LoRA; "mixed": trained in fp32 under autocast, where
    the difference of three rows and two leaves out the 16-bit copies of the weights.
    """
    if not is_described(name):
        raise ValueError("no formula describes its layers")
    config = make_config(name, layers=3)
    shape = read_shape({**config.to_dict(), "architectures": [name]})
    if shape is None:
        raise ValueError("the table's formula does not read this miniature")
    one = make_config(name, layers=1)
    for weights in ("full", "frozen", "mixed"):
        layers = {
            rows: saved_bytes(name, config, weights, rows) - saved_bytes(name, one, weights, rows)
            for rows in ((2, 3) if weights == "mixed" else (0, 1))
        }
        fewer, more = layers.values()
        yield weights, (more - fewer) / 2 / _TOKENS, layer_bytes(make_job(shape, weights))


def make_config(name: str, *, layers: int) -> Any:
    """Return the miniature's configuration, by the names that its class gives to the sizes."""
    entry = derived_table()[name]
    config_class = CONFIG_MAPPING[entry["model_type"]]
    known = config_class().to_dict()
    said: dict[str, Any] = {}
    sizes = {**_SIZES, "num_hidden_layers": layers}
    if (
        "sparse" in entry["kinds"]["mlp"]
    ):  # as in the real ones: dense or routed, a layer is as wide
        sizes["intermediate_size"] = sizes["num_experts_per_tok"] * sizes["moe_intermediate_size"]
    else:
        del sizes["moe_intermediate_size"]
    for key, size in sizes.items():
        said |= dict.fromkeys([o for o in (key, *_NAMES.get(key, ())) if o in known][:1], size)
    if "attention_types" in known:  # GPT-Neo counts its layers a second time
        said["attention_types"] = [[["global"], layers]]
    if known.get("rotary_dim"):  # GPT-J turns a part of each head
        said["rotary_dim"] = _SIZES["head_dim"] // 2
    config = config_class(**said)
    for key in _DROPOUTS:
        if hasattr(config, key):
            setattr(config, key, 0.0)
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:layers]
    config.pad_token_id = None
    return config


def saved_bytes(name: str, config: Any, weights: str, rows: int) -> int:
    """Return the bytes of what a forward pass saves beside weights, each storage once."""
    if not rows:
        return 0
    mixed = weights == "mixed"
    make: Any = AutoModelForCausalLM.from_config
    dtype = torch.float32 if mixed else torch.bfloat16
    attention = "sdpa" if supports_sdpa(name) else "eager"
    model = make(config, attn_implementation=attention, dtype=dtype)
    model.train()
    if weights == "frozen":
        model.requires_grad_(requires_grad=False)
        model.get_input_embeddings().register_forward_hook(
            lambda _module, _inputs, output: output.requires_grad_()
        )
    own = {t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers())}
    seen: dict[int, Any] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            seen[storage.data_ptr()] = storage  # held, so that no address is used twice
        return tensor

    ids = torch.randint(0, config.vocab_size, (rows, _TOKENS))
    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    with hooks, torch.autocast("cpu", dtype=torch.bfloat16, enabled=mixed):
        model.base_model(input_ids=ids, use_cache=False)
    return sum(storage.nbytes() for storage in seen.values())


def make_job(shape: Shape, weights: str) -> Job:
    """Return a job whose layers are the miniature's."""
    return Job(
        shape=shape,
        full=weights != "frozen",
        trainable=0 if weights == "frozen" else shape.parameters,
        load_bytes=4 if weights == "mixed" else 2,
        compute_bytes=2,
        attention=_attention(shape),
        sharding="single",
        world=1,
        micro=2 if weights == "mixed" else 1,
        accumulation=1,
        length_tokens=_TOKENS,
        checkpointing=False,
        gpu=True,
    )


def _attention(shape: Shape) -> Attention:
    if not supports_sdpa(shape.architecture):
        return "eager"
    return "flash_attention_2" if repeats_keys(shape) else "sdpa"


if __name__ == "__main__":
    main()
