"""The system message that a family's chat template adds if a conversation has none."""

from collections.abc import Mapping
from functools import cache

from ftc.compiler.knowledge.tables import read_table


def default_system(model: str) -> str | None:
    """Return the system message that the template of a tuned model adds, or None.

    The texts are rendered by the templates in the llama-cpp-python 0.3.36 source distribution; a
    date in them stands for any date. The longest matching prefix of the id counts.
    """
    found = [start for start in _texts() if model.casefold().startswith(start.casefold())]
    return _texts()[max(found, key=len)] if found else None


@cache
def _texts() -> Mapping[str, str]:
    """Return the default system messages, keyed by a prefix of the model's id."""
    return {
        entry["models"]: entry["text"] for entry in read_table(__name__, "default_systems.json")
    }
