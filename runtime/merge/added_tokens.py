"""Writes tokens that were added to the vocabulary into the folder of the merged model."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from ..files import write_json


def carry_tokens(folder: Path, *, trained: Path, tokens: Sequence[str]) -> None:
    """Write new tokens into every file of the base's tokenizer: each file has its readers."""
    tokenizer = AutoTokenizer.from_pretrained(trained)
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in tokens}
    shutil.copyfile(trained / "tokenizer.json", folder / "tokenizer.json")
    added = folder / "added_tokens.json"
    write_json(added, (_read(added) if added.is_file() else {}) | ids)
    path = folder / "tokenizer_config.json"
    settings = _read(path)
    if "added_tokens_decoder" in settings:
        flags = {"lstrip": False, "rstrip": False, "normalized": False, "special": False}
        entries = {str(number): {"content": token, **flags} for token, number in ids.items()}
        settings["added_tokens_decoder"] |= entries
        write_json(path, settings)


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
