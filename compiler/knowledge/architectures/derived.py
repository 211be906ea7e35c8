"""The shape of models whose tensors were derived from the classes of transformers.

`.ci/architectures.py` writes the table, `derived_architectures.json`. An entry has a line per
tensor: its name within a layer, its sides as sums of products of config keys, and on what it
depends: a kind of layer (`mixer=`, `mlp=`), a key that is set, one that is not (`!key`), one that
differs from another (`key!=other`), or one that the config says itself (`?key`), where another size
takes its place otherwise. A value that
an entry requires may be that of another key (`=key`). A key of `positive` is null in
models without its tensors; 0 would make tensors without elements. The `unlearned` linear modules
run without gradients: they choose the tokens that others attend to.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Final, cast

from ftc.compiler.knowledge.architectures.derived_entry import (
    EncoderEntry,
    Entry,
    EntryConfig,
    single,
)
from ftc.compiler.knowledge.architectures.layer_cache import find_cached
from ftc.compiler.knowledge.architectures.layer_kinds import plain_kind, read_kinds
from ftc.compiler.knowledge.architectures.shape import RECURRENT, LayerKind, LinearShape, Shape
from ftc.compiler.knowledge.tables import read_table

__all__ = [
    "CHOSEN_EXPERTS",
    "EXPERTS",
    "UNLIMITED_TOKENS",
    "WIDTHS",
    "Entry",
    "Named",
    "derived_table",
    "encoder_table",
    "find_zero",
    "is_end_to_end",
    "is_recurrent",
    "linear_keys",
    "named_sizes",
    "read_entry",
]

_CONTEXT: Final = (
    *("max_position_embeddings", "model_max_length", "max_seq_len", "seq_length"),
    *("context_length", "n_positions"),
)
#: The keys for the width of a feed-forward layer.
WIDTHS: Final = (
    *("intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim", "dff", "hidden_dim"),
)
#: The keys for the number of experts per token.
CHOSEN_EXPERTS: Final = (
    *("num_experts_per_tok", "moe_k", "moe_topk", "num_experts_per_token", "top_k_experts"),
    *("moe_top_k", "num_selected_experts"),
)
#: The keys for the number of experts in a layer.
EXPERTS: Final = (
    *("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"),
    *("num_moe_experts", "n_experts"),
)
_BIASES: Final = tuple(f"{n}.bias" for n in ("q_proj", "qkv_proj", "query_key_value", "c_attn"))
_JOINT: Final = tuple(f"{n}.weight" for n in ("query_key_value", "qkv_proj", "c_attn", "Wqkv"))
_EMBEDDINGS: Final = ("embed", "wpe", "position")
_GATES: Final = ("gate_proj", "gate_up_proj", "w3", "input_linear")
_MATRIX_SIDES: Final = 2
_KEY: Final = re.compile(r"[A-Za-z_]\w*")
#: Kinds of layers that the formulas for equal layers describe.
_PLAIN: Final = frozenset({"full_attention", "sliding_attention"})
#: For models without a position limit: the training length of the published Mamba models.
UNLIMITED_TOKENS: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A size that a class reads: its place in the config, and its value.

    `follows`: the config does not have it, and it follows from other sizes.
    """

    path: tuple[str, ...]
    value: int
    follows: bool


_Tensors = Mapping[str, tuple[int, ...]]
#: The mixer and the MLP of a layer, and its own sizes from lists.
_Kind = tuple[str, str, tuple[tuple[str, int], ...]]


def derived_table() -> Mapping[str, Entry]:
    """Return all entries by the name of the class."""
    return _table()


@cache
def encoder_table() -> Mapping[str, EncoderEntry]:
    """Return the entries of encoders by the name of the class without a head."""
    return cast("dict[str, EncoderEntry]", read_table(__name__, "derived_encoders.json"))


def named_sizes(entry: Entry, config: Mapping[str, object]) -> Mapping[str, Named]:
    """Return the config values that this class's tensor sizes depend on, by config key."""
    read, found = EntryConfig(entry, config), {}
    rows = (*entry["layer"], *entry["model"])
    for key in dict.fromkeys(key for _, sides, _ in rows for key in _KEY.findall(sides)):
        value = read.value(key)
        if key != "x" and type(value) is int and value > 0:
            follows = not read.says(key) and isinstance(entry["defaults"].get(key), str)
            follows |= key in entry.get("scaled", {})
            found[key] = Named(path=read.path(key), value=value, follows=follows)
    return found


def read_entry(name: str, entry: Entry, config: Mapping[str, object]) -> Shape | None:
    """Return the shape of a model of this class; None if the entry does not describe it."""
    read = EntryConfig(entry, config)
    for key, allowed in entry["requires"].items():
        value = single(read.value(key))
        others = (read.value(str(name)[1:]) for name in allowed if str(name).startswith("="))
        if value not in (*allowed, *others):
            return None
    kinds = _kinds(read)
    outside = _tensors(read, entry["model"])
    if any(isinstance(read.value(key), str | bool) for key in _CONTEXT):
        return None
    if kinds is None or outside is None or find_zero(entry, config) is not None:
        return None
    if any(not _is_seen(entry, kind) for kind in set(kinds)):
        return None
    layers = {kind: _tensors(read, entry["layer"], kind) for kind in dict.fromkeys(kinds)}
    known = {kind: tensors for kind, tensors in layers.items() if tensors is not None}
    if len(known) < len(layers) or not all(known.values()):
        return None
    return _shape(name, read, kinds, known, outside)


def _is_seen(entry: Entry, kind: _Kind) -> bool:
    """Return whether the generator built layers of this kind; the tensors of others are unknown."""
    rows = [when for *_, when in entry["layer"]]
    return all(
        kind[place] in entry["kinds"][word] or not any(f"{word}=" in when for when in rows)
        for place, word in enumerate(("mixer", "mlp"))
    )


def find_zero(entry: Entry, config: Mapping[str, object]) -> str | None:
    """Return the key with a value of 0 that would make empty tensors, or None."""
    read = EntryConfig(entry, config)
    keys = entry.get("positive", ())
    return next((key for key in keys if type(read.value(key)) is int and not read.value(key)), None)


def is_recurrent(architecture: str) -> bool:
    """Return whether a model of this class can have layers that carry a state."""
    entry = _table().get(architecture)
    if entry is None:
        return False
    words = (
        word
        for form in entry["mixer"]
        for word in (form.get("kind"), *form.get("kinds", ()), *form.get("letters", {}).values())
    )
    conditions = (word for *_, when in entry["layer"] for word in when.split())
    kinds = {plain_kind(str(word).removeprefix("mixer=")) for word in (*words, *conditions)}
    return bool(RECURRENT & kinds)


def linear_keys(entry: Entry) -> Mapping[str, str]:
    """Return the shortest unique name suffix of each linear module of a layer."""
    keys = {}
    for module in entry["linears"]:
        parts = module.split(".")
        endings = [".".join(parts[n:]) for n in range(len(parts) - 1, -1, -1)]
        keys[module] = next(
            (e for e in endings if sum(f".{m}".endswith(f".{e}") for m in entry["linears"]) == 1),
            module,
        )
    return keys


def _kinds(read: EntryConfig) -> tuple[_Kind, ...] | None:
    """Return the kind of each layer; a model may have several stacks of the same layers."""
    layers = read.size("num_hidden_layers") or _listed(read)
    if layers is None:
        return None
    mixers = read_kinds(read.entry["mixer"], read.value, layers)
    mlps = read_kinds(read.entry["mlp"], read.value, layers)
    sizes = read.listed(layers)
    if mixers is None or mlps is None or sizes is None:
        return None
    own = (tuple(sorted(each.items())) for each in sizes)
    return tuple(zip(mixers, mlps, own, strict=True)) * read.entry.get("copies", 1)


def _listed(read: EntryConfig) -> int | None:
    """Return the number of layers if it only follows from the list of their kinds."""
    values = (read.value(str(form["key"])) for form in read.entry["mixer"] if "key" in form)
    return next((len(value) for value in values if isinstance(value, list | str)), None)


def _tensors(
    read: EntryConfig, rows: Sequence[tuple[str, str, str]], kind: _Kind = ("", "", ())
) -> _Tensors | None:
    """Return the sides of the tensors in a layer of this kind, or outside the layers."""
    mixer, mlp, own = kind
    read = replace(read, here=dict(own))
    found = {n: read.sides(sides) for n, sides, when in rows if read.holds(when, mixer, mlp)}
    known = {name: sides for name, sides in found.items() if sides is not None}
    return known if len(known) == len(found) else None


def _shape(
    name: str,
    read: EntryConfig,
    kinds: Sequence[_Kind],
    layers: Mapping[_Kind, _Tensors],
    outside: _Tensors,
) -> Shape:
    """Add up the tensors of all layers, and those outside the layers."""
    entry, counts = read.entry, Counter(kinds)
    vocab, embedded = outside[entry["embedding"]]
    hidden = read.size("hidden_size") or embedded  # some embeddings are narrower
    head = prod(outside[entry["head"]]) if entry["head"] in outside else 0
    embedding = sum(prod(s) for n, s in outside.items() if _is_embedding(entry, n, s))
    each = {kind: sum(map(prod, tensors.values())) for kind, tensors in layers.items()}
    heads = read.size("num_attention_heads", "num_heads") or 1
    experts = _experts(read, layers, hidden)
    shapes = _linears(entry, layers, counts)
    plain = len(counts) == 1 and plain_kind(kinds[0][0]) in _PLAIN
    head_dim = read.size("head_dim") or max(1, hidden // heads)
    joint = _joint_key_heads(entry, layers, heads, head_dim)
    key_heads = joint or read.size("num_key_value_heads") or heads
    return Shape(
        architecture=entry.get("loads", name),
        model_type=entry["model_type"],
        layers=len(kinds),
        hidden=hidden,
        intermediate=read.size(*WIDTHS, "moe_intermediate_size") or 4 * hidden,
        heads=heads,
        kv_heads=heads if _latent(read) else key_heads,
        head_dim=_latent(read) or head_dim,
        vocab=vocab,
        context_tokens=read.size(*_CONTEXT) or UNLIMITED_TOKENS,
        tied=not head,
        attention_bias=any(n.endswith(_BIASES) for tensors in layers.values() for n in tensors),
        norm=entry["norm"],
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
            count * sum(prod(_weight(entry, held, m)) for m in _present(entry, held))
            for held, count in ((layers[kind], count) for kind, count in counts.items())
        ),
        largest_layer_parameters=max(each.values()),
        linear_shapes=shapes,
        kinds=() if plain else _layer_kinds(entry, layers, counts, each),
        order=() if plain else tuple(list(layers).index(kind) for kind in kinds),
        cached=find_cached(
            [(plain_kind(kind[0]), tensors) for kind, tensors in layers.items()],
            alike=2 * key_heads * head_dim,
        ),
        passes=read.passes(),
    )


def _joint_key_heads(
    entry: Entry, layers: Mapping[_Kind, _Tensors], heads: int, head_dim: int
) -> int | None:
    """Return the number of key heads from the rows of a projection to queries, keys and values.

    None if no layer has one. GPT-BigCode and Falcon do not read the key of the config.
    """
    for tensors in layers.values():
        for name, sides in tensors.items():
            rest = sides[-1 if entry.get("transposed") else 0] - heads * head_dim
            if name.endswith(_JOINT) and rest > 0 and not rest % (2 * head_dim):
                return rest // (2 * head_dim)
    return None


def _is_embedding(entry: Entry, name: str, sides: Sequence[int]) -> bool:
    """Return whether a tensor outside the layers is a table of tokens or positions."""
    is_table = len(sides) == _MATRIX_SIDES and any(word in name for word in _EMBEDDINGS)
    return name == entry["embedding"] or (is_table and name != entry["head"])


def _layer_kinds(
    entry: Entry,
    layers: Mapping[_Kind, _Tensors],
    counts: Mapping[_Kind, int],
    each: Mapping[_Kind, int],
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
    layers: Mapping[_Kind, _Tensors],
    counts: Mapping[_Kind, int],
) -> dict[str, LinearShape]:
    """Return the linear modules of all kinds of layers, by the shortest target of each."""
    found: dict[str, LinearShape] = {}
    for module, key in linear_keys(entry).items():
        having = {k: t for k, t in layers.items() if module in _present(entry, t)}
        sides = {kind: _weight(entry, tensors, module) for kind, tensors in having.items()}
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


def _weight(entry: Entry, tensors: _Tensors, module: str) -> tuple[int, int]:
    """Return a linear module's outputs and inputs; a Conv1D stores the inputs first."""
    rows, columns = tensors[f"{module}.weight"]
    return (columns, rows) if entry.get("transposed") else (rows, columns)


def _experts(read: EntryConfig, layers: Mapping[_Kind, _Tensors], hidden: int) -> tuple[int, int]:
    """Return the number of experts in a layer and their width, from their fused last projection.

    If the experts are concatenated in a matrix, both are read from the config.
    """
    for tensors in layers.values():
        for name, sides in tensors.items():
            if _is_fused(name, sides):
                if len(sides) == _MATRIX_SIDES:
                    return read.size(*EXPERTS) or 0, read.size("intermediate_size") or 0
                if "down_proj" in name or "output_linear" in name:
                    return sides[0], sides[1 if sides[2] == hidden != sides[1] else 2]
    return 0, 0


def _is_fused(name: str, sides: Sequence[int]) -> bool:
    """Tell whether a tensor has the weights of all experts, stacked or concatenated in a matrix."""
    if len(sides) == _MATRIX_SIDES:
        return is_end_to_end(name)
    return len(sides) > _MATRIX_SIDES and ("expert" in name or "_linear" in name)


def is_end_to_end(name: str) -> bool:
    """Return whether a matrix is the concatenation of all experts (`DbrxExpertGLU`).

    It is a bare parameter, since the weight of a linear module has "weight" in its name.
    """
    return "expert" in name and not name.endswith((".weight", "bias", "scale"))


def _expert_parameters(entry: Entry, tensors: _Tensors) -> int:
    """Return the parameters of a layer's fused experts and of a router that is not a linear module.

    Both may have biases.
    """
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
    owners = {name.rpartition(".")[0] for name in fused}
    biases = [f"{name.removesuffix('weight')}bias" for name in routers]
    biases += [name for name in tensors if "bias" in name and name.rpartition(".")[0] in owners]
    return sum(prod(tensors[n]) for n in {*fused, *routers, *biases} if n in tensors)


def _latent(read: EntryConfig) -> int | None:
    """Return the width of a head of latent attention, whose keys have two parts; None without."""
    still, turned = read.size("qk_nope_head_dim"), read.size("qk_rope_head_dim")
    return still + turned if still and turned else None


@cache
def _table() -> Mapping[str, Entry]:
    return cast("dict[str, Entry]", read_table(__name__, "derived_architectures.json"))
