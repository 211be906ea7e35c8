"""The shape of models whose tensors were derived from the classes of transformers.

`.ci/architectures.py` writes the table, `derived_architectures.json`. An entry has a line per
tensor: its name within a layer, its sides as sums of products of config keys, and on what it
depends: a kind of layer (`mixer=`, `mlp=`), a key that is set, one that is not (`!key`), or one
that the config says itself (`?key`), where another size takes its place otherwise. A value that
an entry requires may be that of another key (`=key`). A key of `positive` is null in
models without its tensors; 0 would make tensors without elements.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import prod
from typing import Final, NotRequired, TypedDict, cast

from ftc.compiler.knowledge.expression import evaluate
from ftc.compiler.knowledge.layer_kinds import Form, plain_kind, read_kinds
from ftc.compiler.knowledge.shape import RECURRENT, LayerKind, LinearShape, Shape

__all__ = [
    "CHOSEN_EXPERTS",
    "EXPERTS",
    "Entry",
    "Named",
    "derived_table",
    "find_zero",
    "is_end_to_end",
    "is_recurrent",
    "linear_keys",
    "named_sizes",
    "read_entry",
]

_CONTEXT: Final = ("max_position_embeddings", "model_max_length", "max_seq_len")
#: The keys that say how many experts a token has.
CHOSEN_EXPERTS: Final = (
    *("num_experts_per_tok", "moe_k", "moe_topk", "num_experts_per_token", "top_k_experts"),
    *("moe_top_k", "num_selected_experts"),
)
#: The keys that say how many experts a layer has.
EXPERTS: Final = (
    *("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"),
    *("num_moe_experts", "n_experts"),
)
_GATES: Final = ("gate_proj", "gate_up_proj", "w3", "input_linear")
_MATRIX_SIDES: Final = 2
_KEY: Final = re.compile(r"[A-Za-z_]\w*")
_DEEPEST_RULE: Final = 3  # rules for missing keys that lead to other missing keys
#: Kinds of layers that the formulas for equal layers describe.
_PLAIN: Final = frozenset({"full_attention", "sliding_attention"})
#: Without a limit of positions: what Mamba's published models were trained with.
_UNLIMITED_TOKENS: Final = 2048


class Entry(TypedDict):
    """One entry of `derived_architectures.json`; a tensor is [name, sides, conditions]."""

    model_type: str
    aliases: Mapping[str, str]
    mixer: Sequence[Form]
    mlp: Sequence[Form]
    stack: str
    embedding: str
    head: str
    linears: Sequence[str]
    layer: Sequence[tuple[str, str, str]]
    model: Sequence[tuple[str, str, str]]
    requires: Mapping[str, Sequence[object]]
    defaults: Mapping[str, int | bool | str]
    nulls: Mapping[str, int | str]
    positive: NotRequired[Sequence[str]]
    rounded: NotRequired[Mapping[str, str]]
    packs: NotRequired[bool]


@dataclass(frozen=True, slots=True)
class _Config:
    """A `config.json`, read with the names, defaults and rules of its class."""

    entry: Entry
    data: Mapping[str, object]

    def value(self, key: str, depth: int = 0) -> object:
        """Return the value of a key as the class's configuration resolves it."""
        if key == "rounded_width":
            return self._rounded(self.entry.get("rounded", {}))
        found, is_said = self._said(key)
        if found == "auto":
            is_said = False
        elif is_said and found is not None:
            return found
        rule = self.entry["nulls" if is_said else "defaults"].get(key)
        if not isinstance(rule, str):
            return rule
        return None if depth > _DEEPEST_RULE else evaluate(rule, self._at(depth + 1), floor=True)

    def _at(self, depth: int) -> Callable[[str], object]:
        """Return how the keys of a rule are read, so many rules deep."""
        return lambda name: self.value(name, depth)

    def _said(self, key: str) -> tuple[object, bool]:
        """Return what the file says of a key, under any of its names, and whether it does."""
        for path in self._paths(key):
            where, is_said = _look(self.data, path)
            if is_said:
                return where, True
        return None, False

    def says(self, key: str) -> bool:
        """Return whether the file has a value for the key that is neither null nor zero."""
        return bool(self._said(key)[0])

    def _paths(self, key: str) -> Iterator[tuple[str, ...]]:
        """Yield the places where a key may be."""
        aliases = self.entry["aliases"]
        names = [key, *(name for name, real in aliases.items() if real == key)]
        names += [aliases[key]] if key in aliases else []
        yield from (tuple(name.split(".")) for name in names)

    def path(self, key: str) -> tuple[str, ...]:
        """Return where the file says a key, or the key itself if it does not."""
        for path in self._paths(key):
            if _look(self.data, path)[0] is not None:
                return path
        return (key,)

    def _rounded(self, keys: Mapping[str, str]) -> int | None:
        """Return a width of which two thirds are rounded up to a multiple (`Lfm2MLP`)."""
        width, multiple = self.value(keys["of"]), self.value(keys["multiple"])
        times = self.value(keys["times"])
        if not self.value(keys["where"]) or type(width) is not int:
            return width if type(width) is int else None
        if type(multiple) is not int or multiple <= 0 or not isinstance(times, int | float | None):
            return None
        least = int(2 * width / 3) if times is None else int(times * int(2 * width / 3))
        return -(-least // multiple) * multiple

    def size(self, *keys: str) -> int | None:
        """Return the first of these keys that is a positive integer, or one for all layers."""
        values = (_single(self.value(self.entry["aliases"].get(key, key))) for key in keys)
        return next((v for v in values if type(v) is int and v > 0), None)

    def holds(self, conditions: str, mixer: str, mlp: str) -> bool:
        """Tell whether a tensor's conditions hold in a layer of this kind."""
        for condition in conditions.split():
            word, _, kind = condition.partition("=")
            if kind:
                if kind != (mixer if word == "mixer" else mlp):
                    return False
            elif word.startswith("?"):
                if not self.says(word.removeprefix("?")):
                    return False
            elif bool(self.value(word.removeprefix("!"))) == word.startswith("!"):
                return False
        return True

    def sides(self, text: str) -> tuple[int, ...] | None:
        """Return the sides of a tensor, or None if one is not a positive integer."""
        found = [evaluate(side, lambda key: _single(self.value(key))) for side in text.split(" x ")]
        sides = tuple(side for side in found if side is not None)
        return sides if len(sides) == len(found) else None


def _look(data: object, path: Sequence[str]) -> tuple[object, bool]:
    """Return what is at a path of keys, where `*` is the first, and whether there is anything."""
    for part in path:
        if not isinstance(data, Mapping) or not data or part not in (*data, "*"):
            return None, False
        data = next(iter(data.values())) if part == "*" else data[part]
    return data, True


def _single(value: object) -> object:
    """Reduce a per-layer list of equal values to that value; return anything else unchanged."""
    alike = isinstance(value, list) and value and all(each == value[0] for each in value)
    return value[0] if isinstance(value, list) and alike else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A size that a class reads: where the config says it, or would, and its value.

    `follows`: it is said nowhere and follows from others.
    """

    path: tuple[str, ...]
    value: int
    follows: bool


_Tensors = Mapping[str, tuple[int, ...]]


def derived_table() -> Mapping[str, Entry]:
    """Return all entries by the name of the class."""
    return _table()


def named_sizes(entry: Entry, config: Mapping[str, object]) -> Mapping[str, Named]:
    """Return the config values that this class's tensor sizes depend on, by config key."""
    read, found = _Config(entry, config), {}
    rows = (*entry["layer"], *entry["model"])
    for key in dict.fromkeys(key for _, sides, _ in rows for key in _KEY.findall(sides)):
        value = read.value(key)
        if key != "x" and type(value) is int and value > 0:
            follows = not read.says(key) and isinstance(entry["defaults"].get(key), str)
            found[key] = Named(path=read.path(key), value=value, follows=follows)
    return found


def read_entry(name: str, entry: Entry, config: Mapping[str, object]) -> Shape | None:
    """Return the shape of a model of this class; None where the entry does not describe it."""
    read = _Config(entry, config)
    for key, allowed in entry["requires"].items():
        value = _single(read.value(key))
        others = (read.value(str(name)[1:]) for name in allowed if str(name).startswith("="))
        if value not in (*allowed, *others):
            return None
    kinds = _kinds(read)
    outside = _tensors(read, entry["model"], "", "")
    if kinds is None or outside is None or find_zero(entry, config) is not None:
        return None
    layers = {kind: _tensors(read, entry["layer"], *kind) for kind in dict.fromkeys(kinds)}
    known = {kind: tensors for kind, tensors in layers.items() if tensors is not None}
    if len(known) < len(layers) or not all(known.values()):
        return None
    return _shape(name, read, kinds, known, outside)


def find_zero(entry: Entry, config: Mapping[str, object]) -> str | None:
    """Return the key whose 0 would make tensors without elements, or None."""
    read = _Config(entry, config)
    keys = entry.get("positive", ())
    return next((key for key in keys if type(read.value(key)) is int and not read.value(key)), None)


def is_recurrent(architecture: str) -> bool:
    """Return whether a model of this class can have layers that carry a state."""
    entry = _table().get(architecture)
    return entry is not None and any(
        RECURRENT & {form.get("kind"), *form.get("kinds", ()), *form.get("letters", {}).values()}
        or any(
            "mixer=linear_attention" in when or "mixer=conv" in when for *_, when in entry["layer"]
        )
        for form in entry["mixer"]
    )


def linear_keys(entry: Entry) -> Mapping[str, str]:
    """Return the shortest ending that only this module has, for each linear module of a layer."""
    keys = {}
    for module in entry["linears"]:
        parts = module.split(".")
        endings = [".".join(parts[n:]) for n in range(len(parts) - 1, -1, -1)]
        keys[module] = next(
            (e for e in endings if sum(f".{m}".endswith(f".{e}") for m in entry["linears"]) == 1),
            module,
        )
    return keys


def _kinds(read: _Config) -> tuple[tuple[str, str], ...] | None:
    """Return the (mixer, MLP) of each layer."""
    layers = read.size("num_hidden_layers") or _listed(read)
    if layers is None:
        return None
    mixers = read_kinds(read.entry["mixer"], read.value, layers)
    mlps = read_kinds(read.entry["mlp"], read.value, layers)
    return None if mixers is None or mlps is None else tuple(zip(mixers, mlps, strict=True))


def _listed(read: _Config) -> int | None:
    """Return the number of layers where only the list of their kinds says it."""
    values = (read.value(str(form["key"])) for form in read.entry["mixer"] if "key" in form)
    return next((len(value) for value in values if isinstance(value, list | str)), None)


def _tensors(
    read: _Config, rows: Sequence[tuple[str, str, str]], mixer: str, mlp: str
) -> _Tensors | None:
    """Return the sides of the tensors that a layer of this kind has, or the model outside them."""
    found = {n: read.sides(sides) for n, sides, when in rows if read.holds(when, mixer, mlp)}
    known = {name: sides for name, sides in found.items() if sides is not None}
    return known if len(known) == len(found) else None


def _shape(
    name: str,
    read: _Config,
    kinds: Sequence[tuple[str, str]],
    layers: Mapping[tuple[str, str], _Tensors],
    outside: _Tensors,
) -> Shape:
    """Add up the tensors of all layers, and of what is outside them."""
    entry, counts = read.entry, Counter(kinds)
    vocab, hidden = outside[entry["embedding"]]
    head = prod(outside[entry["head"]]) if entry["head"] in outside else 0
    embedding = sum(prod(s) for n, s in outside.items() if "embed" in n or n == entry["embedding"])
    each = {kind: sum(map(prod, tensors.values())) for kind, tensors in layers.items()}
    heads = read.size("num_attention_heads") or 1
    experts = _experts(read, layers)
    shapes = _linears(entry, layers, counts)
    plain = len(counts) == 1 and kinds[0][0] in _PLAIN
    return Shape(
        architecture=name,
        model_type=entry["model_type"],
        layers=len(kinds),
        hidden=hidden,
        intermediate=read.size("intermediate_size", "moe_intermediate_size") or 4 * hidden,
        heads=heads,
        kv_heads=heads if _latent(read) else read.size("num_key_value_heads") or heads,
        head_dim=_latent(read) or read.size("head_dim") or max(1, hidden // heads),
        vocab=vocab,
        context_tokens=read.size(*_CONTEXT) or _UNLIMITED_TOKENS,
        tied=not head,
        attention_bias=any(
            n.endswith("q_proj.bias") for tensors in layers.values() for n in tensors
        ),
        norm="layer" if _has_norm_bias(layers) else "rms",
        gated_mlp=any(g in n for tensors in layers.values() for n in tensors for g in _GATES),
        experts=experts[0],
        experts_per_token=(read.size(*CHOSEN_EXPERTS) or 1) if experts[0] else 0,
        expert_intermediate=experts[1],
        parameters=sum(map(prod, outside.values())) + sum(n * each[k] for k, n in counts.items()),
        embedding_parameters=embedding,
        head_parameters=head,
        expert_parameters=sum(
            count * _expert_parameters(entry, layers[kind]) for kind, count in counts.items()
        ),
        linear_parameters=sum(
            count * sum(prod(_weight(layers[kind], m)) for m in _present(entry, layers[kind]))
            for kind, count in counts.items()
        ),
        largest_layer_parameters=max(each.values()),
        linear_shapes=shapes,
        kinds=() if plain else _layer_kinds(entry, layers, counts, each),
        order=() if plain else tuple(list(layers).index(kind) for kind in kinds),
    )


def _layer_kinds(
    entry: Entry,
    layers: Mapping[tuple[str, str], _Tensors],
    counts: Mapping[tuple[str, str], int],
    each: Mapping[tuple[str, str], int],
) -> tuple[LayerKind, ...]:
    keys = linear_keys(entry)
    return tuple(
        LayerKind(
            mixer=plain_kind(kind[0]),
            mlp="sparse" if _expert_parameters(entry, tensors) else plain_kind(kind[1]),
            count=counts[kind],
            parameters=each[kind],
            linears=tuple(keys[module] for module in _present(entry, tensors)),
        )
        for kind, tensors in layers.items()
    )


def _linears(
    entry: Entry,
    layers: Mapping[tuple[str, str], _Tensors],
    counts: Mapping[tuple[str, str], int],
) -> dict[str, LinearShape]:
    """Return the linear modules of all kinds of layers, by the shortest target of each."""
    found: dict[str, LinearShape] = {}
    for module, key in linear_keys(entry).items():
        sides = {k: _weight(t, module) for k, t in layers.items() if module in _present(entry, t)}
        if not sides:
            continue
        total = sum(counts[kind] * sum(pair) for kind, pair in sides.items())
        found[key] = LinearShape(
            in_features=max(columns for _, columns in sides.values()),
            out_features=max(rows for rows, _ in sides.values()),
            count=sum(counts[kind] for kind in sides),
            sides=total if len(set(sides.values())) > 1 else None,
        )
    return found


def _present(entry: Entry, tensors: _Tensors) -> tuple[str, ...]:
    return tuple(module for module in entry["linears"] if f"{module}.weight" in tensors)


def _weight(tensors: _Tensors, module: str) -> tuple[int, int]:
    """Return a linear module's outputs and inputs."""
    rows, columns = tensors[f"{module}.weight"]
    return rows, columns


def _experts(read: _Config, layers: Mapping[tuple[str, str], _Tensors]) -> tuple[int, int]:
    """Return how many experts a layer has and how wide one is, from their fused last projection.

    Where the experts lie end to end in a matrix, both are read from the config.
    """
    for tensors in layers.values():
        for name, sides in tensors.items():
            if _is_fused(name, sides):
                if len(sides) == _MATRIX_SIDES:
                    return read.size(*EXPERTS) or 0, read.size("intermediate_size") or 0
                if "down_proj" in name or "output_linear" in name:
                    return sides[0], sides[2]
    return 0, 0


def _is_fused(name: str, sides: Sequence[int]) -> bool:
    """Tell whether a tensor has the weights of all experts: stacked, or end to end in a matrix."""
    if len(sides) == _MATRIX_SIDES:
        return is_end_to_end(name)
    return len(sides) > _MATRIX_SIDES and ("expert" in name or "_linear" in name)


def is_end_to_end(name: str) -> bool:
    """Tell whether a matrix has all experts under each other (`DbrxExpertGLU`).

    It is a parameter of its own, as the weight of a linear module has that word in its name.
    """
    return "expert" in name and not name.endswith((".weight", "bias", "scale"))


def _expert_parameters(entry: Entry, tensors: _Tensors) -> int:
    """Return the parameters of a layer's fused experts and of a router that is no linear module."""
    linear = {f"{module}.weight" for module in entry["linears"]}
    fused = [name for name, sides in tensors.items() if _is_fused(name, sides)]
    if not fused:
        return 0
    routers = [
        name
        for name, sides in tensors.items()
        if len(sides) > 1
        and name not in (*fused, *linear)
        and ("gate" in name or "router" in name)
        and "conv" not in name
    ]
    return sum(prod(tensors[name]) for name in (*fused, *routers))


def _latent(read: _Config) -> int | None:
    """Return the width of a head of latent attention, whose keys have two parts; None without."""
    still, turned = read.size("qk_nope_head_dim"), read.size("qk_rope_head_dim")
    return still + turned if still and turned else None


def _has_norm_bias(layers: Mapping[tuple[str, str], _Tensors]) -> bool:
    names = {name for tensors in layers.values() for name in tensors}
    return any(
        name.endswith(("layernorm.bias", "layer_norm.bias"))
        and "self_attn" not in name
        and "indexer" not in name
        for name in names
    )


@cache
def _table() -> Mapping[str, Entry]:
    path = files("ftc.compiler.knowledge") / "derived_architectures.json"
    return cast("dict[str, Entry]", json.loads(path.read_text(encoding="utf-8")))
