"""Saves a merged language model, all of whose tensors transformers can load.

transformers saves the weights; the settings are those of the base (see trained_config). For a base
with tensors that transformers does not load, see language_model.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from safetensors import safe_open
from transformers import AutoConfig

from ..language_models import find_class
from .merging import Job, ModelKind
from .trained_config import write_config, write_generation


def save(job: Job, model: Any, base: Path, new: Path) -> None:
    """Save a merged model; warn if a local base has tensors that transformers does not load."""
    model.save_pretrained(new)
    before = AutoConfig.from_pretrained(job.base, **job.options).to_dict()
    after = model.config.to_dict()
    write_config(base, new, before, after, dtype=job.dtype, is_cast=True)
    write_generation(new, base, new)
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


PLAIN_MODEL: Final = ModelKind(find_class=find_class, save=save, unit="nats per token")
