"""Completes the folder of a merged model if saving it is not enough.

Each function is given the folder.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from transformers import AutoTokenizer

from ..files import read_json, write_json

_ROTARY_PCT: Final = 0.25  # transformers/models/gpt_neox/configuration_gpt_neox.py


def use_one_key_head(folder: Path) -> None:
    """Write that a Falcon with `multi_query` has one key head; saving writes the query heads."""
    _update(folder / "config.json", {"num_kv_heads": 1})


def name_rotary_share(folder: Path) -> None:
    """Write `rotary_pct` for llama.cpp's converter.

    transformers drops it from the top of config.json. The converter also reads this section. Bases
    that transformers 5 saved have it in `rope_parameters`, and a base may leave out the default.
    """
    config = read_json(folder / "config.json")
    rope = config.get("rope_parameters") or {}
    share = rope.get("partial_rotary_factor", config.get("rotary_pct", _ROTARY_PCT))
    _update(folder / "config.json", {"llm_config": {"rotary_pct": share}})


def name_class(folder: Path, *, name: str) -> None:
    """Write the class name that llama.cpp's converter and vLLM know.

    transformers loads a model by its `model_type`, and saving writes the class's current name.
    """
    _update(folder / "config.json", {"architectures": [name]})


def pad_with_end(folder: Path) -> None:
    """Make the end token the padding token, for tokenizers without one: batches need one."""
    path = folder / "tokenizer_config.json"
    _update(path, {"pad_token": read_json(path)["eos_token"]})


def leave_out_bos(folder: Path) -> None:
    """Write that no bos token is prepended; llama.cpp's converter cannot tell without this key.

    If the key is missing, llama.cpp prepends bos for SentencePiece models.
    """
    _update(folder / "tokenizer_config.json", {"add_bos_token": False})


def carry_tokens(folder: Path, *, trained: Path, tokens: Sequence[str]) -> None:
    """Write new tokens into every file of the base's tokenizer: programs read different ones."""
    tokenizer = AutoTokenizer.from_pretrained(trained)
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in tokens}
    shutil.copyfile(trained / "tokenizer.json", folder / "tokenizer.json")
    added = folder / "added_tokens.json"
    write_json(added, (read_json(added) if added.is_file() else {}) | ids)
    path = folder / "tokenizer_config.json"
    settings = read_json(path)
    if "added_tokens_decoder" in settings:
        flags = {"lstrip": False, "rstrip": False, "normalized": False, "special": False}
        entries = {str(number): {"content": token, **flags} for token, number in ids.items()}
        settings["added_tokens_decoder"] |= entries
        write_json(path, settings)


def _update(path: Path, entries: Mapping[str, Any]) -> None:
    write_json(path, {**read_json(path), **entries})
