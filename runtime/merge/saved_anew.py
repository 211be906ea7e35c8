"""Saves a merged model as transformers does, where the layout of the base is not kept."""

from pathlib import Path
from typing import Any, Final

from ..files import read_json, write_json
from .merging import Job

_NOT_CARRIED: Final = {"torch_dtype", "transformers_version", "quantization_config"}


def save_anew(_job: Job, model: Any, base: Path, folder: Path) -> None:
    """Save a model and restore the keys of config.json that saving drops."""
    model.save_pretrained(folder)
    config, before = read_json(folder / "config.json"), read_json(base / "config.json")
    carried = {key for key in before if key not in config and not key.startswith("_")}
    config |= {key: before[key] for key in sorted(carried - _NOT_CARRIED)}
    write_json(folder / "config.json", config)
