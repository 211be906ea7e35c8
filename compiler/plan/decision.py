"""A decision: a value, its source (user, default or facts), and the reason as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Generic, Literal, TypeVar

from ftc.compiler.knowledge.training.settings import SETTINGS
from ftc.spec.pointer import split
from ftc.spec.schema import find_field, find_unmet
from ftc.spec.sections import Spec

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Because:
    """A key of the catalogue in `reasons` and the values its sentence needs."""

    key: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Generic[T]):
    """One number or word of the plan.

    `source` is `spec` (the user said it), `derived` (it follows from facts) or `default`.
    """

    value: T
    source: Literal["spec", "derived", "default"]
    because: Because


def decide(
    spec: Spec,
    pointer: str,
    written: T | Literal["auto"],
    derive: Callable[[], tuple[T, Because]],
) -> Decision[T]:
    """Return the spec's value at `pointer`; derive it if that is "auto".

    A value that the user did not write came from the schema and is a default.
    """
    if written == "auto":
        value, because = derive()
        return Decision(value=value, source="derived", because=because)
    return keep(spec, pointer, written)


def keep(spec: Spec, pointer: str, value: T) -> Decision[T]:
    """Return a value of the spec as a decision, by the user or by default."""
    field = pointer.removeprefix("/").replace("/", ".")
    if pointer in spec.said:
        return Decision(
            value=value, source="spec", because=Because(key="said", values={"field": field})
        )
    because = Because(key="default", values={"field": field})
    return Decision(value=value, source="default", because=because)


def pass_through(spec: Spec) -> Mapping[str, Decision[Any]]:
    """Return a decision for each field that the table of settings passes on and this spec reads."""

    def look(pointer: str) -> Any:
        return reduce(getattr, split(pointer), spec)

    found = {}
    for setting in SETTINGS:
        if setting.field is None:
            continue
        value, schema = look(setting.field), find_field(setting.field).schema
        unwritten = setting.unwritten and value == schema["default"]
        if not unwritten and not any(find_unmet(schema, look)):
            found[setting.name] = keep(spec, setting.field, value)
    return found


def derived(value: T, key: str, **values: object) -> Decision[T]:
    """Return a decision that no field of the spec can set."""
    return Decision(value=value, source="derived", because=Because(key=key, values=values))
