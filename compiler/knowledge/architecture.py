"""The shape of a causal language model: its parameter counts, from its `config.json` alone."""

import itertools
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, NotRequired, TypedDict, cast

from ftc.compiler.knowledge.derived import derived_table, is_recurrent, read_entry
from ftc.compiler.knowledge.shape import LayerKind, LinearShape, Shape
from ftc.compiler.knowledge.windows import read_windows

__all__ = [
    "LayerKind",
    "LinearShape",
    "Shape",
    "class_of_type",
    "converted_class",
    "count_adapter_parameters",
    "find_unfit_keys",
    "has_entry",
    "is_convertible",
    "is_respelt",
    "keeps_packed_rows_apart",
    "linear_sides",
    "make_shape",
    "read_quantization",
    "read_shape",
    "spell_setting",
    "supports_sdpa",
]

_DATA = files("ftc.compiler.knowledge")


class _Entry(TypedDict):
    """One entry of `architectures.json`; a tensor is a list of the names of its dimensions."""

    model_type: str
    norm: Literal["rms", "layer"]
    defaults: dict[str, int | bool | None]
    linears: dict[str, tuple[str, str, bool | str]]
    layer_tensors: list[list[str]]
    model_tensors: list[list[str]]
    expert_tensors: NotRequired[list[list[str]]]
    keys: NotRequired[dict[str, list[str]]]
    requires: NotRequired[dict[str, list[object]]]
    sdpa: NotRequired[bool]
    packs: NotRequired[bool]
    repeats_keys: NotRequired[bool]


def read_quantization(config: Mapping[str, object]) -> str | None:
    """Return the method by which a `config.json` says that the weights are quantized, or None.

    MLX writes no method, only the numbers, under the key `quantization`.
    """
    said = config.get("quantization_config") or config.get("compression_config")
    if isinstance(said, dict) and "quant_method" in said:
        return str(said["quant_method"])
    own = config.get("quantization")
    if isinstance(own, dict) and "bits" in own:
        return "mlx"
    return "unknown" if isinstance(said, dict) else None


def read_shape(config: Mapping[str, object]) -> Shape | None:
    """Apply the table's formula to a `config.json`; None if no entry describes this model.

    A missing key takes the default of that class's configuration in transformers. The result is
    None if the formula does not apply (a variant of the class, a size that is not a positive
    integer).
    """
    shape = _read(config)
    if shape is None:
        return None
    tokens, layers = read_windows(shape, config)
    return replace(shape, window_tokens=tokens, window_layers=layers)


def _read(config: Mapping[str, object]) -> Shape | None:
    name = _name(config)
    if name is None:
        return None
    if name in derived_table():
        return read_entry(name, derived_table()[name], config)
    entry = _table()[name]
    for key, allowed in entry.get("requires", {}).items():
        if config.get(key) not in allowed:
            return None
    return make_shape(name, entry, config)


def find_unfit_keys(config: Mapping[str, object]) -> tuple[str, ...]:
    """Return the keys of a config of a known class any of which stands in the way of its shape.

    Without such a key the default of the class takes its place, and the sizes fit each other. A key
    that makes another variant of the class is right as it is.
    """
    name = _name(config)
    if name is None or read_shape(config) is not None:
        return ()
    entry: Mapping[str, Any] = derived_table().get(name) or _table()[name]
    variants = {"architectures", "model_type", *entry.get("requires", {})}
    others = {key: {k: v for k, v in config.items() if k != key} for key in config}
    return tuple(
        key for key, rest in others.items() if key not in variants and read_shape(rest) is not None
    )


def class_of_type(model_type: object) -> str | None:
    """Return the class that the tables have for a `model_type`; None for one they lack."""
    tables = itertools.chain(_table().items(), derived_table().items())
    return next((name for name, entry in tables if entry["model_type"] == model_type), None)


def make_shape(name: str, entry: Any, config: Mapping[str, object]) -> Shape | None:
    """Apply an entry of a table to a `config.json`; None where a size is not a valid one."""
    sizes = _sizes(entry, config)
    return None if sizes is None else _shape(name, entry, config, sizes)


def count_tensors(
    entry: Any, config: Mapping[str, object], tensors: Sequence[Sequence[str]]
) -> int:
    """Return the weights of some tensors of a model that an entry describes."""
    return _volume(tensors, _sizes(entry, config) or {})


def linear_sides(architecture: str) -> Mapping[str, tuple[str, str]]:
    """Return what each linear module's input and output are called in the table."""
    entry = _table().get(architecture)
    return {} if entry is None else {name: (i, o) for name, (i, o, _) in entry["linears"].items()}


def spell_setting(architecture: str, setting: str, config: Mapping[str, object]) -> str:
    """Return a setting as this class, and where it can this config, writes it; "" without one."""
    entry = _table().get(architecture)
    names = [setting] if entry is None else entry.get("keys", {}).get(setting, [setting])
    return next((name for name in (*(n for n in names if n in config), *names)), "")


def count_adapter_parameters(shape: Shape, targets: Collection[str], rank: int) -> int:
    """Count the parameters of a LoRA adapter: rank x (in + out) per module (arXiv 2106.09685)."""
    return sum(
        rank * (linear.sides or linear.count * (linear.in_features + linear.out_features))
        for name, linear in shape.linear_shapes.items()
        if any(name == target or name.endswith(f".{target}") for target in targets)
    )


def is_convertible(architecture: str) -> bool:
    """Return whether the converter of the pinned llama.cpp supports this architecture."""
    return architecture in _convertible()


def is_respelt(written: object, own: str | None) -> bool:
    """Return whether a config.json names the class of its `model_type` by an older spelling.

    Code in a repository is often older than the class in transformers, which loads the model by its
    `model_type`: `Ernie4_5_ForCausalLM`, `PhiMoEForCausalLM`. The converter must know it too.
    """
    if not isinstance(written, str) or own is None:
        return False
    alike = written.replace("_", "").casefold() == own.replace("_", "").casefold()
    return alike and (is_convertible(written) or not is_convertible(own))


def converted_class(architecture: str, wrapper: str | None) -> str:
    """Return the class that the converter reads a model as: that of its text, or the wrapper's."""
    names = (architecture, wrapper or architecture)
    return next((name for name in names if is_convertible(name)), architecture)


def supports_sdpa(architecture: str) -> bool:
    """Return whether the pinned transformers supports PyTorch's SDPA for this class.

    An architecture that is not in the table is assumed to support it, as most do.
    """
    entry = _table().get(architecture)
    return entry is None or entry.get("sdpa", True)


def repeats_keys(architecture: str) -> bool:
    """Return whether the class repeats shared keys and values for SDPA, or sets `enable_gqa`.

    Falcon leaves one key head to be broadcast. Without `enable_gqa`, no fused kernel of torch 2.13
    accepts different numbers of heads, on GPU or CPU (`check_batch_size_and_num_heads_dense`,
    sdp_utils_cpp.h). SDPA then falls back to plain operations, which store the scores.
    """
    entry = _table().get(architecture)
    return entry is None or entry.get("repeats_keys", True)


#: Multimodal classes that mix packed rows, although their language model alone keeps them apart:
#: measured on miniatures. Those of three positions a token take the position ids of text for these.
_MIXING: Final = frozenset(
    {
        "Glm46VForConditionalGeneration",
        "Glm4vForConditionalGeneration",
        "Glm4vMoeForConditionalGeneration",
        "HunYuanVLForConditionalGeneration",
        "PaddleOCRVLForConditionalGeneration",
        "PaliGemmaForConditionalGeneration",
        "Qwen2VLForConditionalGeneration",
        "Qwen2_5OmniThinkerForConditionalGeneration",
        "Qwen2_5_VLForConditionalGeneration",
    }
)


def has_entry(architecture: str) -> bool:
    """Return whether a table has the class, whatever a config says of its sizes."""
    return architecture in _table() or architecture in derived_table()


def keeps_packed_rows_apart(architecture: str, wrapper: str | None = None) -> bool | None:
    """Return whether packed rows do not attend to each other, given only their position ids.

    For most classes the pinned transformers makes a block mask from the position ids. Some classes
    do not pass them on, and a layer that carries a state from token to token cannot read them. None
    for an architecture that is in no table. `wrapper` is the multimodal class around it.
    """
    if is_recurrent(architecture) or wrapper in _MIXING:
        return False
    entry = _table().get(architecture) or derived_table().get(architecture)
    return None if entry is None else entry.get("packs", True)


@cache
def _table() -> dict[str, _Entry]:
    text = (_DATA / "architectures.json").read_text(encoding="utf-8")
    return cast("dict[str, _Entry]", json.loads(text))


@cache
def _convertible() -> frozenset[str]:
    text = (_DATA / "gguf_architectures.json").read_text(encoding="utf-8")
    return frozenset(json.loads(text)["architectures"])


def _name(config: Mapping[str, object]) -> str | None:
    """Return the name of the entry: the first of `architectures`, or the class of `model_type`."""
    architectures, own = config.get("architectures"), class_of_type(config.get("model_type"))
    if isinstance(architectures, list) and architectures:
        first = architectures[0]
        known = isinstance(first, str) and (first in _table() or first in derived_table())
        return first if known else own if is_respelt(first, own) else None
    return own


def _sizes(entry: _Entry, config: Mapping[str, object]) -> dict[str, int] | None:
    """Return every named size of the table's tensors, or None if one is not a valid size."""

    def read(key: str, fallback: int | None = None) -> int | None:
        names = entry.get("keys", {}).get(key, [key])
        where = next((m for m in (config, entry["defaults"]) for n in names if n in m), {})
        value = next((where[n] for n in names if n in where), None)
        value = fallback if value is None else value
        return value if type(value) is int and value > 0 else None

    hidden, heads = read("hidden_size"), read("num_attention_heads")
    if hidden is None or heads is None:
        return None
    intermediate = read("intermediate_size", 4 * hidden)
    moe, typed = "expert_tensors" in entry, "type_vocab_size" in entry["defaults"]
    shares = "shared_expert_intermediate_size" in entry["defaults"]
    values = {
        "one": 1,
        "hidden": hidden,
        "heads": heads,
        "kv_heads": read("num_key_value_heads", heads),
        "head_dim": read("head_dim", hidden // heads),
        "intermediate": intermediate,
        "layers": read("num_hidden_layers"),
        "vocab": read("vocab_size"),
        "positions": read("max_position_embeddings"),
        "types": read("type_vocab_size") if typed else 0,
        "experts": read("num_experts") if moe else 0,
        "experts_per_token": read("num_experts_per_tok") if moe else 0,
        "expert_intermediate": read("moe_intermediate_size") if moe else 0,
        "shared_intermediate": read("shared_expert_intermediate_size") if shares else 0,
    }
    sizes = {key: value for key, value in values.items() if value is not None}
    if len(sizes) < len(values):
        return None
    sizes["query"] = sizes["heads"] * sizes["head_dim"]
    sizes["key_value"] = sizes["kv_heads"] * sizes["head_dim"]
    sizes["query_key_value"] = sizes["query"] + 2 * sizes["key_value"]
    sizes["twice_intermediate"] = 2 * sizes["intermediate"]
    return sizes


def _shape(
    name: str, entry: _Entry, config: Mapping[str, object], sizes: Mapping[str, int]
) -> Shape:
    """Add up the tensors: linears and vectors per layer, then tensors outside the layers."""
    layers, tied = sizes["layers"], _flag(entry, config, "tie_word_embeddings")
    linears = {
        key: LinearShape(in_features=sizes[i], out_features=sizes[o], count=layers)
        for key, (i, o, _) in entry["linears"].items()
    }
    weights = sum(linear.in_features * linear.out_features for linear in linears.values())
    biased = [(i, o) for i, o, bias in entry["linears"].values() if _flag(entry, config, bias)]
    experts = _volume(entry.get("expert_tensors", []), sizes)
    layer = weights + sum(sizes[o] for _, o in biased)
    layer += _volume(entry["layer_tensors"], sizes) + experts
    positions = [side for side in entry["model_tensors"] if "positions" in side]
    others = [side for side in entry["model_tensors"] if "positions" not in side]
    embedding = sizes["vocab"] * sizes["hidden"] + _volume(positions, sizes)
    head = 0 if tied else sizes["vocab"] * sizes["hidden"]
    return Shape(
        architecture=name,
        model_type=entry["model_type"],
        layers=layers,
        hidden=sizes["hidden"],
        intermediate=sizes["intermediate"],
        heads=sizes["heads"],
        kv_heads=sizes["kv_heads"],
        head_dim=sizes["head_dim"],
        vocab=sizes["vocab"],
        context_tokens=sizes["positions"],
        tied=tied,
        attention_bias=any(i == "hidden" and o.startswith("query") for i, o in biased),
        norm=entry["norm"],
        gated_mlp=bool(experts) or any(key.startswith("gate_") for key in linears),
        experts=sizes["experts"],
        experts_per_token=sizes["experts_per_token"],
        expert_intermediate=sizes["expert_intermediate"],
        parameters=embedding + head + layers * layer + _volume(others, sizes),
        embedding_parameters=embedding,
        head_parameters=head,
        expert_parameters=layers * experts,
        linear_parameters=layers * weights,
        largest_layer_parameters=layer,
        linear_shapes=linears,
    )


def _flag(entry: _Entry, config: Mapping[str, object], flag: bool | str) -> bool:
    """Return a bias or tie flag: fixed by the table, or the value of a key of the config."""
    if isinstance(flag, bool):
        return flag
    return bool(config.get(flag, entry["defaults"].get(flag, False)))


def _volume(tensors: Sequence[Sequence[str]], sizes: Mapping[str, int]) -> int:
    return sum(math.prod(sizes[side] for side in tensor) for tensor in tensors)
