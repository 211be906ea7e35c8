"""Reads the tables of words and phrases, which are JSON files of the folder `tables`."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def word_table(name: str) -> Any:
    """Return the table with this name, without `.json`: an object, or a list of objects."""
    text = (files("ftc.tui.understanding.tables") / f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text)
