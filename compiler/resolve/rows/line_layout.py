"""What a file of JSON Lines holds that does not have one object in each line."""

import ast
import json
import warnings
from pathlib import Path
from typing import Final

from ftc.compiler.resolve.rows.table import sniff_format

_LONGEST_LINE: Final = 100_000


def find_layout(path: Path) -> str:
    """Return the variant of help for a file that does not have one object in each line."""
    if sniff_format(path) == "json":
        return "json"
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(_LONGEST_LINE).lstrip()
    first = text.partition("\n")[0].strip()
    if first.endswith(",") and isinstance(_decode(first), dict):
        return "comma"
    return "lines" if isinstance(_decode(text), dict) else "list"


def _decode(text: str) -> object:
    """Return the first JSON value of a text, or None without one."""
    try:
        value: object = json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None
    return value


def holds_python(path: Path) -> bool:
    """Tell whether the first line is a Python dictionary, as `print` and `str` write one."""
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline(_LONGEST_LINE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return isinstance(ast.literal_eval(first.strip()), dict)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
