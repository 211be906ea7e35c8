"""How families of chat templates are written for Ollama, as Go templates over its messages.

A template of the table reads `.System` and `.Messages`, as Ollama's documentation has them, and
leaves out the token at the beginning, which llama.cpp adds by itself. The place OPENING takes what
a generation prompt writes after the assistant's header; `default` is what stands around the system
message that a model brings along, written where a conversation has none.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

OPENING: Final = "@OPENING@"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One way of writing conversations; `stop` are the texts that end an answer."""

    name: str
    stop: tuple[str, ...]
    default: tuple[str, str] | None
    template: str


@cache
def ollama_families() -> Sequence[Family]:
    """Return the table, in the order in which families are tried."""
    text = (files("ftc.compiler.knowledge") / "ollama_templates.json").read_text(encoding="utf-8")
    return tuple(
        Family(
            name=entry["name"],
            stop=tuple(entry["stop"]),
            default=tuple(entry["default"]) if entry["default"] else None,
            template="\n".join(entry["template"]),
        )
        for entry in json.loads(text)
    )


def find_ollama_family(name: str) -> Family | None:
    """Return the family of that name; None where the table has none."""
    return next((family for family in ollama_families() if family.name == name), None)


def is_sayable(text: str) -> bool:
    """Tell whether a Modelfile can hold a text: Ollama ends it at triple quotes.

    And drops in silence whatever is not printable, which includes tabs and wide spaces.
    """
    return '"""' not in text and all(letter.isprintable() or letter == "\n" for letter in text)
