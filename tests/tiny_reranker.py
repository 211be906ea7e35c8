"""A random BERT with a head of one score as a GGUF file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import gguf
import numpy as np

_WIDTH, _FORWARD, _HEADS, _PLACES = 32, 64, 2, 64
_SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_SEED = 7


def write_reranker(path: Path, words: Sequence[str]) -> Path:
    """Write a model of these words, and return its path."""
    writer: Any = gguf.GGUFWriter(path, "bert")
    writer.add_context_length(_PLACES)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_FORWARD)
    writer.add_head_count(_HEADS)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(value=False)
    writer.add_pooling_type(gguf.PoolingType.RANK)
    writer.add_tokenizer_model("bert")
    writer.add_token_type_count(2)
    tokens = [*_SPECIAL, *(f"\u2581{word}" for word in words)]
    kinds = [gguf.TokenType.CONTROL] * len(_SPECIAL) + [gguf.TokenType.NORMAL] * len(words)
    writer.add_token_list(tokens)
    writer.add_token_types([int(kind) for kind in kinds])
    for place, name in enumerate(("pad", "unk", "bos", "sep", "mask")):
        getattr(writer, f"add_{name}_token_id")(place)
    writer.add_eos_token_id(3)
    random = np.random.default_rng(_SEED)
    square = dict.fromkeys((f"blk.0.attn_{end}" for end in "qkv"), (_WIDTH, _WIDTH))
    matrices = {
        **square,
        "blk.0.attn_output": (_WIDTH, _WIDTH),
        "blk.0.ffn_up": (_FORWARD, _WIDTH),
        "blk.0.ffn_down": (_WIDTH, _FORWARD),
        "cls": (_WIDTH, _WIDTH),
        "cls.output": (1, _WIDTH),
    }
    tables = {"token_embd": len(tokens), "position_embd": _PLACES, "token_types": 2}
    for name, rows in tables.items():
        table = random.normal(size=(rows, _WIDTH))
        writer.add_tensor(f"{name}.weight", table.astype(np.float32))
    for name, shape in matrices.items():
        weight = random.normal(size=shape) / np.sqrt(shape[1])
        writer.add_tensor(f"{name}.weight", weight.astype(np.float32))
        writer.add_tensor(f"{name}.bias", np.zeros(shape[0], dtype=np.float32))
    for name in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(_WIDTH, dtype=np.float32))
        writer.add_tensor(f"{name}.bias", np.zeros(_WIDTH, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
