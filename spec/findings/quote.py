"""Quotes a value of a spec in a message: short, on one line, in backticks."""

import json
import re
import shlex
from typing import Any, Final

from ftc.spec.message import Message

_LONGEST = 60
_SHORT_PREFIX = 400
_LARGE: Final = 1e6
_EXPONENT: Final = re.compile(r"e\+0*")


def quote(value: Any) -> str | Message:
    """Return the value as JSON in backticks, cut to 60 characters, nothing unprintable in it."""
    if isinstance(value, str):
        text = json.dumps(value[:_SHORT_PREFIX], ensure_ascii=False)
    elif isinstance(value, dict):
        return Message("phrase.object")
    elif isinstance(value, list):
        return Message("phrase.list")
    elif isinstance(value, float) and abs(value) >= _LARGE and float(f"{value:g}") == value:
        text = _EXPONENT.sub("e", f"{value:g}")  # 1e9, where json has 1000000000.0
    else:
        text = json.dumps(value)
    return f"`{shown(text)}`"


def shell_word(path: str) -> str:
    """Return a path as one word of a shell command, which no program takes for an option."""
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def shown(text: str) -> str:
    """Return the text cut to 60 characters, with unprintable characters and backticks escaped."""
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return "".join(_visible(letter) for letter in text)


def _visible(letter: str) -> str:
    if letter == "`":
        return "'"
    return letter if letter.isprintable() else ascii(letter)[1:-1]
