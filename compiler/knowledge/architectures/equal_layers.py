"""The shape of a model of equal layers, from the named sizes of its tensors.

An entry of `encoders.json` is such a formula; a tensor is a list of the names of its sides.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from ftc.compiler.knowledge.architectures.shape import LinearShape, Shape

__all__ = ["count_tensors", "make_shape"]


class Formula(TypedDict):
    """The tensors of a class, and the defaults of its configuration."""

    model_type: str
    norm: Literal["rms", "layer"]
    defaults: dict[str, int | bool | None]
    linears: dict[str, tuple[str, str, bool | str]]
    layer_tensors: list[list[str]]
    model_tensors: list[list[str]]


def make_shape(name: str, entry: Formula, config: Mapping[str, object]) -> Shape | None:
    """Apply a formula to a `config.json`; None where a size is not a positive integer."""
    sizes = _sizes(entry, config)
    return None if sizes is None else _shape(name, entry, config, sizes)


def count_tensors(
    entry: Formula, config: Mapping[str, object], tensors: Sequence[Sequence[str]]
) -> int:
    """Return the weights of some tensors of a model that a formula describes."""
    return _volume(tensors, _sizes(entry, config) or {})


def _sizes(entry: Formula, config: Mapping[str, object]) -> dict[str, int] | None:
    """Return every named size of the tensors, or None if one is not a valid size."""

    def read(key: str, fallback: int | None = None) -> int | None:
        value = config.get(key, entry["defaults"].get(key))
        value = fallback if value is None else value
        return value if type(value) is int and value > 0 else None

    hidden, heads = read("hidden_size"), read("num_attention_heads")
    if hidden is None or heads is None:
        return None
    typed = "type_vocab_size" in entry["defaults"]
    values = {
        "one": 1,
        "hidden": hidden,
        "heads": heads,
        "kv_heads": read("num_key_value_heads", heads),
        "head_dim": read("head_dim", hidden // heads),
        "intermediate": read("intermediate_size", 4 * hidden),
        "layers": read("num_hidden_layers"),
        "vocab": read("vocab_size"),
        "positions": read("max_position_embeddings"),
        "types": read("type_vocab_size") if typed else 0,
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
    name: str, entry: Formula, config: Mapping[str, object], sizes: Mapping[str, int]
) -> Shape:
    """Add up the tensors: linears and vectors per layer, then tensors outside the layers."""
    layers, tied = sizes["layers"], _flag(entry, config, "tie_word_embeddings")
    linears = {
        key: LinearShape(in_features=sizes[i], out_features=sizes[o], count=layers)
        for key, (i, o, _) in entry["linears"].items()
    }
    weights = sum(linear.in_features * linear.out_features for linear in linears.values())
    biased = [(i, o) for i, o, bias in entry["linears"].values() if _flag(entry, config, bias)]
    layer = weights + sum(sizes[o] for _, o in biased) + _volume(entry["layer_tensors"], sizes)
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
        gated_mlp=any(key.startswith("gate_") for key in linears),
        experts=0,
        experts_per_token=0,
        expert_intermediate=0,
        parameters=embedding + head + layers * layer + _volume(others, sizes),
        embedding_parameters=embedding,
        head_parameters=head,
        expert_parameters=0,
        linear_parameters=layers * weights,
        largest_layer_parameters=layer,
        linear_shapes=linears,
    )


def _flag(entry: Formula, config: Mapping[str, object], flag: bool | str) -> bool:
    """Return a bias or tie flag: fixed by the formula, or the value of a key of the config."""
    if isinstance(flag, bool):
        return flag
    return bool(config.get(flag, entry["defaults"].get(flag, False)))


def _volume(tensors: Sequence[Sequence[str]], sizes: Mapping[str, int]) -> int:
    return sum(math.prod(sizes[side] for side in tensor) for tensor in tensors)
