"""Reads rows from jsonl and json files. Standard library only.

The readers for prepare.py return chunks of rows, which processes work on; the compiler reads rows
with the functions that they are made of.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from .rows import DataError, cut

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


def parse_line(line: str) -> Any:
    """Return the value of a line of JSON, or None if it is broken."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def parse_json(text: str) -> list[Any]:
    """Return the list of rows that a text of JSON holds; raises DataError without one."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        line, why = error.lineno, error.msg.lower()
        raise DataError(f"line {line}: {why}", key="line", line=line, reason=why) from error
    except (ValueError, RecursionError) as error:
        text = "it is nested too deeply, or holds a number too long"
        raise DataError(text, key="nesting") from error
    if isinstance(value, dict):
        value = next((value[key] for key in WRAPPERS if isinstance(value.get(key), list)), value)
    if not isinstance(value, list):
        raise DataError("it holds no list of rows", key="no_list")
    return value
