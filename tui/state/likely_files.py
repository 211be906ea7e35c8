"""Files of a folder that may be training data, the most likely first."""

import csv
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from ftc.compiler.resolve.rows.reader import find_other_kind
from ftc.compiler.resolve.rows.roles import Roles, assign_roles
from ftc.spec.sections import Columns

_ENDINGS: Final = (".csv", ".jsonl", ".json", ".parquet")
#: Files of ftc and other tools, which are never data.
_TOOLS: Final = frozenset({"spec.json", "ftc.lock.json", "package.json", "plan.json"})
_MOST_LOOKED_AT: Final = 100
_MOST_LISTED: Final = 2000
_BEGINNING_BYTES: Final = 64 * 1024
_NAMES: Final = ("train", "data", "ticket", "chat", "example", "dataset")


def list_likely(folder: Path) -> list[str]:
    """Return the names of files with rows: known columns first, then suggestive names, by name.

    A file is left out if its first bytes are not text, or if it is a single JSON object.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in _ENDINGS)
    except OSError:
        return []
    ranked = []
    for path in islice((path for path in paths if path.name not in _TOOLS), _MOST_LOOKED_AT):
        rank = _rank(path)
        if rank is not None:
            ranked.append((rank, path.name))
    return [name for _, name in sorted(ranked)]


def list_spaced(folder: Path) -> tuple[str, ...]:
    """Return the names of the data files with a space, which no pattern can recognise."""
    try:
        names = islice((path.name for path in folder.iterdir()), _MOST_LISTED)
        return tuple(sorted(name for name in names if " " in name and _is_data(name)))
    except OSError:
        return ()


def _is_data(name: str) -> bool:
    return Path(name).suffix.lower() in _ENDINGS


def read_columns(path: Path) -> tuple[str, ...]:
    """Return the columns in the beginning of a file; none if it shows no rows."""
    try:
        if path.suffix.lower() not in _ENDINGS[:3] or not path.is_file():
            return ()
        with path.open("rb") as stream:
            start = stream.read(_BEGINNING_BYTES)
    except (OSError, ValueError):
        return ()
    text = start.decode("utf-8", errors="replace")
    return tuple(_columns(path.suffix.lower(), text)) if text.strip("\ufeff \n\r\t") else ()


def _rank(path: Path) -> tuple[int, int] | None:
    """Return the rank of a file, the lowest first; None if it has no rows."""
    try:
        if not path.is_file():
            return None
        kind = find_other_kind(path)
        if path.suffix.lower() == ".parquet":
            recognised = kind == "parquet"
            return (1, _telling(path)) if recognised else None
        with path.open("rb") as stream:
            start = stream.read(_BEGINNING_BYTES)
    except OSError:
        return None
    if kind is not None or b"\0" in start or not start.strip():
        return None
    columns = tuple(_columns(path.suffix.lower(), start.decode("utf-8", errors="replace")))
    if not columns:
        return None
    roles = assign_roles(columns, named=Columns(), form="auto")
    return (0 if isinstance(roles, Roles) else 2), _telling(path)


def _telling(path: Path) -> int:
    return 0 if any(name in path.stem.casefold() for name in _NAMES) else 1


def _columns(suffix: str, text: str) -> Iterator[str]:
    """Yield the columns of the first row; none if the text does not begin with rows."""
    bare = text.lstrip("\ufeff \n\r\t")
    if suffix == ".csv":
        line = bare.splitlines()[0]
        try:
            dialect = csv.Sniffer().sniff(line, delimiters=",;\t|")
        except csv.Error:
            dialect = csv.excel
        yield from next(csv.reader([line], dialect), [])
        return
    if suffix == ".json":
        if not bare.startswith("["):
            return
        bare = bare[1:].lstrip()
    try:
        row, _ = json.JSONDecoder().raw_decode(bare)
    except (ValueError, RecursionError):
        return
    if isinstance(row, dict):
        yield from map(str, row)
