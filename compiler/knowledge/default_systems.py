"""The system message that a family's chat template writes where a conversation has none."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


def default_system(model: str) -> str | None:
    """Return the system message that the template of a tuned model adds, or None.

    The texts are what the templates of the llama-cpp-python 0.3.36 source distribution render; a
    date in them stands for any date. The longest beginning of the id counts.
    """
    found = [start for start in _texts() if model.casefold().startswith(start.casefold())]
    return _texts()[max(found, key=len)] if found else None


@cache
def _texts() -> Mapping[str, str]:
    """Return the default system messages, keyed by a prefix of the model's id."""
    text = (files("ftc.compiler.knowledge") / "default_systems.json").read_text(encoding="utf-8")
    return {entry["models"]: entry["text"] for entry in json.loads(text)}
