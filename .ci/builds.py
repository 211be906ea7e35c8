"""Builds a class of transformers from a configuration, and sorts its tensors by kind of layer."""

import inspect
import itertools
import re
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
import transformers
from torch.nn.functional import linear
from transformers.pytorch_utils import Conv1D

from ftc.compiler.knowledge.architectures.derived_entry import EntryConfig
from ftc.compiler.knowledge.architectures.layer_kinds import plain_kind, read_kinds

IN_LAYER = re.compile(r"(?P<stack>.*?\.)(?P<layer>\d+)\.(?P<name>.*)")

#: Keys of no influence on the size of a tensor, and those that configurations share.
SKIPPED = re.compile(
    r".*(_token_id|_token_index)|max_position_embeddings|sliding_window|pretraining_tp|"
    r"num_experts_per_tok|moe_k|moe_topk|topk_group|n_group|num_expert_group|.*nextn.*|"
    r"num_experts_per_token|chunk_size|.*chunk.*|num_logits_to_keep|router_.*|model_max_length|"
    r"use_cache|output_.*|return_dict|attn_temperature_tuning|floor_scale|layer_.*_offset|"
    r".*_layer_(period|offset|interval|step|start_index|end_index)|.*_layer_step|"
    r"first_k_dense_replace|num_dense_layers|decoder_sparse_step|.*every_n_layers|"
    r".*sliding_window_pattern|no_rope_layer_interval|num_hidden_layers|.*mtp.*|index_topk|"
    r"num_kv_shared_layers|index_topk_freq|index_skip_topk_offset"
)

_IMAGE_TEXT = transformers.AutoModelForImageTextToText

Sides = tuple[int, ...]
Combo = tuple[str, str]


@dataclass(slots=True, kw_only=True)
class Build:
    """One built class: the keys it was given, and its tensors by name, in layers and outside."""

    given: dict[str, Any]
    outside: dict[str, Sides]
    inside: dict[str, dict[Combo, Sides]]
    linears: dict[str, None]
    stack: str
    embedding: str
    head: str
    parameters: int
    norm: str
    transposed: set[str]

    def tensors(self) -> dict[tuple[str, Combo | None], Sides]:
        """Return all tensors by name and kind of layer (None outside the layers)."""
        found: dict[tuple[str, Combo | None], Sides] = {
            (n, None): s for n, s in self.outside.items()
        }
        found |= {(n, c): s for n, kinds in self.inside.items() for c, s in kinds.items()}
        return found


@dataclass(slots=True, kw_only=True)
class Family:
    """A class under study: its settings from the file of bases, and what its builds gave."""

    name: str
    said: Mapping[str, Any]
    aliases: Mapping[str, str]
    base: dict[str, Any] = field(default_factory=dict)
    builds: list[Build] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    positive: set[str] = field(default_factory=set)
    fixed: set[str] = field(default_factory=set)
    varied: set[str] = field(default_factory=set)

    def build(self, given: Mapping[str, Any]) -> Build | None:
        """Build the class from these keys; None where transformers refuses them."""
        model = self.model(given)
        if model is None:
            return None
        sizes = {**given, **self._scaled(given)}
        return _sorted(sizes, model, self.inside(model), self.kinds(given), self.said)

    def _scaled(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sizes that no key says, by the same code as the compiler's."""
        scaled = self.said.get("scaled", {})
        entry: Any = {"aliases": {}, "nulls": {}, "defaults": self.said.get("extra", {})}
        read = EntryConfig({**entry, "scaled": scaled}, given)
        return {name: read.value(name) for name in scaled}

    def inside(self, model: Any) -> str:
        """Return the path of the language model in a multimodal model, or "" for all of it."""
        return prefix_of(model) if "inside" in self.said else ""

    def count(self, given: Mapping[str, Any]) -> int | None:
        """Return the parameters of the class; None where transformers refuses these keys."""
        model = self.model(given)
        return None if model is None else sum(each.numel() for each in model.parameters())

    def model(self, given: Mapping[str, Any]) -> Any:
        """Return the model that these keys give on the meta device; None where they are refused."""
        if type(given.get(layer_key(self.aliases))) is not int:
            return None
        try:
            with torch.device("meta"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = self._model(placed(self.said, given))
        except Exception:  # noqa: BLE001 - each validator has its own
            return None
        if type(model).__name__ != self.said.get("loads", self.name):
            raise SystemExit(f"{self.name}: {self.said['type']} builds {type(model).__name__}")
        return model

    def _model(self, settings: Mapping[str, Any]) -> Any:
        """Build the class from a `config.json`, or from the text that is a part of one."""
        outer = self.said.get("inside")
        if outer is None:
            config = transformers.AutoConfig.for_model(self.said["type"], **settings)
            return self._automatic(config).from_config(config)
        cls = transformers.CONFIG_MAPPING[outer]
        around = surroundings(self.said, settings)
        if outer == self.said["type"]:  # it has no section for its language model
            config = cls(**{**settings, **around})
            return self._automatic(config).from_config(config)
        tied = settings.get("tie_word_embeddings", False)
        config = cls(text_config=dict(settings), tie_word_embeddings=tied, **around)
        config.get_text_config().tie_word_embeddings = tied
        automatic = self._automatic(config) if "auto" in self.said else _IMAGE_TEXT
        return automatic.from_config(config)

    def _automatic(self, config: Any) -> Any:
        """Return what builds the class: some types have a language model only inside a wrapper.

        The file of bases names another one for classes that are no language models (`auto`).
        """
        if "auto" in self.said:
            return getattr(transformers, self.said["auto"])
        causal = transformers.AutoModelForCausalLM
        mapping = causal._model_mapping  # noqa: SLF001 - it has no public way to ask
        return causal if type(config) in mapping else _IMAGE_TEXT

    def kinds(self, given: Mapping[str, Any]) -> list[Combo]:
        """Return (mixer, MLP) of each layer, by the same code as the compiler's."""
        layers = given[layer_key(self.aliases)]

        def read(key: str) -> object:
            where: Any = given
            for part in key.split("."):
                where = where.get(part) if isinstance(where, dict) else None
            return self.said.get("extra", {}).get(key) if where is None else where

        pair = []
        for part, kind in (("mixer", "full_attention"), ("mlp", "dense")):
            forms = self.said.get(part, [{"form": "all", "kind": kind}])
            found = read_kinds(forms, read, layers)
            if found is None:
                raise SystemExit(f"{self.name}: no form fits {part} for {given}")
            pair.append(found)
        return list(zip(*pair, strict=True)) * int(self.said.get("copies", 1))


def placed(said: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys as a `config.json` has them: some classes keep a few in a part of it, or a list.

    The places of a list are in order.
    """
    places = said.get("nested", {})
    config = {key: value for key, value in given.items() if key not in places}
    for key, place in places.items():
        if key not in given:
            continue
        part, _, inner = place.partition(".")
        if inner.isdecimal():
            config[part] = [*config.get(part, ()), given[key]]
        else:
            config[part] = {**config.get(part, {}), inner: given[key]}
    return config


def is_linear(module: torch.nn.Module) -> bool:
    """Return whether an adapter fits: a class with another product of the weight needs another."""
    if not isinstance(module, torch.nn.Linear):
        return isinstance(module, Conv1D)
    cls = type(module)
    return cls.forward is torch.nn.Linear.forward or _multiplies_alike(cls)


@cache
def _multiplies_alike(cls: Any) -> bool:
    """Return whether a class with a `forward` of its own computes what a linear module does."""
    try:
        module, rows = cls(3, 2), torch.rand(4, 3)
        return torch.allclose(module(rows), linear(rows, module.weight, module.bias))
    except Exception:  # noqa: BLE001 - each class asks for other arguments
        return False


def family_of(name: str, said: Mapping[str, Any]) -> Family:
    """Return a class under study, with other names of its keys."""
    aliases = dict(transformers.CONFIG_MAPPING[said["type"]].attribute_map)
    if "layers" in said:
        aliases["num_hidden_layers"] = said["layers"]
    fixed, varied = set(said.get("fixed", ())), set(said.get("varied", ()))
    return Family(name=name, said=said, aliases=aliases, fixed=fixed, varied=varied)


def supports_sdpa(family: Family) -> bool:
    """Return whether the class has PyTorch's fused attention, or only plain products."""
    name = family.said.get("loads", family.name)
    return bool(getattr(transformers, name)._supports_sdpa)  # noqa: SLF001 - as it says it


def reads_flag(family: Family, flag: str) -> bool:
    """Return whether the code of a class asks for this flag of its configuration.

    GPT-NeoX's configuration has `is_decoder`, off, and the class reads forward whatever it says.
    """
    cls = getattr(transformers, family.said.get("loads", family.name))
    source = inspect.getsource(sys.modules[cls.__module__])
    return re.search(rf"config\.{flag}\b(?!\s*=[^=])", source) is not None


def kind_flags(said: Mapping[str, Any]) -> set[str]:
    """Return the flags on which it depends how kinds of layers are read."""
    forms = (*said.get("mixer", ()), *said.get("mlp", ()))
    return {form["if"] for form in forms if "if" in form}


def layer_key(aliases: Mapping[str, str]) -> str:
    """Return the key of a configuration that counts its layers."""
    return aliases.get("num_hidden_layers", "num_hidden_layers")


def surroundings(said: Mapping[str, Any], text: Mapping[str, Any]) -> dict[str, Any]:
    """Return a multimodal class's sections beside the text, with the widths that must equal its.

    The file of bases has these under `outer`, each with the key of the text.
    """
    found = few_layers(transformers.CONFIG_MAPPING[said["inside"]])
    for section, same in said.get("outer", {}).items():
        widths = {key: text[name] for key, name in same.items() if name in text}
        found = {**found, section: {**found.get(section, {}), **widths}}
    return found


@cache
def few_layers(cls: Any) -> dict[str, Any]:
    """Return a multimodal class's sections beside the text, with one layer each if it may."""
    whole = cls()
    small = {}
    for key in cls.sub_configs_defaults:
        section = getattr(whole, key)
        if section is None or section is whole.get_text_config():
            continue
        small[key] = _one_layer(section)
    try:
        cls(**small)
    except Exception:  # noqa: BLE001 - each validator has its own
        return {}
    return small


def _one_layer(section: Any) -> dict[str, Any]:
    """Return a section reduced to one layer, and every section inside it too."""
    depths = [k for k in ("num_hidden_layers", "depth") if type(getattr(section, k, 0)) is int]
    kept = {key: value for key, value in section.to_dict().items() if key != "layer_types"}
    inside = {
        key: _one_layer(value)
        for key, value in vars(section).items()
        if isinstance(value, transformers.PreTrainedConfig)
    }
    return {**kept, **inside, **dict.fromkeys(depths, 1)}


def prefix_of(model: Any) -> str:
    """Return the path of what has the token embeddings and the layers."""
    try:
        weight = model.get_input_embeddings().weight
    except (AttributeError, NotImplementedError) as error:
        raise SystemExit("its class does not say where its tokens are embedded") from error
    path = next(n for n, p in model.named_parameters() if p is weight)
    return path.rpartition(".")[0].rpartition(".")[0]


def own_names(model: Any, inside: str) -> dict[str, str]:
    """Return the names of a model's modules and parameters by their paths.

    Of a multimodal model they are those of the language model at the path `inside`, as if by
    itself.
    """
    towers = find_towers(model, inside) if inside else ()
    return {
        path: _alone(path, inside)
        for path, _ in itertools.chain(model.named_modules(), model.named_parameters())
        if not inside
        or (path.startswith((f"{inside}.", "lm_head")) and not path.startswith(towers))
    }


def find_towers(model: Any, inside: str) -> tuple[str, ...]:
    """Return the paths of what has a section of the configuration, beside the layers of a text.

    It is whole parts of what is at the path `inside`, with the projectors.
    """
    config = model.config
    keys = getattr(type(config), "sub_configs_defaults", {})
    text = config.get_text_config()
    sections = {type(getattr(config, key)) for key in keys} - {type(text), type(config)}
    found = {
        path.removeprefix(f"{inside}.").partition(".")[0]
        for path, module in model.named_modules()
        if path.startswith(f"{inside}.") and type(getattr(module, "config", None)) in sections
    }
    return tuple(f"{inside}.{part}." for part in sorted(found))


def _sorted(
    given: dict[str, Any],
    model: Any,
    inside: str,
    kinds: Sequence[Combo],
    said: Mapping[str, Any],
) -> Build:
    """Group a model's parameters by their place in a layer and the kind of that layer.

    Only the language model at the path `inside` of a multimodal model is read, as if by itself.
    """
    names = own_names(model, inside)
    embedding = model.get_input_embeddings()
    place = next(names[n] for n, m in model.named_modules() if m is embedding) + ".weight"
    tensors = {
        place if tensor is embedding.weight else names[n]: tensor  # a tied head may come first
        for n, tensor in model.named_parameters()
        if n in names
    }
    linears = {names[n] for n, m in model.named_modules() if n in names and is_linear(m)}
    outside: dict[str, Sides] = {}
    layers: dict[str, dict[Combo, Sides]] = {}
    named: dict[str, None] = {}  # in the order of the model
    held: dict[int, set[str]] = {layer: set() for layer in range(len(kinds))}
    stacks = find_stacks(type(model).__name__, tensors, len(kinds))
    for name, tensor in tensors.items():
        match = IN_LAYER.fullmatch(name)
        if match is None or match["stack"] not in stacks:
            outside[name] = tuple(tensor.shape)
            continue
        layer = stacks.index(match["stack"]) * len(kinds) // len(stacks) + int(match["layer"])
        layer, inner = _owner(layer, match["name"], kinds, said.get("spread", {}))
        kind, sides = kinds[layer], tuple(tensor.shape)
        if (stack := _stacked(inner, said)) is not None:
            inner, sides = stack, (_members(stack, tensors, match["stack"], match["layer"]), *sides)
        held[layer].add(inner)
        known = layers.setdefault(inner, {}).setdefault(kind, sides)
        if known != sides:
            raise SystemExit(f"{type(model).__name__}: {name} differs within {kind}")
        if name.rpartition(".")[0] in linears and inner == match["name"]:
            named[match["name"].rpartition(".")[0]] = None
    for kind, members in zip(kinds, held.values(), strict=True):
        if members != held[kinds.index(kind)]:
            some = min(members ^ held[kinds.index(kind)])
            raise SystemExit(f"{type(model).__name__}: only some layers of {kind} have {some}")
    output = model.get_output_embeddings()
    head = next((names[n] + ".weight" for n, m in model.named_modules() if m is output), "")
    return Build(
        given=given, outside=outside, inside=layers, linears=named, stack=stacks[0].rstrip("."),
        embedding=place, head=head,
        parameters=sum(p.numel() for p in tensors.values()), norm=_norm_of(model, stacks),
        transposed={n for n, m in model.named_modules() if isinstance(m, Conv1D)},
    )  # fmt: skip


def _norm_of(model: Any, stacks: Sequence[str]) -> str:
    """Return which norm the layers have: `layer`, or `rms` where one of them is an RMS norm."""
    classes = {
        type(module).__name__
        for path, module in model.named_modules()
        if any(stack in f"{path}." for stack in stacks)
    }
    norms = {name for name in classes if "norm" in name.casefold()}
    return "layer" if norms and not any("RMS" in name for name in norms) else "rms"


def _owner(
    layer: int, name: str, kinds: Sequence[Combo], spread: Mapping[str, str]
) -> tuple[int, str]:
    """Return the layer whose tensor this is, and the name that it has in each layer of the kind.

    What the layers of a kind share may hold a list with an entry for each of them.
    """
    match = re.fullmatch(rf"(.*{spread['list']})\.(\d+)\.(.*)", name) if spread else None
    if match is None:
        return layer, name
    places = [n for n, (mixer, _) in enumerate(kinds) if plain_kind(mixer) == spread["of"]]
    return places[int(match[2])], f"{match[1]}.*.{match[3]}"


def _stacked(name: str, said: Mapping[str, Any]) -> str | None:
    """Return the name that the members of a list of equal modules share; None for any other."""
    for place in said.get("stacked", ()):
        if match := re.fullmatch(rf"{re.escape(place)}\.\d+\.(.*)", name):
            return f"{place}.*.{match[1]}"
    return None


def _members(name: str, tensors: Iterable[str], stack: str, layer: str) -> int:
    """Return how many tensors of a layer share this name."""
    place, _, end = f"{stack}{layer}.{name}".partition(".*.")
    return sum(each.startswith(f"{place}.") and each.endswith(f".{end}") for each in tensors)


def _alone(path: str, inside: str) -> str:
    """Return the path that a part of a multimodal model has in its language model by itself."""
    is_part = bool(inside) and path.startswith(f"{inside}.")
    return "model" + path.removeprefix(inside) if is_part else path


def find_stacks(name: str, tensors: Iterable[str], layers: int) -> list[str]:
    """Return the paths of the lists of layers, which together have so many and are equally long.

    A model with one has no other numbered list as long as it.
    """
    numbers: dict[str, set[str]] = {}
    for path in tensors:
        if match := IN_LAYER.fullmatch(path):
            numbers.setdefault(match["stack"], set()).add(match["layer"])
    longest = max(map(len, numbers.values()), default=0)
    stacks = [stack for stack, found in numbers.items() if len(found) == longest]
    if len(stacks) * longest != layers:
        raise SystemExit(f"{name}: {layers} layers, and the stacks {stacks} of {longest}")
    return stacks
