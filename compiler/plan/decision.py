"""The decision: a value, who made it, and the reason as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

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
