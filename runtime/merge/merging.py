"""Writes the trained model as one 16-bit folder that transformers and llama.cpp can read.

The result is compared with the trained model on a few rows of the training split before it
replaces an earlier one. `whole_merging` is for full fine-tunes, `adapter_merging` for LoRA.

`plain_model` saves a language model, and `language_model` one whose base has more tensors than
transformers computes; `scored_rows` is for models with a new head.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import torch
from huggingface_hub import snapshot_download

from ..files import read_json, replace_folder, write_json
from ..run import Run

ROWS: Final = 8  # of the training split, on which the merged and the trained model are compared
ROW_TOKENS: Final = 256  # of each row, at most
_WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt", ".pth", ".h5", ".msgpack", ".onnx")
SMALL_FILES = ["*.json", "*.model", "*.txt", "*.tiktoken", "*.jinja", "*.py"]

Outputs = Sequence[Any]


def compute_divergence(first: Outputs, second: Outputs) -> float:
    """Return the mean KL divergence of the second log-probabilities from the first, in nats."""
    pairs = zip(first, second, strict=True)
    divergences = [(p.exp() * (p - q)).sum(dim=-1).reshape(-1) for p, q in pairs]
    return float(torch.cat(divergences).mean())


def find_log_probabilities(logits: Any) -> Any:
    """Return the log-probabilities of logits."""
    return torch.log_softmax(logits, dim=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKind:
    """What a model computes for a row, and how it is loaded and saved.

    `find_class` returns the Auto class for a folder. `read` returns the tokens of a row and what
    else the model is given. `finish` turns logits into what is compared, and `measure` returns how
    far the second outputs are from the first, in `unit`. Rounding to 16 bits may cause a difference
    of `tolerance`. `save` is given the job, the merged model, the folder of the base's small files
    and the folder to write. `prepare_peft` is called before an adapter is loaded.
    """

    find_class: Callable[..., Any]
    save: Callable[["Job", Any, Path, Path], None]
    unit: str
    read: Callable[[Any, Any], tuple[list[int], Mapping[str, Any]]] = lambda _, row: (
        row["input_ids"][:ROW_TOKENS],
        {},
    )
    finish: Callable[[Any], Any] = find_log_probabilities
    measure: Callable[[Outputs, Outputs], float] = compute_divergence
    tolerance: float = 0.02
    prepare_peft: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One merge: from run/train/model and its base to run/merged.

    `base` is the folder or the Hub id of the base model, `options` its revision and the like for
    `from_pretrained`, `dtype` the 16-bit type of the result, such as "bfloat16". `head` returns the
    entries of config.json for a new head, from the tokenizer. With `has_new_tokens` the vocabulary
    was extended. Each of `finish` completes the folder it is given.
    """

    run: Run
    base: Path | str
    dtype: str
    kind: ModelKind
    options: Mapping[str, Any] = field(default_factory=dict)
    head: Callable[[Any], dict[str, Any]] | None = None
    has_new_tokens: bool = False
    chat_template: Path | None = None
    finish: Sequence[Callable[[Path], None]] = ()

    @property
    def trained(self) -> Path:
        """The folder of the trained model or adapter."""
        return self.run.folder / "train" / "model"

    def load(self, source: Path | str, **settings: Any) -> Any:
        """Return a model of this kind from a folder or the Hub."""
        loader = self.kind.find_class(source, **self.options)
        return loader.from_pretrained(source, **settings, **self.options)

    def compute(self, model: Any) -> Outputs:
        """Return what the model computes for a few training rows, in 32 bits on the CPU."""
        rows = self.run.read_rows(self.run.folder / "data" / "train.jsonl", ROWS)
        found = []
        model.eval()
        with torch.no_grad():
            for row in rows:
                ids, more = self.kind.read(model, row)
                logits = model(torch.tensor([ids], device=model.device), **more).logits[0]
                found.append(self.kind.finish(logits.float().cpu()))
        return found


def write_folder(job: Job, model: Any, trained: Outputs, *, on_rounded: Outputs = ()) -> None:
    """Save a merged model with all files that belong to it, and replace run/merged by it.

    Ends the stage if the model differs from `trained` by more than rounding. `on_rounded` has the
    outputs of the adapter on the quantized base, if it was trained on one.
    """
    run, out, kind = job.run, job.run.folder / "merged", job.kind
    new = out.with_name("merged.partial")
    shutil.rmtree(new, ignore_errors=True)
    merged = job.compute(model)
    is_finite = all(torch.isfinite(weight).all() for weight in model.state_dict().values())
    if is_finite and any(torch.isnan(found).any() for found in (*trained, *merged)):
        end = f"{torch.finfo(getattr(torch, job.dtype)).max:.5g}, where {job.dtype} ends"
        advice = "train again with a lower learning rate, or from a base in bfloat16"
        run.stop(f"the model computes numbers above {end}: {advice}")
    distance = kind.measure(trained, merged)
    run.say(f"the merged model differs from the trained one by {distance:.2g} {kind.unit}")
    if on_rounded:
        rounded = kind.measure(on_rounded, merged)
        run.say(f"and from the adapter on the quantized base by {rounded:.2g}")
    run.ensure(is_finite, f"every weight is a finite number in {job.dtype}")
    is_near = distance < kind.tolerance
    run.ensure(is_near, f"the merged model agrees with the trained one in {job.dtype}")
    base = _find_base(job)
    kind.save(job, model, base, new)
    _carry_files(job, base, new)
    replace_folder(out, new)


def _carry_files(job: Job, base: Path, folder: Path) -> None:
    """Add the base's small files as they are, above all its tokenizer's, and complete them."""
    for path in sorted(base.iterdir()):
        is_left_out = path.name.endswith((*_WEIGHTS, ".index.json", "README.md"))
        if path.is_file() and not is_left_out and not (folder / path.name).exists():
            shutil.copyfile(path, folder / path.name)
    if job.chat_template:
        shutil.copyfile(job.chat_template, folder / "chat_template.jinja")
    elif (named := base / "additional_chat_templates").is_dir():  # such as the one for tools
        shutil.copytree(named, folder / named.name, dirs_exist_ok=True)
    for finish in job.finish:
        finish(folder)
    # transformers uses chat_template.jinja if there is one, and llama.cpp's converter prefers the
    # template in tokenizer_config.json: only one of them may remain.
    settings = folder / "tokenizer_config.json"
    if (folder / "chat_template.jinja").is_file() and settings.is_file():
        write_json(settings, {k: v for k, v in read_json(settings).items() if k != "chat_template"})


def _find_base(job: Job) -> Path:
    """Return a folder with the small files of the base model, downloaded if it is on the Hub."""
    if Path(job.base).is_dir():
        return Path(job.base)
    revision = job.options.get("revision")
    return Path(snapshot_download(str(job.base), revision=revision, allow_patterns=SMALL_FILES))
