"""Fields without a value in the long form: reading one shows that its value is unknown."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ftc.spec.pointer import split


class LeftOut(Exception):  # noqa: N818 - control flow, not an error
    """The value of a field is not known."""


class _Partial(Mapping[str, Any]):
    """A section whose fields in `unknown` cannot be read."""

    def __init__(self, section: Mapping[str, Any], unknown: Collection[str]) -> None:
        self._section = section
        self._unknown = unknown

    def __getitem__(self, key: str) -> Any:
        if key in self._unknown:
            raise LeftOut
        return self._section[key]

    def __contains__(self, key: object) -> bool:
        return key in self._section

    def __iter__(self) -> Iterator[str]:
        return iter(self._section)

    def __len__(self) -> int:
        return len(self._section)


def leave_out(long: Mapping[str, Any], pointers: Collection[str]) -> Mapping[str, Any]:
    """Return the long form without the values of some fields: to read one raises LeftOut."""
    ways = [split(pointer) for pointer in pointers]
    return _without(long, ways) if ways else long


def _without(section: Mapping[str, Any], ways: Collection[tuple[str, ...]]) -> Mapping[str, Any]:
    inner: dict[str, list[tuple[str, ...]]] = {}
    for first, *rest in ways:
        inner.setdefault(first, []).append(tuple(rest))
    unknown = frozenset(key for key, rests in inner.items() if () in rests)
    partly = {
        key: _without(section[key], inner[key])
        for key in inner.keys() - unknown
        if isinstance(section.get(key), Mapping)
    }
    return _Partial({**section, **partly}, unknown)
