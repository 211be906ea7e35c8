"""Writes tokens that were added to the vocabulary into the folder of the merged model."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from transformers import AutoTokenizer

from ..files import read_json, write_json


def carry_tokens(folder: Path, *, trained: Path, tokens: Sequence[str]) -> None:
    """Write new tokens into every file of the base's tokenizer: each file has its readers."""
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
