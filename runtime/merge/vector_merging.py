"""Writes the trained embedding model as one folder that gives the same vectors in every program.

The folder is the one that sentence-transformers, transformers and llama.cpp's converter read: with
modules.json, the only file that tells the converter how tokens become one vector.
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import torch
from transformers import AutoTokenizer

from ..files import read_json, replace_folder, write_json
from ..models import vectors
from ..run import Run
from .merged_files import leave_out_bos

ROWS: Final = 8  # of the training split, on which both models are compared
_CARRIED: Final = ("tokenizer.model", "sentencepiece.bpe.model", "vocab.txt")
LEAST_COSINE: Final = 0.999  # of a vector in 16 bits to that of the trained model


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One merge: from run/train/model, and its base if it is an adapter, to run/merged.

    `loading` are the arguments of the `load` of its kind, `dtype` the 16-bit type of the result.
    """

    run: Run
    base: Path | str
    dtype: str
    is_adapter: bool
    loading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def trained(self) -> Path:
        """The folder of the trained model or adapter."""
        return self.run.folder / "train" / "model"


def write_merged(job: Job) -> None:
    """Write run/merged; ends the stage if its vectors differ from those of the trained model."""
    texts = [row[name] for row in read_first(job) for name in ("anchor", "positive")]

    def compare(trained: Any, merged: Any) -> bool:
        cosine = float((trained * merged).sum(1).min())
        said = f"the vectors of the merged model have a cosine of {cosine:.6f} or more"
        job.run.say(f"{said} to those of the trained model")
        return cosine >= LEAST_COSINE

    write_compared(
        job,
        load=vectors.load,
        compute=lambda model: vectors.encode(model, texts, vectors.DOCUMENT),
        compare=compare,
    )


def read_first(job: Job) -> list[Any]:
    """Return the rows of the training split on which both models are compared."""
    return job.run.read_rows(job.run.folder / "data" / "train.jsonl", ROWS)


def write_compared(
    job: Job,
    *,
    load: Callable[..., Any],
    compute: Callable[[Any], Any],
    compare: Callable[[Any, Any], bool],
) -> None:
    """Write run/merged; `compare` returns whether the outputs of both models agree.

    `load` is that of the kind of model, in `vectors` or `relevance`.
    """
    run, out = job.run, job.run.folder / "merged"
    model = _load(job, load)
    trained = compute(model)
    if job.is_adapter:
        _merge_adapter(run, model)
    model = model.to(getattr(torch, job.dtype))
    is_finite = all(torch.isfinite(weight).all() for weight in model.state_dict().values())
    run.ensure(is_finite, f"every weight is a finite number in {job.dtype}")
    is_near = compare(trained, compute(model))
    run.ensure(is_near, f"the merged model agrees with the trained one in {job.dtype}")
    new = out.with_name("merged.partial")
    shutil.rmtree(new, ignore_errors=True)
    save(model, Path(job.base), new, revision=job.loading.get("revision"))
    run.ensure((new / "modules.json").is_file(), "the folder has modules.json")
    replace_folder(out, new)


def save(model: Any, base: Path, folder: Path, *, revision: str | None = None) -> None:
    """Write a model as a folder; a `base` on the disk has files that transformers does not write.

    The result reads texts as long as the base does, not only as long as the training rows.
    llama.cpp's converter takes from two settings of XLM-R's tokenizer, which change no token here,
    whether a text starts with a space and whether several spaces become one. From ModernBERT's
    config it takes names that transformers 5 no longer writes.
    """
    model.save_pretrained(str(folder), create_model_card=False)
    length = AutoTokenizer.from_pretrained(str(base), revision=revision).model_max_length
    settings = folder / "tokenizer_config.json"
    write_json(settings, read_json(settings) | {"model_max_length": length})
    for name in _CARRIED:
        if (base / name).is_file():
            shutil.copyfile(base / name, folder / name)
    first = model.tokenizer.bos_token_id
    if first is not None and model.tokenizer("a").input_ids[:1] != [first]:
        leave_out_bos(folder)
    config = read_json(folder / "config.json")
    if config["model_type"] == "xlm-roberta":
        path = folder / "tokenizer_config.json"
        settings = read_json(path)
        spaces = {"add_prefix_space": True, "clean_up_tokenization_spaces": True}
        write_json(path, settings | spaces)
    if config["model_type"] == "modernbert":
        write_json(folder / "config.json", config | _older_names(config))


def _older_names(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return ModernBERT's norm epsilon and period of global attention, under their older names."""
    names: dict[str, Any] = {"layer_norm_eps": config["norm_eps"]}
    wide = [kind == "full_attention" for kind in config["layer_types"]]
    for every in range(1, len(wide) + 1):
        if wide == [place % every == 0 for place in range(len(wide))]:
            return names | {"global_attn_every_n_layers": every}
    return names


def _load(job: Job, load: Callable[..., Any]) -> Any:
    """Return the trained model, with its adapter beside the weights if it has one."""
    if not job.is_adapter:
        return load(job.trained, **job.loading)
    from peft import PeftModel  # noqa: PLC0415 - slow, and not needed by a full fine-tune

    model = load(job.base, **job.loading)
    model[0].model = PeftModel.from_pretrained(model[0].model, str(job.trained))
    return model


def _merge_adapter(run: Run, model: Any) -> None:
    """Merge the adapter into the weights of its base."""
    adapted = model[0].model
    layer: Any = next(module for module in adapted.modules() if hasattr(module, "lora_B"))
    before = layer.base_layer.weight.detach().clone()
    model[0].model = adapted.merge_and_unload()
    is_changed = not torch.equal(before, layer.base_layer.weight)
    run.ensure(is_changed, "merging changed the weights of the base")
