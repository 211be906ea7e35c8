"""Facts as a lock stores them: fields that are None without a default value are left out."""

from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

F = TypeVar("F")


def restore_fact(data: Any, kind: type[F]) -> F:
    """Return a fact of a lock; a missing field without a default value is None.

    Raises msgspec.ValidationError if the data do not have the fields of the fact.
    """
    from msgspec import convert  # noqa: PLC0415 - only a lock needs it

    if isinstance(data, dict):
        needed = [each.name for each in fields(kind) if not has_default(each)]  # type: ignore[arg-type]
        data = {**dict.fromkeys(needed), **data}
    return convert(data, kind)


def has_default(field: Field[Any]) -> bool:
    """Return whether a field of a fact has a default value."""
    return field.default is not MISSING or field.default_factory is not MISSING
