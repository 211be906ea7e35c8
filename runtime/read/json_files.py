"""Reads rows from jsonl and json files. Standard library only.

The readers for prepare.py return chunks of rows, which processes work on; the compiler reads rows
with the functions that they are made of.
"""

import ast
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from .rows import DataError, cut

#: Makes an object of its keys and values; without it, the last value of a key is kept.
MakeObject = Callable[[list[tuple[str, Any]]], dict[str, Any]]
#: Keys under which a JSON file may keep its list of rows.
WRAPPERS: Final = ("data", "train", "rows", "examples")


def read_jsonl(paths: Sequence[Path], *, encoding: str) -> Iterator[list[str]]:
    """Yield the lines of files in chunks, unparsed; blank lines are left out."""
    for path in paths:
        with path.open(encoding=encoding, errors="replace") as file:
            yield from cut(filter(str.strip, file))


def read_json(paths: Sequence[Path], *, encoding: str) -> Iterator[list[Any]]:
    """Yield the rows of JSON lists in chunks."""
    for path in paths:
        try:
            yield from cut(parse_json(path.read_text(encoding=encoding, errors="replace")))
        except DataError as error:
            raise DataError(f"{path} cannot be read: {error}") from error


def parse_lines(chunk: Iterable[str]) -> Iterator[Any]:
    """Return the values of lines of JSON, None for a broken one."""
    return map(parse_line, chunk)


def parse_line(line: str, make: MakeObject | None = None) -> Any:
    """Return the value of a line of JSON, or None if it is broken; `make` makes its objects."""
    try:
        return json.loads(line, object_pairs_hook=make)
    except (ValueError, RecursionError):
        return None


def parse_cell(text: str) -> Any:
    """Return the value of JSON in a cell, or of a list as Python and NumPy print it.

    Tables of pandas hold such lists. NumPy writes no comma between two objects, but a line break,
    which is escaped in a text. Raises ValueError for anything else.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        printed = text.strip().replace("}\n {", "},\n {")
        if not printed.startswith("["):
            raise ValueError(str(error)) from error
    try:
        return ast.literal_eval(printed)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(str(error)) from error


def parse_json(text: str, make: MakeObject | None = None) -> list[Any]:
    """Return the list of rows that a text of JSON holds; raises DataError without one."""
    try:
        value = json.loads(text, object_pairs_hook=make)
    except json.JSONDecodeError as error:
        line, why = error.lineno, error.msg.lower()
        raise DataError(f"line {line}: {why}", key="line", line=line, reason=why) from error
    except (ValueError, RecursionError) as error:
        text = "it is nested too deeply, or holds a number too long"
        raise DataError(text, key="nesting") from error
    if isinstance(value, dict):
        value = unwrap(value)
    if not isinstance(value, list):
        raise DataError("it holds no list of rows", key="no_list")
    return value


def unwrap(value: dict[str, Any]) -> Any:
    """Return the list of rows in an object: under a usual key, or the only list of objects."""
    lists = [value[key] for key in WRAPPERS if isinstance(value.get(key), list)]
    if not lists:
        named = [each for each in value.values() if isinstance(each, list) and each]
        lists = [each for each in named if all(map(_is_row, each))]
        lists = lists if len(lists) == 1 else []
    return lists[0] if lists else value


def _is_row(value: Any) -> bool:
    """Return whether a value may be a row: an object, and no message of a single conversation."""
    return isinstance(value, dict) and value.keys().isdisjoint(("role", "from"))
