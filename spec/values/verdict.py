"""Schema validation of a spec: jsonschema's errors, each reduced to one value and its field."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from ftc.spec.findings.quote import shown
from ftc.spec.pointer import dotted, join
from ftc.spec.schema import Schema, branches, read_schema
from ftc.spec.values.expectation import accepts_type, words_of

_MOST_ERRORS: Final = 200
_MOST_ITEMS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One `value` that the `keyword` of its `schema` forbids.

    `field` is the whole property; `schema` may be one of its alternatives. `parts` is the path to
    the value.
    """

    keyword: str
    value: Any
    schema: Schema
    field: Schema
    parts: tuple[str | int, ...]

    @property
    def pointer(self) -> str:
        """The JSON pointer of the value."""
        return join(self.parts)

    @property
    def name(self) -> str:
        """The name that messages use; a key of free choice may hold anything."""
        return shown(dotted(self.pointer))


def find_verdict(data: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield the violations of the schema; for a field with alternatives, only of the likely one."""
    for error in islice(_validator().iter_errors(data), _MOST_ERRORS):
        for leaf in _leaves(error):
            yield _violation(leaf)


def is_valid(value: Any, schema: Schema) -> bool:
    """Return whether this property of the schema accepts the value."""
    return bool(_validator().evolve(schema=schema).is_valid(value))


@cache
def _validator() -> Any:
    """Return a validator with ECMA's `$`, and with bounded work for long lists.

    A key that is only required if another one is missing (`if`) is checked by `consistency`.
    """
    checks = {"pattern": _pattern, "items": _items, "uniqueItems": _unique, "if": _skip}
    kind = extend(Draft202012Validator, checks)  # type: ignore[no-untyped-call]
    return kind(read_schema())


def _pattern(_: Any, pattern: str, value: Any, __: Schema) -> Iterator[ValidationError]:
    """Match as ECMA does: Python's `$` also matches before a final line feed."""
    if isinstance(value, str) and not re.search(pattern.replace("$", r"\Z"), value):
        yield ValidationError("malformed text")


def _skip(*_: Any) -> Iterator[ValidationError]:
    return iter(())


def _items(validator: Any, items: Schema, value: Any, _: Schema) -> Iterator[ValidationError]:
    if isinstance(value, list):
        for index, item in enumerate(value[:_MOST_ITEMS]):
            yield from validator.descend(item, items, path=index)


def _unique(_: Any, unique: bool, value: Any, __: Schema) -> Iterator[ValidationError]:
    if unique and isinstance(value, list):
        told = [json.dumps(item, sort_keys=True) for item in value[:_MOST_ITEMS]]
        if len(set(told)) < len(told):
            yield ValidationError("an item is there twice")


def _leaves(error: ValidationError) -> Iterator[ValidationError]:
    """Yield the errors of the alternative with the value's type, or else the error itself."""
    if error.validator != "anyOf":
        yield error
        return
    alternatives: Any = error.validator_value
    for index, alternative in enumerate(alternatives):
        (chosen,) = branches(alternative)
        if accepts_type(chosen, error.instance) and not words_of(chosen):
            for inner in error.context or ():
                if inner.relative_schema_path[0] == index:
                    yield from _leaves(inner)
            return
    yield error


def _violation(error: ValidationError) -> Violation:
    above: Any = error.parent
    whole: Any = error
    if above is not None and above.absolute_path == error.absolute_path:
        whole = above
    schema: Any = error.schema
    return Violation(
        keyword=str(error.validator),
        value=error.instance,
        schema=schema,
        field=whole.schema,
        parts=tuple(error.absolute_path),
    )
