"""Who made a decision: the user, a default of the schema, or the facts."""

from collections.abc import Callable
from typing import Literal, TypeVar

from ftc.compiler.plan.decision import Because, Decision
from ftc.spec.sections import Spec

T = TypeVar("T")


def decide(
    spec: Spec,
    pointer: str,
    written: T | Literal["auto"],
    derive: Callable[[], tuple[T, Because]],
) -> Decision[T]:
    """Take what the spec holds at `pointer`; where that is "auto", derive it.

    A value that the user did not write came from the schema and is a default.
    """
    if written == "auto":
        value, because = derive()
        return Decision(value=value, source="derived", because=because)
    return keep(spec, pointer, written)


def keep(spec: Spec, pointer: str, value: T) -> Decision[T]:
    """Keep a value of the spec as it is, telling a choice from a default."""
    field = pointer.removeprefix("/").replace("/", ".")
    if pointer in spec.said:
        return Decision(
            value=value, source="spec", because=Because(key="said", values={"field": field})
        )
    because = Because(key="default", values={"field": field})
    return Decision(value=value, source="default", because=because)


def derived(value: T, key: str, **values: object) -> Decision[T]:
    """Return A decision that no field of the spec can make."""
    return Decision(value=value, source="derived", because=Because(key=key, values=values))
