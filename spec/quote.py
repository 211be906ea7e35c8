"""How a value of a spec is shown in a message: short, on one line, in backticks."""

import json
from typing import Any

from ftc.spec.message import Message

_LONGEST = 60
_SHORT_PREFIX = 400


def quote(value: Any) -> str | Message:
    """Return the value as JSON in backticks, cut to 60 characters, nothing unprintable in it."""
    if isinstance(value, str):
        text = json.dumps(value[:_SHORT_PREFIX], ensure_ascii=False)
    elif isinstance(value, dict):
        return Message("phrase.object")
    elif isinstance(value, list):
        return Message("phrase.list")
    else:
        text = json.dumps(value)
    return f"`{shown(text)}`"


def shown(text: str) -> str:
    """Return the text cut to 60 characters, with unprintable characters and backticks escaped."""
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return "".join(_visible(letter) for letter in text)


def _visible(letter: str) -> str:
    if letter == "`":
        return "'"
    return letter if letter.isprintable() else ascii(letter)[1:-1]
