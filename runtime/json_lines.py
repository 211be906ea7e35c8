"""Reads files that have one JSON value per line. Standard library only."""

import json
from pathlib import Path
from typing import Any


def read_rows(path: Path, *, encoding: str = "utf-8") -> list[Any]:
    """Return the JSON values of a file that has one per line."""
    return [json.loads(line) for line in split_rows(path.read_text(encoding=encoding))]


def split_rows(text: str) -> list[str]:
    """Return the lines of a text that has one JSON value per line, without blank ones.

    Only a line feed ends a line: a string of JSON may contain the other characters at which
    `str.splitlines` divides a text, such as U+2028.
    """
    return [line for line in text.split("\n") if line.strip()]
