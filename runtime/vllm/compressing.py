"""Rounds the merged model to a type that vLLM and SGLang read, matrix by matrix.

The files are those of `compressed-tensors`. Each weight is rounded to the nearest value of its
type: nothing is searched as GPTQ and AWQ do. Matrices that an engine joins (query, key and value;
gate and up) share the scale of a whole matrix, since the engine keeps one for all of them.
"""

import math
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from compressed_tensors.compressors import BaseCompressor, ModelCompressor
from compressed_tensors.compressors.format import infer_module_format
from compressed_tensors.quantization import (
    QuantizationConfig,
    QuantizationStatus,
    preset_name_to_scheme,
)
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from safetensors import safe_open
from safetensors.torch import save_file

from ..files import write_json
from ..models.output_head import find_head

JOINED: Final = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))
INDEX: Final = "model.safetensors.index.json"
TOLERANCE: Final = 1.05  # times the error of rounding the same matrix again, which is equal
INPUT_TOLERANCE: Final = 0.01  # of an input's scale, which 16 bits round
INPUT_SCALES: Final = ("input_scale", "input_global_scale")
_SUFFIX: Final = ".weight"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The largest absolute value of a matrix, and of its inputs on training rows."""

    weight: float
    input: float


Extents = Mapping[str, Extent]  # by the name of a module


def find_scheme(kind: str) -> Any:
    """Return what a type of the spec means for `compressed-tensors`: its preset of that name."""
    return preset_name_to_scheme(kind, ["Linear"])


def list_matrices(model: Any) -> dict[str, Any]:
    """Return the linear modules of the layers by name: all of the model but its output head."""
    head = find_head(model)
    return {
        name: module
        for name, module in model.named_modules()
        if type(module) is torch.nn.Linear and module is not head
    }


def list_kept(model: Any) -> list[str]:
    """Return the linear modules that keep 16 bits, which config.json names for the engines."""
    rounded = list_matrices(model)
    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and name not in rounded
    ]


def join_extents(extents: Extents) -> dict[str, Extent]:
    """Return the extents with the largest of the joined matrices for each of them."""
    found = dict(extents)
    for group in JOINED:
        for parent in {name.rpartition(".")[0] for name in extents}:
            names = [f"{parent}.{end}" for end in group if f"{parent}.{end}" in extents]
            if len(names) == len(group):
                most = max(extents[name].weight for name in names)
                found |= {n: Extent(weight=most, input=extents[n].input) for n in names}
    return found


def compress(weight: Any, scheme: Any, extent: Extent) -> dict[str, Any]:
    """Return the tensors of a rounded matrix by their names in its module.

    `extent` is that of the joined matrices. The scales of inputs are for the largest input that
    was seen.
    """
    args, inputs = scheme.weights, scheme.input_activations
    state = {"weight": weight}
    whole = None
    most = torch.tensor(extent.weight)
    if args.strategy == "tensor_group":
        whole = generate_gparam(-most, most).reshape(1)
        state["weight_global_scale"] = whole
    if args.group_size:
        low, high = weight.float().unflatten(-1, (-1, args.group_size)).aminmax(dim=-1)
    elif args.strategy == "channel":
        low, high = weight.float().aminmax(dim=-1, keepdim=True)
    else:
        low, high = -most, most
    scale, _ = calculate_qparams(low, high, args, global_scale=whole)
    state["weight_scale"] = scale.to(weight.dtype)
    if inputs is not None and inputs.dynamic is not True:
        seen = torch.tensor(extent.input)
        if inputs.dynamic == "local":
            state["input_global_scale"] = generate_gparam(-seen, seen).reshape(1)
        else:
            state["input_scale"] = calculate_qparams(-seen, seen, inputs)[0].to(weight.dtype)
    compressed: dict[str, Any] = _find_compressor(scheme).compress(state, scheme)
    return {name: tensor.contiguous() for name, tensor in compressed.items()}


def _find_compressor(scheme: Any) -> Any:
    return BaseCompressor.get_value_from_registry(_find_format(scheme))


def _find_format(scheme: Any) -> str:
    return str(infer_module_format(torch.nn.Linear, scheme).value)


# -----------------------------------------------------------------------------
# A folder


def write_folder(merged: Path, out: Path, kind: str, extents: Extents, kept: list[str]) -> None:
    """Write a folder that vLLM and SGLang load: weights, config, tokenizer, chat template.

    One file of weights is in memory at a time. Raises ValueError if a matrix of `extents` is in no
    file.
    """
    scheme, left = find_scheme(kind), set(extents)
    out.mkdir(parents=True)
    where: dict[str, str] = {}
    total = 0
    for shard in list_shards(merged):
        state: dict[str, Any] = {}
        with safe_open(shard, "pt") as file:
            for name in file.keys():  # noqa: SIM118 - not a mapping
                module = name.removesuffix(_SUFFIX)
                if name.endswith(_SUFFIX) and module in extents:
                    left.discard(module)
                    rounded = compress(file.get_tensor(name), scheme, extents[module])
                    state |= {f"{module}.{part}": tensor for part, tensor in rounded.items()}
                else:
                    state[name] = file.get_tensor(name)
        save_file(state, out / shard.name, metadata={"format": "pt"})
        where |= dict.fromkeys(state, shard.name)
        total += sum(tensor.nbytes for tensor in state.values())
    if left:
        raise ValueError(f"the merged model's files have no {min(left)}{_SUFFIX}")
    if (merged / INDEX).is_file():
        write_json(out / INDEX, {"metadata": {"total_size": total}, "weight_map": where})
    for path in merged.iterdir():
        if path.is_file() and path.suffix != ".safetensors" and path.name != INDEX:
            shutil.copyfile(path, out / path.name)
    said = QuantizationConfig(
        config_groups={"group_0": scheme},
        ignore=kept,
        format=_find_format(scheme),
        quantization_status=QuantizationStatus.COMPRESSED,
    )
    ModelCompressor(quantization_config=said).update_config(str(out))


def list_shards(folder: Path) -> list[Path]:
    """Return a model's files of weights."""
    return sorted(folder.glob("*.safetensors"))


# -----------------------------------------------------------------------------
# The folder against the merged model


def measure(merged: Path, folder: Path, kind: str, extents: Extents) -> list[dict[str, Any]]:
    """Return the rounding error of each matrix in a folder, relative to its weights.

    `error` is that of the folder, `expected` that of rounding the matrix again. `inputs` says
    whether the scales of inputs are those that training rows give. A tensor that is missing or has
    another shape or type gives an infinite error.
    """
    scheme, found = find_scheme(kind), []
    parts = _read_parts(folder, extents)
    for shard in list_shards(merged):
        with safe_open(shard, "pt") as file:
            for name in file.keys():  # noqa: SIM118 - not a mapping
                module = name.removesuffix(_SUFFIX)
                if not name.endswith(_SUFFIX) or module not in extents:
                    continue
                right = file.get_tensor(name)
                again = compress(right, scheme, extents[module])
                state = dict(parts(module))
                entry = {"name": name, "type": kind, "weights": right.numel()}
                entry["expected"] = _find_error(again, right, scheme)
                entry["error"] = (
                    _find_error(state, right, scheme) if _is_alike(state, again) else math.inf
                )
                entry["inputs"] = all(
                    torch.isclose(state[part], again[part], rtol=INPUT_TOLERANCE, atol=0).all()
                    for part in INPUT_SCALES
                    if part in again and part in state
                )
                found.append(entry)
    return found


def _read_parts(folder: Path, extents: Extents) -> Any:
    """Return a function that yields the tensors of a module in a folder, by their own names."""
    files: list[Any] = [safe_open(path, "pt") for path in list_shards(folder)]
    places: dict[str, list[tuple[str, Any]]] = {}
    for file in files:
        for name in file.keys():  # noqa: SIM118 - not a mapping
            module, _, part = name.rpartition(".")
            if module in extents:
                places.setdefault(module, []).append((part, file))

    def read(module: str) -> Iterator[tuple[str, Any]]:
        for part, file in places.get(module, ()):
            yield part, file.get_tensor(f"{module}.{part}")

    return read


def _is_alike(state: Mapping[str, Any], again: Mapping[str, Any]) -> bool:
    """Return whether all tensors are there, in the same types and shapes."""
    return state.keys() == again.keys() and all(
        (state[part].dtype, state[part].shape) == (tensor.dtype, tensor.shape)
        for part, tensor in again.items()
    )


def _find_error(state: Mapping[str, Any], right: Any, scheme: Any) -> float:
    """Return the root mean square of the difference over that of the right weights."""
    rounded = _find_compressor(scheme).decompress(dict(state), scheme)["weight"]
    error = (rounded.double() - right.double()).square().mean().item()
    size = right.double().square().mean().item()
    if not math.isfinite(error):
        return math.inf
    return math.sqrt(error / size) if size else math.sqrt(error)


def find_fault(found: list[dict[str, Any]]) -> str | None:
    """Return a sentence about a matrix that its type does not explain, or None."""
    for entry in found:
        if not entry["error"] <= TOLERANCE * entry["expected"]:
            return (
                f"its {entry['name']} has a relative error of {entry['error']:.4f} against the"
                f" merged model, and rounding to {entry['type']} explains {entry['expected']:.4f}"
            )
        if not entry["inputs"]:
            return (
                f"the scale of the inputs of its {entry['name']} is not the one that the training"
                " rows give"
            )
    return None
