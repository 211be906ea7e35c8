"""The GGUF of a tiny sentencepiece tokenizer: its vocabulary and chat template, and no tensor."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any, Final

_NORMAL: Final = 1  # types of tokens in a GGUF
_UNKNOWN: Final = 2
_CONTROL: Final = 3
_BYTE: Final = 6


def write_gguf_vocabulary(folder: Path, path: Path, *, template: str) -> Path:
    """Write what llama.cpp's converter would, of a folder that `tiny_tokenizers` has written."""
    gguf: Any = import_module("gguf")
    saved = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    ids: dict[str, int] = dict(saved["model"]["vocab"])
    special = {token["content"]: token["id"] for token in saved["added_tokens"]}
    tokens = sorted(ids | special, key=(ids | special).__getitem__)
    kinds = [
        _UNKNOWN if token == "<unk>"
        else _CONTROL if token in special
        else _BYTE if token.startswith("<0x")
        else _NORMAL
        for token in tokens
    ]  # fmt: skip
    first = max(number for token, number in ids.items() if token.startswith("<0x"))
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(64)
    writer.add_block_count(1)
    writer.add_feed_forward_length(128)
    writer.add_head_count(4)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([float(min(0, first - number)) for number in range(len(tokens))])
    writer.add_token_types(kinds)
    writer.add_bos_token_id(special["<s>"])
    writer.add_eos_token_id(special["</s>"])
    writer.add_add_bos_token(value=False)
    writer.add_add_space_prefix(value=True)
    writer.add_chat_template(template)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
