"""A random Llama with a few thousand weights as a GGUF file, which answers nothing quickly."""

from pathlib import Path

import gguf
import numpy as np

_BYTES, _EMBEDDING, _FORWARD, _HEADS = 256, 32, 64, 2
_SEED = 7


def write_tiny(
    path: Path,
    *,
    context_tokens: int,
    chat_template: str = "",
    pooling: gguf.PoolingType | None = None,
) -> Path:
    """Write a model with a token for each byte, and return its path."""
    writer = gguf.GGUFWriter(path, "llama")
    if chat_template:
        writer.add_chat_template(chat_template)
    if pooling is not None:
        writer.add_pooling_type(pooling)
    writer.add_context_length(context_tokens)
    writer.add_embedding_length(_EMBEDDING)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_FORWARD)
    writer.add_head_count(_HEADS)
    writer.add_rope_dimension_count(_EMBEDDING // _HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    _add_vocabulary(writer)
    random = np.random.default_rng(_SEED)
    square, wide = (_EMBEDDING, _EMBEDDING), (_FORWARD, _EMBEDDING)
    shapes = {
        "token_embd": (_BYTES + 3, _EMBEDDING),
        "output": (_BYTES + 3, _EMBEDDING),
        **{f"blk.0.attn_{name}": square for name in ("q", "k", "v", "output")},
        **{f"blk.0.ffn_{name}": wide for name in ("gate", "up")},
        "blk.0.ffn_down": (_EMBEDDING, _FORWARD),
    }
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", random.normal(size=shape).astype(np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(_EMBEDDING, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_vocabulary(writer: gguf.GGUFWriter) -> None:
    kinds = gguf.TokenType
    special = [("<unk>", kinds.UNKNOWN), ("<s>", kinds.CONTROL), ("</s>", kinds.CONTROL)]
    tokens = special + [(f"<0x{byte:02X}>", kinds.BYTE) for byte in range(_BYTES)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token for token, _ in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([int(kind) for _, kind in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
