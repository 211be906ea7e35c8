"""Writes the entries of a derived table, and the counts that its test compares."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["record"]


def record(
    name: str,
    entry: dict[str, Any],
    done: Sequence[Mapping[str, Any]],
    places: tuple[Path, Path],
) -> None:
    """Put a class into the table, and its cases into those of the test."""
    table, cases = (json.loads(p.read_text(encoding="utf-8")) if p.exists() else {} for p in places)
    table[name], cases[name] = entry, done
    places[0].write_text(dump(dict(sorted(table.items()))), encoding="utf-8")
    rows = {n: "[\n  " + ",\n  ".join(map(json.dumps, cases[n])) + "\n ]" for n in sorted(cases)}
    text = ",\n".join(f' "{name}": {block}' for name, block in rows.items())
    places[1].write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


def dump(table: Mapping[str, Any]) -> str:
    """Write an entry's keys on lines of their own, and a tensor per line."""
    blocks = []
    for name, entry in table.items():
        lines = []
        for key, value in entry.items():
            if key in ("layer", "model"):
                rows = ",\n   ".join(json.dumps(row) for row in value)
                lines.append(f'  "{key}": [\n   {rows}\n  ]')
            else:
                lines.append(f'  "{key}": {json.dumps(value)}')
        blocks.append(f' "{name}": {{\n' + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(blocks) + "\n}\n"
