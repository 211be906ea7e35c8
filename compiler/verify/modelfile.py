"""A Modelfile, read as Ollama's own parser reads it."""

import re
from collections.abc import Mapping
from typing import Any, Final

_LINE: Final = re.compile(r"(?P<name>[A-Za-z]+)[ \t]+(?P<rest>.*)", re.DOTALL)
_NAMES: Final = ("from", "adapter", "template", "system", "license", "parameter", "message")
_QUOTES: Final = '"""'


class ModelfileError(ValueError):
    """The text is no Modelfile."""


def read_modelfile(text: str) -> Mapping[str, Any]:
    """Return its instructions by name in small letters, parameters among them, `stop` as a list.

    A second FROM is the `projector`.

    A value goes on over lines while its quotes are open; inside them, Ollama drops whatever is not
    printable, line feeds apart. Raises ModelfileError.
    """
    said: dict[str, Any] = {"stop": []}
    lines = text.split("\n")
    while lines:
        line = lines.pop(0)
        if not line.strip() or line.lstrip(" \t").startswith("#"):
            continue
        found = _LINE.fullmatch(line.lstrip(" \t"))
        name = found["name"].lower() if found else ""
        if found is None or name not in _NAMES:
            raise ModelfileError(f"no instruction begins the line {line[:40]!r}")
        value = found["rest"]
        if name == "parameter":
            name, _, value = value.partition(" ")
        while (read := _unquote(value.strip())) is None:
            if not lines:
                raise ModelfileError(f"the quotes of `{name}` have no end")
            value += "\n" + lines.pop(0)
        kept = "".join(letter for letter in read if letter.isprintable() or letter == "\n")
        if name == "stop":
            said["stop"].append(kept)
        elif name == "from" and name in said and "projector" not in said:
            said["projector"] = kept  # the second file, with which the first one reads images
        elif name in said:
            raise ModelfileError(f"`{name}` stands there twice")
        else:
            said[name] = kept
    if "from" not in said:
        raise ModelfileError("there is no FROM")
    return said


def _unquote(value: str) -> str | None:
    """Return a value without its quotes; None while they are open."""
    for quotes in (_QUOTES, '"'):
        if value.startswith(quotes):
            closed = len(value) >= 2 * len(quotes) and value.endswith(quotes)
            return value[len(quotes) : -len(quotes)] if closed else None
    return value
