"""Finds messages that are not turns: other keys than a role and a text, or other parts."""

from collections.abc import Iterator
from typing import Any

from ftc.compiler.resolve.rows.reader import Row
from ftc.runtime.read.chat_rows import content_of, load_messages, read_turn


def find_strange_turn(row: Row) -> tuple[str, tuple[str, ...]]:
    """Return the kind of the first message that is no turn, with its keys or its kinds of parts.

    The kind is the variant of the help: `keys`, `parts`, or "" for a message without either.
    """
    for message in _list_messages(row):
        if read_turn(message) is not None or not isinstance(message, dict):
            continue
        content = content_of(message)
        if isinstance(content, list):
            kinds = [part.get("type") for part in content if isinstance(part, dict)]
            named = dict.fromkeys(kind for kind in kinds if isinstance(kind, str))
            return "parts", tuple(kind for kind in named if kind != "text")
        if content is None or not ({"role", "from"} & message.keys()):
            return "keys", tuple(message)
    return "", ()


def _list_messages(row: Row) -> Iterator[Any]:
    for cell in row.values():
        messages = load_messages(cell)
        yield from messages if isinstance(messages, list) else ()
