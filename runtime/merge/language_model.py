"""Saves a merged language model in the layout of its base.

transformers saves the model to a separate folder, and `overlay` puts what training changed into
copies of the base's files. A base without safetensors (pickles) and a quantized base have no files
to put it into: for these, the folder is what transformers saves.
"""

import shutil
from functools import partial
from pathlib import Path
from typing import Any, Final

from huggingface_hub import snapshot_download
from transformers import AutoConfig

from ..files import read_json
from ..language_models import find_class
from ..upstream.adapter_names import load_by_names_in_memory
from .merging import SMALL_FILES, Job, ModelKind
from .overlay import NoPlaceError, overlay, read_change
from .safetensors_files import SINGLE, list_files
from .saved_anew import save_anew


def save(job: Job, model: Any, base: Path, new: Path) -> None:
    """Save a merged model, in the layout of the base if that can hold it."""
    if not Path(job.base).is_dir():
        base = _fetch_weights(job)
    if not _has_layout(base):
        save_anew(job, model, base, new)
        return
    saved = new.with_name("merged.saved")
    shutil.rmtree(saved, ignore_errors=True)
    model.save_pretrained(saved)
    _overlay(job, model, base, saved, new)
    shutil.rmtree(saved)


def _fetch_weights(job: Job) -> Path:
    """Return a folder with the files that transformers reads of a base on the Hub.

    The weights are there from loading the base, or are downloaded.
    """
    fetch = partial(snapshot_download, str(job.base), revision=job.options.get("revision"))
    folder = Path(fetch(allow_patterns=[*SMALL_FILES, SINGLE]))
    return Path(fetch(allow_patterns=[*SMALL_FILES, *list_files(folder)]))


def _has_layout(base: Path) -> bool:
    """Return whether the merged model can have the files of the base."""
    config = read_json(base / "config.json")
    sections = config, config.get("text_config") or {}
    is_quantized = any(section.get("quantization_config") for section in sections)
    return not is_quantized and bool(list_files(base))


def _overlay(job: Job, model: Any, base: Path, saved: Path, new: Path) -> None:
    """Write the base's files with what differs in the folder `saved`."""
    new.mkdir()
    before = AutoConfig.from_pretrained(job.base, **job.options).to_dict()
    change = read_change(model, before, dtype=job.dtype)
    try:
        replaced, count = overlay(saved, base, new, change)
    except NoPlaceError as error:
        job.run.stop(f"the base has no tensor {error} of this shape, which the merged model has")
    job.run.say(f"{replaced:,} of the base's {count:,} tensors are replaced; the others stay")


LANGUAGE_MODEL: Final = ModelKind(
    find_class=find_class,
    save=save,
    unit="nats per token",
    prepare_peft=load_by_names_in_memory,
)
