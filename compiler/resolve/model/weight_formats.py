"""Recognizes the format of weights that transformers does not read, by the names of their files."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Final

from ftc.spec.message import Message

__all__ = ["Format", "find_format", "list_files", "list_foreign"]

_MOST_FILES: Final = 5000
#: How deep below the model's folder files are looked for: shards are often in a folder of theirs.
_DEPTH: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format by the patterns of its files' names; what it is, and how to get a usable model."""

    patterns: tuple[str, ...]
    what: Message
    advice: Message


#: The first that fits counts. The patterns are of names without their folder.
_FORMATS: Final = (
    Format(
        patterns=("*_model_states.pt", "*_optim_states.pt"),
        what=Message("phrase.weights.zero"),
        advice=Message("phrase.weights.zero.advice"),
    ),
    Format(
        patterns=("*.distcp",),
        what=Message("phrase.weights.distributed"),
        advice=Message("phrase.weights.distributed.advice"),
    ),
    Format(
        patterns=("model_optim_rng.pt", "*.nemo"),
        what=Message("phrase.weights.megatron"),
        advice=Message("phrase.weights.megatron.advice"),
    ),
    Format(
        patterns=("tf_model*.h5", "*.ckpt.index", "*.ckpt-*.index"),
        what=Message("phrase.weights.tensorflow"),
        advice=Message("phrase.weights.tensorflow.advice"),
    ),
    Format(
        patterns=("*.msgpack",),
        what=Message("phrase.weights.flax"),
        advice=Message("phrase.weights.flax.advice"),
    ),
    Format(
        patterns=("*.npz", "weights.*.safetensors", "weights.safetensors"),
        what=Message("phrase.weights.mlx"),
        advice=Message("phrase.weights.exported.advice"),
    ),
    Format(
        patterns=("*.gguf", "ggml-*.bin"),
        what=Message("phrase.weights.gguf"),
        advice=Message("phrase.weights.exported.advice"),
    ),
    Format(
        patterns=("*.onnx", "*.onnx_data*"),
        what=Message("phrase.weights.onnx"),
        advice=Message("phrase.weights.exported.advice"),
    ),
    Format(
        patterns=(
            *("openvino_*.bin", "openvino_*.xml", "model.bin", "*.engine", "*.plan", "*.tflite"),
            *("*.task", "*.litertlm", "*.pte", "*.mlmodel", "weight.bin", "params_shard_*.bin"),
            *("saved_model.pb", "*.rkllm", "*.exl2", "*.mnn"),
        ),
        what=Message("phrase.weights.exported"),
        advice=Message("phrase.weights.exported.advice"),
    ),
    Format(
        patterns=("*.bin", "*.pt", "*.pth", "*.ckpt"),
        what=Message("phrase.weights.pickle"),
        advice=Message("phrase.weights.pickle.advice"),
    ),
)
#: Files and folders beside the weights in a trainer's checkpoint, and adapters.
_STATES: Final = (
    *("optimizer*", "scheduler*", "scaler*", "rng_state*", "random_states*", "training_args*"),
    *("adapter_model*", "*tokenizer*", "vocab*", "sampler*", "custom_checkpoint*", "opt_state*"),
)


def find_format(file: str) -> Format | None:
    """Return the format of a file by its name; None for one that holds no weights."""
    name = file.rpartition("/")[2]
    if any(fnmatch(part, pattern) for part in file.split("/") for pattern in _STATES):
        return None
    fits = (each for each in _FORMATS if any(fnmatch(name, one) for one in each.patterns))
    return next(fits, None)


def list_foreign(files: Iterable[str]) -> tuple[str, ...]:
    """Return the files of the first format that any of the files has."""
    found = [(name, form) for name in sorted(files) if (form := find_format(name)) is not None]
    first = min((_FORMATS.index(form) for _, form in found), default=None)
    return tuple(name for name, form in found if _FORMATS.index(form) == first)


def list_files(folder: Path) -> list[str]:
    """Return the names of files in a folder, and in those inside it to a small depth."""
    paths = (path for depth in range(_DEPTH + 1) for path in folder.glob("*/" * depth + "*"))
    some = islice(paths, _MOST_FILES)
    return [path.relative_to(folder).as_posix() for path in some if path.is_file()]
