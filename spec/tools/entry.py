"""The keys of a foreign config, and what became of each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

#: `default`: the other tool's own value for a key that the file leaves out.
Kind = Literal["carried", "derived", "default", "left", "refused"]


class Computed:
    """The value of an expression that only running the file would give."""

    def __repr__(self) -> str:
        return "(computed)"


COMPUTED: Final = Computed()


def is_computed(value: Any) -> bool:
    """Return whether a value, or a part of it, is known only when the file runs."""
    if isinstance(value, Mapping):
        return any(map(is_computed, value.values()))
    if isinstance(value, list):
        return any(map(is_computed, value))
    return value is COMPUTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A key of a foreign config: its path, such as `datasets[0].path`, and its value."""

    path: str
    value: Any

    @property
    def key(self) -> str:
        """Return the last part of the path."""
        return self.path.rpartition(".")[2]


def flatten(value: Any, above: str = "") -> Iterator[Entry]:
    """Yield the leaves of a value with their paths; a list of mappings has an index in its path."""
    if isinstance(value, Mapping) and (value or not above):
        for key, inner in value.items():
            yield from flatten(inner, f"{above}.{key}" if above else str(key))
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for index, item in enumerate(value):
            yield from flatten(item, f"{above}[{index}]")
    else:
        yield Entry(path=above, value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Became:
    """What became of one key: the fields it led to, or the reason that it led to none.

    A `refused` key asks for a training that ftc does not do. `reason` is a key of reasons.json;
    beside fields it says what could not be looked up.
    `pointer` is that of the field which does not take the value. `near` is the known key that is
    most like an unknown one.
    """

    key: str
    value: Any
    kind: Kind
    fields: Mapping[str, Any]
    reason: str = ""
    pointer: str = ""
    near: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The fields that a foreign config leads to, by pointer, and what became of its keys."""

    tool: str
    fields: Mapping[str, Any]
    keys: tuple[Became, ...]

    @property
    def refused(self) -> tuple[Became, ...]:
        """Return the keys that ask for what ftc does not do."""
        return tuple(each for each in self.keys if each.kind == "refused")
