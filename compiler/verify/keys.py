"""The table of keys that the pinned libraries accept, and the search for others."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

Table = Mapping[str, Mapping[str, frozenset[str]]]


@cache
def read_keys() -> Table:
    """Return library -> block -> keys; "" is the top of a file, "a.b" a block inside a block.

    For "python" a block is the name of a class and its keys are keyword names.
    """
    text = files("ftc.compiler.verify").joinpath("keys.json").read_text(encoding="ascii")
    data = json.loads(text)
    return {
        library: {block: frozenset(keys) for block, keys in blocks.items()}
        for library, blocks in data.items()
        if library != "versions"
    }


def find_unknown(library: str, settings: Any, block: str = "") -> Iterator[str]:
    """Yield the dotted path of every key that the library would not accept at its place.

    The inside of a block without a list of its own is unknown as a whole.
    """
    accepted = read_keys()[library].get(block)
    if accepted is None:
        yield block
    elif isinstance(settings, Mapping):
        for name, value in settings.items():
            path = f"{block}.{name}" if block else str(name)
            if name not in accepted:
                yield path
            elif isinstance(value, Mapping):
                yield from find_unknown(library, value, path)
