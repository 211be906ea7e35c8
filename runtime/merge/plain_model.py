"""Saves a merged language model, all of whose tensors transformers can load.

transformers saves the weights. The config.json is the base's, apart from what training changed:
transformers writes another one than it read, and other programs know the keys of the base's. For a
base with tensors that transformers does not load, see language_model.
"""

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from safetensors import safe_open
from transformers import AutoConfig

from ..files import read_json, write_json
from ..language_models import find_class
from .merging import Job, ModelKind

CONFIG: Final = "config.json"
TEXT: Final = "text_config"
#: What training may change in config.json, beside the type of the weights.
TRAINED_KEYS: Final = ("vocab_size", "bos_token_id", "eos_token_id", "pad_token_id")
_TYPE_KEYS: Final = ("dtype", "torch_dtype")


def save(job: Job, model: Any, base: Path, new: Path) -> None:
    """Save a merged model; warn if a local base has tensors that transformers does not load."""
    model.save_pretrained(new)
    before = AutoConfig.from_pretrained(job.base, **job.options).to_dict()
    after = model.config.to_dict()
    write_config(base, new, before, after, dtype=job.dtype, is_cast=True)
    if lost := _list_lost(base, model.state_dict()):
        job.run.say(
            f"warning: run/merged lacks {len(lost):,} tensors of the base that transformers does"
            f" not compute, such as {lost[0]}"
        )


def _list_lost(folder: Path, computed: Collection[str]) -> list[str]:
    """Return the names of tensors in a folder's files that are not among those `computed`.

    A base may leave out the first part of its names.
    """
    names: list[str] = []
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            names += file.keys()
    ends = {name.split(".", count)[-1] for name in computed for count in (0, 1)}
    return [name for name in names if name not in ends]


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
    `dtype` is the 16-bit type of the result, and `is_cast` says that the base has another one.
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


PLAIN_MODEL: Final = ModelKind(find_class=find_class, save=save, unit="nats per token")
