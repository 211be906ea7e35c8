"""JSON pointers (RFC 6901): joining, splitting and dotted names."""

from collections.abc import Collection, Iterable
from functools import lru_cache


def join(parts: Iterable[str | int]) -> str:
    """Return the pointer of these keys and indices; no parts give the whole document."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)


@lru_cache(maxsize=4096)  # the fields of the schema are split often
def split(pointer: str) -> tuple[str, ...]:
    """Return the unescaped parts of a pointer."""
    parts = pointer.split("/")[1:]
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def parent(pointer: str) -> str:
    """Return the pointer of the enclosing value; the parent of the document is the document."""
    return pointer.rpartition("/")[0]


def find_above(pointer: str, pointers: Collection[str]) -> str | None:
    """Return the pointer itself if it is among some, or else its nearest ancestor among them."""
    while pointer and pointer not in pointers:
        pointer = parent(pointer)
    return pointer or None


def dotted(pointer: str) -> str:
    """Return the name that messages use: `/data/columns/text` is `data.columns.text`."""
    first, *rest = split(pointer) or ("the spec",)
    return first + "".join(f"[{part}]" if part.isdecimal() else f".{part}" for part in rest)
