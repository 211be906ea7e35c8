"""The settings of a merged model: the files of the base, apart from what training changed.

transformers does not write the file that it read, and other programs rely on the base's keys.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ..files import read_json, write_json

CONFIG: Final = "config.json"
GENERATION: Final = "generation_config.json"
TEXT: Final = "text_config"
#: What training may change in config.json, beside the type of the weights.
TRAINED_KEYS: Final = ("vocab_size", "bos_token_id", "eos_token_id", "pad_token_id")
_TYPE_KEYS: Final = ("dtype", "torch_dtype")


def write_config(
    base: Path,
    into: Path,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    dtype: str,
    is_cast: bool,
) -> None:
    """Write the base's config.json into a folder, with what differs between two settings.

    `before` and `after` are those of the base and of the trained model as transformers reads them.
    `dtype` is the 16-bit type of the result, and `is_cast` says that the base has another type.
    """
    shutil.copyfile(base / CONFIG, into / CONFIG)
    config = read_json(base / CONFIG)
    sections: list[tuple[Any, Any, Any]] = [(config, before, after)]
    if TEXT in config:
        sections.append((config[TEXT], before[TEXT], after[TEXT]))
    for section, then, now in sections:
        section |= {key: now.get(key) for key in TRAINED_KEYS if now.get(key) != then.get(key)}
        section |= {key: dtype for key in _TYPE_KEYS if key in section}
    if is_cast and config.keys().isdisjoint(_TYPE_KEYS):
        config["dtype"] = dtype
    if config != read_json(base / CONFIG):
        write_json(into / CONFIG, config)


def write_generation(saved: Path, base: Path, into: Path) -> None:
    """Write the base's generation_config.json, if it has one, with new end tokens."""
    if not (base / GENERATION).is_file():
        return
    settings, now = read_json(base / GENERATION), read_json(saved / GENERATION)
    shutil.copyfile(base / GENERATION, into / GENERATION)
    changes = {
        key: now[key] for key in TRAINED_KEYS if key in now and now[key] != settings.get(key)
    }
    if changes:
        write_json(into / GENERATION, settings | changes)
