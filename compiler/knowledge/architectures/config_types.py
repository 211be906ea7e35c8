"""The types of values that the configs of transformers reject, and the sections they have."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from ftc.compiler.knowledge.tables import read_table

__all__ = [
    "KINDS",
    "Section",
    "find_refused",
    "find_refused_inside",
    "find_section",
    "is_known_type",
    "kind_of",
    "knows_activation",
    "list_activation_keys",
    "pads_embedding",
]

#: The letter of each JSON type: integers, other numbers, booleans, strings, lists, objects and
#: null.
KINDS: Final[Mapping[type, str]] = {
    int: "i",
    float: "f",
    bool: "b",
    str: "s",
    list: "l",
    dict: "d",
    type(None): "n",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A config inside another one, such as `text_config`.

    `model_type` is its type if it names none. `may_name`: a type in the section replaces that one.
    `must_name`: the section has to name a type. `must_be_known`: transformers rejects unknown
    types. `renamed` are types that only the outer class knows, each with the type as which it is
    read.
    """

    model_type: str
    renamed: Mapping[str, str]
    may_name: bool
    must_name: bool
    must_be_known: bool

    def read_type(self, named: object) -> str | None:
        """Return the model type as which a section is read, or None if transformers rejects it."""
        if named is None or not self.may_name:
            return self.model_type
        name = named if isinstance(named, str) else ""
        name = self.renamed.get(name, name)
        return name if name in _types() or not self.must_be_known else None


def is_known_type(model_type: object) -> bool:
    """Return whether the pinned transformers has a configuration of this type."""
    return model_type in _types()


def pads_embedding(model_type: str) -> bool:
    """Return whether the embedding of a class must have a row for `pad_token_id`."""
    return model_type in read_table(__name__, "padded_types.json")["types"]


def list_activation_keys(model_type: str) -> tuple[str, ...]:
    """Return the keys of a class by which it looks up its activation functions."""
    return tuple(read_table(__name__, "activation_types.json")["keys"].get(model_type, ()))


def knows_activation(name: str) -> bool:
    """Return whether transformers has an activation function of this name."""
    return name in read_table(__name__, "activation_types.json")["functions"]


def kind_of(value: object) -> str:
    """Return the letter of a JSON value's type."""
    return KINDS[type(value)]


def find_refused(model_type: str, key: str) -> str:
    """Return the letters of the types that a class rejects for a key; none for an unknown key."""
    return _find(model_type, key, "common", "other")


def find_refused_inside(model_type: str, key: str) -> str:
    """Return the letters of the types that a class rejects in the list of a key."""
    return _find(model_type, key, "inside", "inside")


def _find(model_type: str, key: str, common: str, other: str) -> str:
    """Return what all classes that read a key share, or what differs for this class."""
    table = _table()
    model = table["models"].get(model_type, {"keys": ()})
    if key not in model["keys"]:
        return ""
    refused: str = model.get(other, {}).get(key, table[common].get(key, ""))
    return refused


def find_section(model_type: str, key: str) -> Section | None:
    """Return the section that a class reads under a key; None for all other keys."""
    model = _table()["models"].get(model_type, {})
    kind = model.get("sections", {}).get(key)
    if kind is None:
        return None
    named = model["named"]
    return Section(
        model_type=kind,
        renamed=model.get("renamed", {}),
        may_name=key in named["may"],
        must_name=key in named["must"],
        must_be_known=key in named["known"],
    )


@cache
def _types() -> frozenset[str]:
    return frozenset(_table()["types"])


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = read_table(__name__, "config_types.json")
    return table
