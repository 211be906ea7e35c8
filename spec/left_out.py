"""Fields without a value in the long form: who reads one learns that nothing is known of it."""

from collections.abc import Collection, ItemsView, Mapping
from typing import Any

from ftc.spec.pointer import split


class LeftOut(Exception):  # noqa: N818 - control flow, not an error
    """The value of a field is not known."""


class _Partial(dict[str, Any]):
    """A section of which some fields are left out."""

    __slots__ = ("unknown",)

    unknown: frozenset[str]

    def __getitem__(self, key: str) -> Any:
        """Return the value of a field that is known."""
        if key in self.unknown:
            raise LeftOut
        return super().__getitem__(key)

    def items(self) -> ItemsView[str, Any]:
        """Return all fields, if all are known."""
        if self.unknown:
            raise LeftOut
        return super().items()


def leave_out(long: Mapping[str, Any], pointers: Collection[str]) -> Mapping[str, Any]:
    """Return the long form without the values of some fields: to read one raises LeftOut."""
    ways = [split(pointer) for pointer in pointers]
    return _without(long, ways) if ways else long


def _without(section: Mapping[str, Any], ways: Collection[tuple[str, ...]]) -> Mapping[str, Any]:
    inner: dict[str, list[tuple[str, ...]]] = {}
    for first, *rest in ways:
        inner.setdefault(first, []).append(tuple(rest))
    partial = _Partial(section)
    partial.unknown = frozenset(key for key, rests in inner.items() if () in rests)
    for key in inner.keys() - partial.unknown:
        if isinstance(section.get(key), Mapping):
            partial[key] = _without(section[key], inner[key])
    return partial
