"""Completes the folder of a merged model where saving it is not enough.

Each function is given the folder. Standard library only.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

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
    """Write the class by the name that llama.cpp's converter and vLLM have for it.

    transformers loads a model by its `model_type`, and saving writes the class's present name.
    """
    _update(folder / "config.json", {"architectures": [name]})


def pad_with_end(folder: Path) -> None:
    """Let the end token pad, for a tokenizer without a padding token: batches need one."""
    path = folder / "tokenizer_config.json"
    _update(path, {"pad_token": read_json(path)["eos_token"]})


def leave_out_bos(folder: Path) -> None:
    """Write that no token is put before a text, which llama.cpp's converter does not see by itself.

    If the key is missing, llama.cpp prepends bos for SentencePiece models.
    """
    _update(folder / "tokenizer_config.json", {"add_bos_token": False})


def _update(path: Path, entries: Mapping[str, Any]) -> None:
    write_json(path, {**read_json(path), **entries})
