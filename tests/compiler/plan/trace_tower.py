"""Traces what the real classes of vision towers allocate in a forward pass, and keep of it."""

import warnings
import weakref
from typing import Any, Final

import torch
from peft import LoraConfig, get_peft_model
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten
from transformers import AutoConfig, AutoModelForImageTextToText

from ftc.compiler.knowledge.multimodal.towers import adapted_modules, name_patterns, read_tower

WIDE, HEADS, OUT, PATCH, SIDE = 128, 4, 96, 14, 112
DROPOUT: Final = 0.05
PARTS: Final = ("projector", "vision_tower")
SIZES: Final = {
    "hidden_size": WIDE, "intermediate_size": 4 * WIDE, "num_attention_heads": HEADS,
    "patch_size": PATCH, "image_size": SIDE,
}  # fmt: skip
SEEN: Final = ("visual", "vision", "merger", "projector", "connector")


class Peak(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the bytes of all storages that are alive, beside those of `own` tensors."""

    def __init__(self, own: set[int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.own, self.live, self.peak = own, dict[int, int](), 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in tree_flatten(out)[0]:
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                key = storage._cdata
                if key not in self.live and storage.data_ptr() not in self.own:
                    self.live[key] = storage.nbytes()
                    weakref.finalize(storage, self.live.pop, key, None)
        self.peak = max(self.peak, sum(self.live.values()))
        return out


def make_config(name: str, *, layers: int) -> Any:
    """Return a config whose tower has these layers, and whose language model is tiny."""
    vision: dict[str, Any] = {**SIZES, "num_hidden_layers": layers}
    if name.startswith("qwen"):
        vision = {"depth": layers, "num_heads": HEADS, "patch_size": PATCH}
        if name == "qwen2_vl":
            vision |= {"embed_dim": WIDE, "mlp_ratio": 4, "hidden_size": OUT}
        else:
            vision |= {"hidden_size": WIDE, "intermediate_size": 4 * WIDE, "out_hidden_size": OUT}
        vision |= {"fullatt_block_indexes": [1]} if name == "qwen2_5_vl" else {}
        vision |= {"deepstack_visual_indexes": [0]} if name == "qwen3_vl" else {}
    kinds = {
        "gemma3": "siglip_vision_model",
        "lfm2_vl": "siglip2_vision_model",
        "llava": "clip_vision_model",
        "mistral3": "pixtral",
    }
    if name in kinds:
        vision |= {"model_type": kinds[name], "vision_use_head": False, "head_dim": WIDE // HEADS}
    more = {"projector_hidden_size": OUT} if name == "lfm2_vl" else {}
    config = AutoConfig.for_model(name, vision_config=vision, **more)
    text = config.text_config
    text.hidden_size, text.num_hidden_layers, text.vocab_size = OUT, 1, 64
    text.intermediate_size, text.num_attention_heads, text.num_key_value_heads = 64, 4, 4
    text.head_dim, text.pad_token_id = OUT // 4, None
    if getattr(text, "layer_types", None):
        text.layer_types = text.layer_types[:1]
    if name == "gemma3":
        config.mm_tokens_per_image = 16
    return config


def make_images(name: str, side: int) -> tuple[dict[str, Any], int, int]:
    """Return the inputs of one row, its patches, and those of one picture."""
    patches = side * side
    if name.startswith("qwen"):
        grid = torch.tensor([[1, side, side]])
        pixels = torch.ones(patches, 3 * 2 * PATCH**2)
        return {"pixel_values": pixels, "image_grid_thw": grid}, patches, patches
    if name == "mistral3":
        size = PATCH * side
        sizes = torch.tensor([[size, size]])
        return (
            {"pixel_values": torch.ones(1, 3, size, size), "image_sizes": sizes},
            patches,
            patches,
        )
    if name == "lfm2_vl":
        return (
            {
                "pixel_values": torch.ones(1, patches, 3 * PATCH**2),
                "pixel_attention_mask": torch.ones(1, patches, dtype=torch.int32),
                "spatial_shapes": torch.tensor([[side, side]]),
            },
            patches,
            patches,
        )
    each = (SIDE // PATCH) ** 2
    if name in ("idefics3", "smolvlm"):
        mask = torch.ones(1, side, SIDE, SIDE, dtype=torch.int64)
        pixels = torch.ones(1, side, 3, SIDE, SIDE)
        return {"pixel_values": pixels, "pixel_attention_mask": mask}, side * each, each
    return {"pixel_values": torch.ones(side, 3, SIDE, SIDE)}, side * each, each


class FusedDropout(torch.nn.Module):
    """Dropout as on a GPU, where the mask has one byte for each number; a CPU's has two."""

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """Return the numbers, some of them zero."""
        return torch.native_dropout(numbers, DROPOUT, train=True)[0]


def adapt(model: Any, config: Any, *, rank: int) -> Any:
    """Return the model with adapters of tower and projector, in the type of its weights."""
    tower = read_tower(config.to_dict(), hidden=OUT)
    assert tower is not None
    adapter = LoraConfig(
        target_modules="|".join(name_patterns(adapted_modules(tower, PARTS))),
        r=rank,
        lora_dropout=DROPOUT,
    )
    adapted: Any = get_peft_model(model, adapter, autocast_adapter_dtype=False).base_model.model
    for module in adapted.modules():
        if hasattr(module, "lora_dropout"):
            module.lora_dropout["default"] = FusedDropout()
    return adapted


def trace(
    name: str, *, layers: int, side: int, trained: bool, rank: int = 0
) -> tuple[int, int, dict[str, Any]]:
    """Return the bytes at the peak of a frozen tower's pass, or those that a trained one keeps.

    With a `rank` adapters are trained in place of the weights. Also returned are the patches of the
    row and the config.
    """
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    config = make_config(name, layers=layers)
    model: Any = AutoModelForImageTextToText.from_config(  # type: ignore[no-untyped-call]
        config, dtype=torch.bfloat16, attn_implementation="sdpa"
    )
    model.train()
    for path, parameter in model.named_parameters():
        parameter.requires_grad_(trained and any(part in path for part in SEEN))
    if rank:
        model = adapt(model, config, rank=rank)
    images, patches, _ = make_images(name, side)
    tensors = (*model.parameters(), *model.buffers(), *images.values())
    own = {tensor.untyped_storage().data_ptr() for tensor in tensors}
    whole = config.to_dict()
    if not trained:
        with Peak(own) as peak:
            model.model.get_image_features(**images)
        return peak.peak, patches, whole
    kept: dict[int, Any] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage  # held, so that no address is used twice
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model.model.get_image_features(**images)
    return sum(storage.nbytes() for storage in kept.values()), patches, whole
