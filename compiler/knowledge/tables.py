"""Reads the tables of `knowledge`: JSON files, each in the folder of the module that reads it."""

import json
from importlib.resources import files
from typing import Any


def read_table(module: str, name: str) -> Any:
    """Return the data of the JSON file `name` in the folder of a module, given its `__name__`."""
    return json.loads((files(module.rpartition(".")[0]) / name).read_text(encoding="utf-8"))
