"""Formats JSON for readers and for diffs: each entry that is short enough is on one line."""

import json
from typing import Any


def lay_out(value: Any, *, width: int, depth: int = 0, indent: str = "", sort: bool = False) -> str:
    """Return a value as ASCII JSON, with one line for each entry of a divided object or list.

    An object or a list is divided in the first `depth` levels, and below them if it is longer than
    `width` characters. `indent` is the indentation of the line that the value begins on.
    """
    flat = json.dumps(value, sort_keys=sort, allow_nan=False)
    is_short = depth <= 0 and len(indent) + len(flat) <= width
    if not isinstance(value, dict | list) or not value or is_short:
        return flat
    inner = f"{indent}  "
    items: list[tuple[str, Any]] = [("", entry) for entry in value]
    if isinstance(value, dict):
        names = sorted(value) if sort else list(value)
        items = [(f"{json.dumps(name)}: ", value[name]) for name in names]
    lines = [
        f"{inner}{start}{lay_out(entry, width=width, depth=depth - 1, indent=inner, sort=sort)}"
        for start, entry in items
    ]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([first, ",\n".join(lines), f"{indent}{last}"])
