"""An entry of the derived table, and the `config.json` that is read with it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NotRequired, TypedDict

from ftc.compiler.knowledge.architectures.expression import evaluate
from ftc.compiler.knowledge.architectures.layer_kinds import Form

__all__ = ["EncoderEntry", "Entry", "EntryConfig", "single"]

_DEEPEST_RULE: Final = 3  # rules for missing keys that lead to other missing keys


class Entry(TypedDict):
    """One entry of `derived_architectures.json`; a tensor is [name, sides, conditions].

    `loads` is the class that transformers has for the type, if repositories name another. `scaled`
    are sizes without their own key: a key times a factor, rounded up to a multiple if there is one.
    `passes` is how often a token passes through the layers of each stack, if not once.
    """

    model_type: str
    aliases: Mapping[str, str]
    mixer: Sequence[Form]
    mlp: Sequence[Form]
    stack: str
    embedding: str
    head: str
    norm: Literal["rms", "layer"]
    linears: Sequence[str]
    layer: Sequence[tuple[str, str, str]]
    model: Sequence[tuple[str, str, str]]
    requires: Mapping[str, Sequence[object]]
    kinds: Mapping[str, Sequence[str]]
    defaults: Mapping[str, int | float | bool | str]
    nulls: Mapping[str, int | str]
    loads: NotRequired[str]
    older: NotRequired[Mapping[str, str]]
    positive: NotRequired[Sequence[str]]
    rounded: NotRequired[Mapping[str, str]]
    packs: NotRequired[bool]
    sdpa: NotRequired[bool]
    repeats_keys: NotRequired[bool]
    each: NotRequired[Mapping[str, str]]
    copies: NotRequired[int]
    passes: NotRequired[Sequence[str]]
    unlearned: NotRequired[Sequence[str]]
    scaled: NotRequired[Mapping[str, Mapping[str, str]]]
    transposed: NotRequired[bool]


Scoring = TypedDict(
    "Scoring", {"class": str, "prefix": str, "model": Sequence[tuple[str, str, str]]}
)


class EncoderEntry(Entry):
    """One entry of `derived_encoders.json`."""

    also: Sequence[str]
    first_position: int
    scoring: Scoring


@dataclass(frozen=True, slots=True)
class EntryConfig:
    """A `config.json`, read with the names, defaults and rules of its class.

    `here` has the sizes of one layer, if a list of the config has one per layer.
    """

    entry: Entry
    data: Mapping[str, object]
    here: Mapping[str, int] = field(default_factory=dict)

    def value(self, key: str, depth: int = 0) -> object:
        """Return the value of a key as the class's configuration resolves it."""
        if key in self.here:
            return self.here[key]
        if key == "rounded_width":
            return self._rounded(self.entry.get("rounded", {}))
        if key in self.entry.get("scaled", {}):
            return self._scaled(self.entry.get("scaled", {})[key])
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
        """Return the reader of a rule's keys at a given depth of rules."""
        return lambda name: self.value(name, depth)

    def _said(self, key: str) -> tuple[object, bool]:
        """Return the file's value of a key, under any of its names, and whether it has one."""
        for path in self._paths(key):
            where, is_said = _look(self.data, path)
            is_older = path[0] in self.entry.get("older", {})
            if is_said and not (is_older and where is None):
                return where, True
        return None, False

    def says(self, key: str) -> bool:
        """Return whether the file has a value for the key that is neither null nor zero."""
        return bool(self._said(key)[0])

    def _paths(self, key: str) -> Iterator[tuple[str, ...]]:
        """Yield the possible paths of a key, first the legacy keys that override it."""
        aliases, older = self.entry["aliases"], self.entry.get("older", {})
        names = [*(name for name, real in older.items() if real == key), key]
        names += [name for name, real in aliases.items() if real == key]
        names += [aliases[key]] if key in aliases else []
        yield from (tuple(name.split(".")) for name in names)

    def path(self, key: str) -> tuple[str, ...]:
        """Return the path of a key in the file, or the key itself if the file does not have it."""
        for path in self._paths(key):
            if _look(self.data, path)[0] is not None:
                return path
        return (key,)

    def passes(self) -> float:
        """Return how often a token passes through a layer, on average over the stacks."""
        counts = [evaluate(text, self.value) or 1 for text in self.entry.get("passes", ())]
        return sum(counts) / len(counts) if counts else 1.0

    def _scaled(self, keys: Mapping[str, str]) -> int | None:
        """Return a width that is a fraction of another, rounded up to a multiple (xLSTM)."""
        width, times = self.value(keys["of"]), self.value(keys["times"])
        multiple = self.value(keys["multiple"]) if "multiple" in keys else 1
        if (
            type(width) is not int
            or not isinstance(times, int | float)
            or type(multiple) is not int
        ):
            return None
        if multiple < 1:
            return None
        if multiple == 1:
            return int(width * times)
        return int((width * times + multiple - 1) // multiple) * multiple

    def _rounded(self, keys: Mapping[str, str]) -> int | None:
        """Return two thirds of a width, rounded up to a multiple (`Lfm2MLP`)."""
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
        values = (single(self.value(self.entry["aliases"].get(key, key))) for key in keys)
        return next((v for v in values if type(v) is int and v > 0), None)

    def holds(self, conditions: str, mixer: str, mlp: str) -> bool:
        """Return whether a tensor's conditions hold in a layer of this kind."""
        for condition in conditions.split():
            word, _, kind = condition.partition("=")
            if word.endswith("!"):
                if self.value(word[:-1]) == self.value(kind):
                    return False
            elif kind:
                if kind != (mixer if word == "mixer" else mlp):
                    return False
            elif word.startswith("?"):
                if not self.says(word.removeprefix("?")):
                    return False
            elif bool(self.value(word.removeprefix("!"))) == word.startswith("!"):
                return False
        return True

    def listed(self, layers: int) -> list[Mapping[str, int]] | None:
        """Return the sizes of each layer from lists; None if a list does not fit."""
        found: list[dict[str, int]] = [{} for _ in range(layers)]
        for key, name in self.entry.get("each", {}).items():
            values = self.value(name)
            if not isinstance(values, list):
                continue
            if len(values) != layers or any(type(value) is not int for value in values):
                return None
            if single(values) is values:
                for layer, value in zip(found, values, strict=True):
                    layer[key] = value
            else:
                found = [{**layer, key: values[0]} for layer in found]
        return list(found)

    def sides(self, text: str) -> tuple[int, ...] | None:
        """Return the sides of a tensor, or None if one is not a positive integer."""
        found = [evaluate(side, lambda key: single(self.value(key))) for side in text.split(" x ")]
        sides = tuple(side for side in found if side is not None)
        return sides if len(sides) == len(found) else None


def _look(data: object, path: Sequence[str]) -> tuple[object, bool]:
    """Return the value at a path of keys, where `*` is the first entry, and whether it exists.

    A number is an index into a list.
    """
    for part in path:
        if isinstance(data, list) and part.isdecimal() and int(part) < len(data):
            data = data[int(part)]
            continue
        if not isinstance(data, Mapping) or not data or part not in (*data, "*"):
            return None, False
        data = next(iter(data.values())) if part == "*" else data[part]
    return data, True


def single(value: object) -> object:
    """Reduce a per-layer list of equal values to that value; return anything else unchanged."""
    alike = isinstance(value, list) and value and all(each == value[0] for each in value)
    return value[0] if isinstance(value, list) and alike else value
