"""Derive `compiler/plan/memory/layer_margins.json` from traces of transformers' classes.

    .ci/layer_margins.py [CLASS ...]

A miniature of each class of the derived table runs forward on this CPU in bf16, with a hook on
every tensor that autograd saves. The margin of a kind of layer is what the most expensive one of
it keeps per token over what the formula of a Llama-like layer says (`layer_bytes`), rounded up to a
tenth and at least one: with all weights trained, and with a frozen base as under LoRA. The first
layer counts where no other is of its kind. State spaces and
linear attention run with the plain operations that stand in for their kernels. A class that cannot
be traced is printed and left out.
"""

import json
import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
import transformers
from builds import find_stacks, placed

from ftc.compiler.knowledge.architectures.derived import derived_table, read_entry
from ftc.compiler.plan.memory import activations
from ftc.compiler.rehearse.scripts.trace_backbone import make_job

ROOT = Path(__file__).parents[1]
BASES = Path(__file__).with_name("architecture_bases.json")
MARGINS = ROOT / "compiler/plan/memory/layer_margins.json"
TOKENS = 256
#: Sizes whose proportions are those of published models: the state as wide as twice the model.
SIZES = {
    "vocab_size": 512,
    "hidden_size": 512,
    "intermediate_size": 1024,
    "head_dim": 64,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "intermediate_size_mlp": 1024,
    **dict.fromkeys(
        ("moe_intermediate_size", "shared_intermediate_size", "shared_expert_intermediate_size"),
        256,
    ),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 8),
    **dict.fromkeys(("num_experts_per_tok", "num_experts_per_token", "moe_k", "moe_topk"), 2),
    "q_lora_rank": 192,
    "kv_lora_rank": 128,
    "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 32,
    "v_head_dim": 32,
    "mamba_n_heads": 16,
    "mamba_d_head": 64,
    "mamba_d_ssm": 1024,
    "mamba_num_heads": 16,
    "mamba_head_dim": 64,
    "n_groups": 2,
    "mamba_dt_rank": 32,
    "time_step_rank": 32,
    "linear_num_key_heads": 4,
    "linear_num_value_heads": 8,
    "linear_key_head_dim": 64,
    "linear_value_head_dim": 64,
    "linear_num_heads": 8,
    "linear_head_dim": 64,
    "global_head_dim": 128,
    "hidden_size_per_layer_input": 64,
    "vocab_size_per_layer_input": 512,
    "moe_shared_expert_intermediate_size": 256,
    "prefix_dense_intermediate_size": 1024,
    "n_group": 1,
    "topk_group": 1,
    "num_expert_group": 1,
    "num_nextn_predict_layers": 0,
    "index_topk": 64,
    "index_head_dim": 64,
    "index_n_heads": 4,
    "shared_experts_intermediate_size": 256,
}
_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
OWN_SIZES = {
    "mamba": {"intermediate_size": 1024},
    "falcon_mamba": {"intermediate_size": 1024},
    "longcat_flash": {
        "head_dim": 32,
        "ffn_hidden_size": 1024,
        "expert_ffn_hidden_size": 256,
        "zero_expert_num": 4,
    },
    "mamba2": {"num_heads": 16, "head_dim": 64},
    "kimi_linear": {"q_lora_rank": None},
    "cosmos3_edge_text": {"rope_parameters": {**_ROPE, "mrope_section": [12, 10, 10]}},
    "ernie4_5_vl_moe_text": {
        "head_dim": 64,
        "rope_parameters": {**_ROPE, "mrope_section": [11, 11, 10]},
        "moe_intermediate_size": [],  # in which the widths of text and images follow
        "text_moe_width": 256,
        "vision_moe_width": 256,
    },
    "glm5_next_text": {"qk_rope_head_dim": 0},
    "step3p5": {"sliding_window": 64},
    "zamba": {"attention_hidden_size": 1024, "attention_head_dim": 128, "mamba_dt_rank": 32},
    "zamba2": {"n_mamba_heads": 16, "num_key_value_heads": 8},
    "zaya": {"num_experts_per_tok": 1},
}


def miniature(said: Any) -> dict[str, Any]:
    """Return the keys of a small model of a class of the file of bases."""
    names = {each.name for each in fields(transformers.CONFIG_MAPPING[said["type"]])}
    given = dict(said.get("base", {})) | {k: v for k, v in SIZES.items() if k in names}
    if "kv_lora_rank" in names:  # every head has its own part of the latent keys
        given["num_key_value_heads"] = given["num_attention_heads"]
    if "is_decoder" in names:
        given["is_decoder"] = True
    given |= OWN_SIZES.get(said["type"], {})
    given.setdefault(said.get("layers", "num_hidden_layers"), 6)
    return placed(said, given)


def trace(name: str, said: Any, given: Mapping[str, Any] | None = None) -> dict[str, list[float]]:
    """Return the margins of each kind of layer with trained and with frozen weights.

    `given` are the keys of another model of the class than the miniature.
    """
    found = {kind: list(map(_round, each)) for kind, each in measure(name, said, given).items()}
    return found if len({*map(tuple, found.values())}) > 1 else {"": next(iter(found.values()))}


def _round(share: float) -> float:
    return max(1.0, math.ceil(10 * share) / 10)


def measure(name: str, said: Any, given: Mapping[str, Any] | None = None) -> dict[str, list[float]]:
    """Return what a layer of each kind keeps over what the formula says, as in `trace`."""
    given = given or miniature(said)
    config = transformers.AutoConfig.for_model(said["type"], **given)
    config.pad_token_id = 0  # one in the small vocabulary
    shape = read_entry(name, derived_table()[name], given)
    if shape is None:
        raise ValueError("the table does not read this miniature")
    order = shape.order or (0,) * shape.layers
    kinds = [f"{kind.mixer}/{kind.mlp}" for kind in shape.kinds] or [""]
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    for weights in ("full", "frozen"):
        plain = activations.formula_bytes(make_job(shape, weights), 1)
        saved = saved_bytes(name, config, weights, shape.layers)
        for kind, most in _most([kinds[each] for each in order], saved).items():
            found[kind].append(most / plain)
    return found


def _most(kinds: Sequence[str], saved: Sequence[float]) -> dict[str, float]:
    """Return what the most expensive layer of each kind saves; kinds of one name are one.

    The first layer of the model counts only where no other is of its kind.
    """
    found: dict[str, list[float]] = {}
    for kind, each in zip(kinds, saved, strict=True):
        found.setdefault(kind, []).append(each)
    first = kinds[0]
    return {
        kind: max(alike[1:] if kind == first and len(alike) > 1 else alike)
        for kind, alike in found.items()
    }


def saved_bytes(name: str, config: Any, weights: str, count: int) -> list[float]:
    """Return the bytes each layer saves per token, without weights, each storage once."""
    torch.manual_seed(0)
    make = transformers.AutoModelForCausalLM.from_config
    try:
        model = make(config, attn_implementation="sdpa", dtype=torch.bfloat16)
    except ValueError:
        model = make(config, attn_implementation="eager", dtype=torch.bfloat16)
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

    stacks = find_stacks(name, [path for path, _ in model.named_parameters()], count)
    layers = [layer for stack in stacks for layer in model.get_submodule(stack.rstrip("."))]
    kept = [0.0] * len(layers)  # over all passes
    starts = [0] * len(layers)
    for number, layer in enumerate(layers):

        def start(*_: Any, number: int = number) -> None:
            starts[number] = total(seen)

        def end(*_: Any, number: int = number) -> None:
            kept[number] += (total(seen) - starts[number]) / TOKENS

        layer.register_forward_pre_hook(start)
        layer.register_forward_hook(end)
    ids = torch.randint(0, SIZES["vocab_size"], (1, TOKENS))
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model.base_model(input_ids=ids, use_cache=False)
    return kept


def total(seen: dict[int, Any]) -> int:
    """Return the bytes of storages."""
    return sum(storage.nbytes() for storage in seen.values())


def main(names: Sequence[str]) -> None:
    """Trace the classes that are named, or all of the table, and write the margins."""
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    bases = json.loads(BASES.read_text(encoding="utf-8"))
    margins = json.loads(MARGINS.read_text(encoding="utf-8"))
    for name in names or (n for n in derived_table() if not activations.is_described(n)):
        try:
            margins[name] = trace(name, bases[name])
        except Exception as problem:  # noqa: BLE001 - each class has its own
            print(f"{name}: not traced: {str(problem).splitlines()[0][:100]}", flush=True)
            continue
        print(name, margins[name], flush=True)
        rows = (f" {json.dumps(n)}: {json.dumps(margins[n])}" for n in sorted(margins))
        MARGINS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
