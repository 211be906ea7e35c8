"""The only types that a template may print: each is a whole token of the output's language."""

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ftc.compiler.knowledge.text.ollama_templates import is_sayable

#: Control characters, separators of lines, halves of characters, and letters that cannot be seen.
_UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u115f\u1160\u2028\u2029\u3164\ufeff\uffa0\ud800-\udfff]+"
)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
# The last three begin what GitHub's Markdown makes a link of by itself. Code that needs no escape:
# it has two backticks, and contains no cell separator, link or HTML.
_CODE = re.compile(r"(?<![`\\])(`[\w.]+`)(?!`)", re.ASCII)
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~&$!@]|:(?=/)|(?<=www)\.", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Literal:
    """A Python literal, allowed only as the right-hand side of a constant."""

    value: Any

    def __str__(self) -> str:
        """Return source on one line that evaluates to the value."""
        return python_literal(self.value)


@dataclass(frozen=True, slots=True)
class Comment:
    """One line of text after a `# `: control characters and line separators become spaces."""

    text: str

    def __str__(self) -> str:
        """Return the text without anything that could end the line."""
        return " ".join(_UNPRINTABLE.sub(" ", self.text).split())


@dataclass(frozen=True, slots=True)
class Word:
    """A word of one of ftc's closed tables, an integer, or a name with a pattern in the schema.

    It contains no blank, quote or other shell character, and does not start with a dash.
    """

    text: str

    def __post_init__(self) -> None:
        if not _WORD.fullmatch(self.text):
            raise ValueError(f"not a word of a closed table: {self.text!r}")

    def __str__(self) -> str:
        """Return the word."""
        return self.text


@dataclass(frozen=True, slots=True)
class Markdown:
    """Text inside a line of Markdown, with all Markdown and HTML syntax escaped.

    Code in backticks is kept as code if it contains only safe characters.
    """

    text: str

    def __str__(self) -> str:
        """Return the text on one line, with links, markup and cell separators escaped."""
        line = " ".join(_UNPRINTABLE.sub(" ", self.text).split())
        parts = _CODE.split(line)
        parts[::2] = [_MARKUP.sub(r"\\\g<0>", part).replace("\\<", "&lt;") for part in parts[::2]]
        return "".join(parts)


@dataclass(frozen=True, slots=True)
class ModelfileText:
    """A value of a Modelfile in triple quotes, which Ollama cannot escape."""

    text: str

    def __post_init__(self) -> None:
        if not is_sayable(self.text):
            raise ValueError(f"no Modelfile can hold {self.text!r}")

    def __str__(self) -> str:
        """Return the quoted text."""
        return f'"""{self.text}"""'


def python_literal(value: Any) -> str:
    """Return Python source for a JSON-like value; raises TypeError for any other type."""
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if value is Ellipsis:  # the placeholder for values in a neutral script
        return "..."
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"no literal for {value!r}")
        return repr(value)
    if isinstance(value, str):
        return _string_literal(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{python_literal(k)}: {python_literal(v)}" for k, v in value.items())
        return "{" + inside + "}"
    if isinstance(value, tuple | list):
        inside = ", ".join(python_literal(item) for item in value)
        return f"[{inside}]"
    raise TypeError(f"no literal for {type(value).__name__}")


_QUOTES = {"'": "'", '"': '\\"'}


def _string_literal(text: str) -> str:
    """Return a double-quoted literal, as the formatter would write it."""
    body = "".join(_QUOTES.get(letter, _write_character(letter)) for letter in text)
    return f'"{body}"'


def _write_character(character: str) -> str:
    """Return a single-width letter or digit unchanged, and everything else as an ASCII escape.

    Letters that are written from right to left would reorder the line on a screen.
    """
    shown = (
        character.isalnum()
        and unicodedata.bidirectional(character) in ("L", "EN")
        and unicodedata.east_asian_width(character) not in ("W", "F")
        and not _UNPRINTABLE.match(character)
    )
    return character if shown else ascii(character)[1:-1]
