"""Writes the trained model as one 16-bit folder that transformers and llama.cpp can read.

The result is compared with the trained model on a few rows of the training split before it takes
the place of an earlier one. `whole_merging` is for full fine-tunes, `adapter_merging` for LoRA.

The folder has the layout of the base: transformers saves the model aside, and `overlay` puts what
training changed into copies of the base's files. A base without safetensors (pickles), a quantized
base and a model with a new head (labels, rewards) have no files to put them into: there the folder
is what transformers saves, with the files and keys of config.json that saving leaves out.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import torch
from huggingface_hub import snapshot_download
from transformers import (
    AutoConfig,
    AutoModelForImageTextToText,
    AutoModelForSequenceClassification,
)

from ..files import replace_folder, write_json
from ..language_models import find_class
from ..run import Run
from .overlay import NoPlaceError, overlay, read_change
from .safetensors_files import SINGLE, list_files

ROWS: Final = 8  # of the training split, on which the merged and the trained model are compared
ROW_TOKENS: Final = 256  # of each row, at most
#: By what a model returns: the largest mean difference that rounding to 16 bits may make.
TOLERANCES: Final[Mapping[str, float]] = {"tokens": 0.02, "labels": 0.02, "rewards": 0.05}
UNITS: Final = {"tokens": "nats per token", "labels": "nats per row", "rewards": "of their size"}
_WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt", ".pth", ".h5", ".msgpack", ".onnx")
_NOT_CARRIED = {"torch_dtype", "transformers_version", "quantization_config"}
_SMALL_FILES = ["*.json", "*.model", "*.txt", "*.tiktoken", "*.jinja", "*.py"]

Outputs = Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One merge: from run/train/model and its base to run/merged.

    `base` is the folder or the Hub id of the base model, `options` its revision and the like for
    `from_pretrained`, `dtype` the 16-bit type of the result, such as "bfloat16". `returns` says
    what the model computes for a row: logits of tokens, logits of labels, or one reward.
    `head` returns the entries of config.json for a new head, from the tokenizer. With
    `has_new_tokens` the vocabulary was extended. Each of `finish` completes the folder it is given.
    `images` is an image_batches.ImageReader for a model that was trained with its tower.
    """

    run: Run
    base: Path | str
    dtype: str
    options: Mapping[str, Any] = field(default_factory=dict)
    returns: Literal["tokens", "labels", "rewards"] = "tokens"
    head: Callable[[Any], dict[str, Any]] | None = None
    has_new_tokens: bool = False
    chat_template: Path | None = None
    finish: Sequence[Callable[[Path], None]] = ()
    images: Any = None

    @property
    def trained(self) -> Path:
        """The folder of the trained model or adapter."""
        return self.run.folder / "train" / "model"

    def load(self, source: Path | str, **settings: Any) -> Any:
        """Return a model of this kind from a folder or the Hub."""
        kind: Any = AutoModelForSequenceClassification
        if self.images:
            kind = AutoModelForImageTextToText
        elif self.returns == "tokens":
            kind = find_class(source, **self.options)
        return kind.from_pretrained(source, **settings, **self.options)

    def compute(self, model: Any) -> Outputs:
        """Return log-probabilities (or rewards) of a few training rows, in 32 bits on the CPU."""
        rows = self.run.read_rows(self.run.folder / "data" / "train.jsonl", ROWS)
        found = []
        model.eval()
        with torch.no_grad():
            for row in rows:
                # a row with images is whole: their tokens and their pixels belong together
                ids = row["input_ids"] if self.images else row["input_ids"][:ROW_TOKENS]
                seen = self.images.read_for(model, [row], [ids]) if self.images else {}
                logits = (
                    model(torch.tensor([ids], device=model.device), **seen).logits[0].float().cpu()
                )
                is_reward = self.returns == "rewards"
                found.append(logits if is_reward else torch.log_softmax(logits, dim=-1))
        return found

    def find_distance(self, first: Outputs, second: Outputs) -> float:
        """Return the mean KL divergence of the second from the first, in nats.

        Of rewards it is the mean difference as a share of their mean size, to which 1 is added.
        """
        if self.returns == "rewards":
            before, after = torch.cat(list(first)), torch.cat(list(second))
            return float((before - after).abs().mean() / (1 + before.abs().mean()))
        pairs = zip(first, second, strict=True)
        divergences = [(p.exp() * (p - q)).sum(dim=-1).reshape(-1) for p, q in pairs]
        return float(torch.cat(divergences).mean())


def write_folder(job: Job, model: Any, trained: Outputs, *, on_rounded: Outputs = ()) -> None:
    """Save a merged model with all files that belong to it, and replace run/merged by it.

    Ends the stage if the model differs from `trained` by more than rounding. `on_rounded` has the
    outputs of the adapter on the quantized base, if it was trained on one.
    """
    run, out = job.run, job.run.folder / "merged"
    saved, new = out.with_name("merged.saved"), out.with_name("merged.partial")
    for folder in (saved, new):
        shutil.rmtree(folder, ignore_errors=True)
    merged = job.compute(model)
    distance = job.find_distance(trained, merged)
    is_finite = all(torch.isfinite(weight).all() for weight in model.state_dict().values())
    run.say(f"the merged model differs from the trained one by {distance:.2g} {UNITS[job.returns]}")
    if on_rounded:
        rounded = job.find_distance(on_rounded, merged)
        run.say(f"and from the adapter on the quantized base by {rounded:.2g}")
    run.ensure(is_finite, f"every weight is a finite number in {job.dtype}")
    most = TOLERANCES[job.returns]
    run.ensure(distance < most, f"the merged model agrees with the trained one in {job.dtype}")
    base = _find_base(job)
    if _has_layout(job, base):
        model.save_pretrained(saved)
        _overlay(job, model, base)
        shutil.rmtree(saved)
    else:
        model.save_pretrained(new)
        _carry_keys(base, new)
    _carry_files(job, base, new)
    replace_folder(out, new)


def _has_layout(job: Job, base: Path) -> bool:
    """Return whether the merged model can have the files of the base."""
    config = _read(base / "config.json")
    sections = config, config.get("text_config") or {}
    is_quantized = any(section.get("quantization_config") for section in sections)
    return job.returns == "tokens" and not is_quantized and bool(list_files(base))


def _overlay(job: Job, model: Any, base: Path) -> None:
    """Write run/merged.partial from the base's files and run/merged.saved."""
    new, saved = job.run.folder / "merged.partial", job.run.folder / "merged.saved"
    new.mkdir()
    before = AutoConfig.from_pretrained(job.base, **job.options).to_dict()
    change = read_change(model, before, dtype=job.dtype)
    try:
        replaced, count = overlay(saved, base, new, change)
    except NoPlaceError as error:
        job.run.stop(f"the base has no tensor {error} of this shape, which the merged model has")
    job.run.say(f"{replaced:,} of the base's {count:,} tensors are replaced; the others stay")


def _carry_keys(base: Path, folder: Path) -> None:
    """Add the keys of config.json that saving leaves out."""
    config, before = _read(folder / "config.json"), _read(base / "config.json")
    carried = {key for key in before if key not in config and not key.startswith("_")}
    config |= {key: before[key] for key in sorted(carried - _NOT_CARRIED)}
    write_json(folder / "config.json", config)


def _carry_files(job: Job, base: Path, folder: Path) -> None:
    """Add the base's small files as they are, above all its tokenizer's, and complete them."""
    for path in sorted(base.iterdir()):
        is_left_out = path.name.endswith((*_WEIGHTS, ".index.json", "README.md"))
        if path.is_file() and not is_left_out and not (folder / path.name).exists():
            shutil.copyfile(path, folder / path.name)
    if job.chat_template:
        shutil.copyfile(job.chat_template, folder / "chat_template.jinja")
    for finish in job.finish:
        finish(folder)
    # transformers uses chat_template.jinja if there is one, and llama.cpp's converter prefers the
    # template in tokenizer_config.json: only one of them may remain.
    settings = folder / "tokenizer_config.json"
    if (folder / "chat_template.jinja").is_file() and settings.is_file():
        write_json(settings, {k: v for k, v in _read(settings).items() if k != "chat_template"})


def _find_base(job: Job) -> Path:
    """Return a folder with the files of the base model; on the Hub, those that transformers reads.

    The weights are there from loading the base, or are downloaded.
    """
    if Path(job.base).is_dir():
        return Path(job.base)
    fetch = partial(snapshot_download, str(job.base), revision=job.options.get("revision"))
    if job.returns != "tokens":
        return Path(fetch(allow_patterns=_SMALL_FILES))
    folder = Path(fetch(allow_patterns=[*_SMALL_FILES, SINGLE]))
    return Path(fetch(allow_patterns=[*_SMALL_FILES, *list_files(folder)]))


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
