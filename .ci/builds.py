"""Builds a class of transformers from a configuration, and sorts its tensors by kind of layer."""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers

from ftc.compiler.knowledge.layer_kinds import read_kinds

IN_LAYER = re.compile(r"(?P<stack>.*?\.)(?P<layer>\d+)\.(?P<name>.*)")

Sides = tuple[int, ...]
Combo = tuple[str, str]


@dataclass(slots=True, kw_only=True)
class Build:
    """One built class: the keys it was given, and its tensors by name, in layers and outside."""

    given: dict[str, Any]
    outside: dict[str, Sides]
    inside: dict[str, dict[Combo, Sides]]
    linears: set[str]
    stack: str
    embedding: str
    head: str

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

    def build(self, given: Mapping[str, Any]) -> Build | None:
        """Build the class from these keys; None where transformers refuses them."""
        try:
            with torch.device("meta"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                config = transformers.AutoConfig.for_model(self.said["type"], **given)
                model = transformers.AutoModelForCausalLM.from_config(config)
        except Exception:  # noqa: BLE001 - each validator has its own
            return None
        if type(model).__name__ != self.name:
            raise SystemExit(f"{self.name}: {self.said['type']} builds {type(model).__name__}")
        kinds = self.kinds(given)
        linears = {n for n, m in model.named_modules() if isinstance(m, torch.nn.Linear)}
        return _sorted(dict(given), model, linears, kinds)

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
        return list(zip(*pair, strict=True))


def layer_key(aliases: Mapping[str, str]) -> str:
    """Return the key of a configuration that counts its layers."""
    return aliases.get("num_hidden_layers", "num_hidden_layers")


def _sorted(given: dict[str, Any], model: Any, linears: set[str], kinds: Sequence[Combo]) -> Build:
    """Group a model's parameters by their place in a layer and the kind of that layer."""
    outside, inside, named, stacks = {}, {}, set(), set()
    for name, tensor in model.named_parameters():
        match = IN_LAYER.fullmatch(name)
        if match is None:
            outside[name] = tuple(tensor.shape)
            continue
        stacks.add(match["stack"])
        kind = kinds[int(match["layer"])]
        known = inside.setdefault(match["name"], {}).setdefault(kind, tuple(tensor.shape))
        if known != tuple(tensor.shape):
            raise SystemExit(f"{type(model).__name__}: {name} differs within {kind}")
        module = name.rpartition(".")[0]
        if module in linears:
            named.add(match["name"].rpartition(".")[0])
    names = {id(p): n for n, p in model.named_parameters()}
    output = model.get_output_embeddings()
    embedding = names[id(model.get_input_embeddings().weight)]
    head = next((n + ".weight" for n, m in model.named_modules() if m is output), "")
    if len(stacks) != 1:
        raise SystemExit(f"{type(model).__name__}: stacks {stacks}")
    return Build(
        given=given, outside=outside, inside=inside, linears=named,
        stack=stacks.pop().rstrip("."), embedding=embedding, head=head,
    )  # fmt: skip
