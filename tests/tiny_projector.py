"""A random tower of CLIP with LLaVA's projector as a GGUF file, beside `tui/tiny_gguf.py`."""

from pathlib import Path
from typing import Any, Final

import gguf
import numpy as np

SIDE: Final = 28  # pixels of an image
PATCH: Final = 14
TOKENS: Final = (SIDE // PATCH) ** 2
_WIDTH, _FORWARD, _BLOCKS, _TEXT = 16, 32, 2, 32
_SEED = 7


def write_projector(path: Path) -> Path:
    """Write a projector for a model of 32 dimensions, and return its path."""
    writer: Any = gguf.GGUFWriter(path, "clip")
    writer.add_clip_has_vision_encoder(value=True)
    writer.add_clip_projector_type("mlp")
    writer.add_vision_projection_dim(_TEXT)
    writer.add_vision_image_size(SIDE)
    writer.add_vision_patch_size(PATCH)
    writer.add_vision_embedding_length(_WIDTH)
    writer.add_vision_feed_forward_length(_FORWARD)
    writer.add_vision_block_count(_BLOCKS)
    writer.add_vision_head_count(2)
    writer.add_vision_attention_layernorm_eps(1e-5)
    writer.add_vision_image_mean([0.5, 0.5, 0.5])
    writer.add_vision_image_std([0.5, 0.5, 0.5])
    random = np.random.default_rng(_SEED)

    def add(name: str, *shape: int) -> None:
        weight = random.normal(size=shape) / np.sqrt(np.prod(shape[1:]))
        writer.add_tensor(name, weight.astype(np.float32))

    add("v.class_embd", _WIDTH)
    add("v.patch_embd.weight", _WIDTH, 3, PATCH, PATCH)
    add("v.position_embd.weight", TOKENS + 1, _WIDTH)
    layers = [f"v.blk.{number}" for number in range(_BLOCKS)]
    sizes = {"attn_q": (_WIDTH, _WIDTH), "attn_k": (_WIDTH, _WIDTH), "attn_v": (_WIDTH, _WIDTH)}
    sizes |= {"attn_out": (_WIDTH, _WIDTH), "ffn_up": (_FORWARD, _WIDTH)}
    sizes |= {"ffn_down": (_WIDTH, _FORWARD)}
    named = {f"{layer}.{name}": size for layer in layers for name, size in sizes.items()}
    for name, (rows, columns) in {**named, "mm.0": (_TEXT, _WIDTH), "mm.2": (_TEXT, _TEXT)}.items():
        add(f"{name}.weight", rows, columns)
        writer.add_tensor(f"{name}.bias", np.zeros(rows, dtype=np.float32))
    for name in ("v.pre_ln", *(f"{layer}.{norm}" for layer in layers for norm in ("ln1", "ln2"))):
        writer.add_tensor(f"{name}.weight", np.ones(_WIDTH, dtype=np.float32))
        writer.add_tensor(f"{name}.bias", np.zeros(_WIDTH, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
