"""Families of chat templates, as Go templates for Ollama.

A template of the table reads Ollama's `.System` and `.Messages`. It leaves out the first token,
which llama.cpp adds by itself. The placeholder OPENING stands for the text that a generation prompt
adds after the assistant's header. `default` is the text around the model's own system message,
which is used if a conversation has none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from ftc.compiler.knowledge.tables import read_table

OPENING: Final = "@OPENING@"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One chat format; `stop` are the texts that end an answer."""

    name: str
    stop: tuple[str, ...]
    default: tuple[str, str] | None
    template: str


@cache
def ollama_families() -> Sequence[Family]:
    """Return the table, in the order in which families are tried."""
    return tuple(
        Family(
            name=entry["name"],
            stop=tuple(entry["stop"]),
            default=tuple(entry["default"]) if entry["default"] else None,
            template="\n".join(entry["template"]),
        )
        for entry in read_table(__name__, "ollama_templates.json")
    )


def find_ollama_family(name: str) -> Family | None:
    """Return the family of that name, or None."""
    return next((family for family in ollama_families() if family.name == name), None)


def is_sayable(text: str) -> bool:
    """Return whether a Modelfile can represent a text.

    Ollama ends a text at triple quotes, and silently drops characters that are not printable,
    including tabs and wide spaces.
    """
    return '"""' not in text and all(letter.isprintable() or letter == "\n" for letter in text)
