"""The structure of rows without usual column names: conversations, objects, or no header."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from ftc.compiler.resolve.rows.reader import Row
from ftc.compiler.resolve.rows.roles import is_answer_name
from ftc.runtime.read.chat_rows import read_messages
from ftc.runtime.read.tool_rows import read_calling_messages
from ftc.spec.columns.usual_names import usual_name

_ROWS: Final = 200
_SHARE: Final = 0.9  # of the rows, for a column to count as one of a kind
_FEWEST_REPEATS: Final = 2
_FEWEST_CHARS: Final = 80  # of a text that names no column
_PHRASE: Final = re.compile(r"(?:\S+\s+){3,}\S.*")
_SENTENCE: Final = re.compile(r".*[.!]")  # a question may be the name of a survey's column


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The structure of the first rows.

    `conversation` is the only column of conversations, `inner` the only key of a column of objects
    that holds them, as `body.messages`. `objects` are the columns of objects, each with the keys of
    their texts, `lists` the answers that are lists of texts, `turns` other columns of such lists,
    and `tokens` the columns of lists of whole numbers. `is_headless` says that the names are those
    of a row.
    """

    conversation: str | None = None
    inner: str | None = None
    objects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lists: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    is_headless: bool = False


def find_shape(columns: Sequence[str], rows: Iterable[Row | None]) -> Shape:
    """Return what the first rows hold, judged by their values and not by the columns' names."""
    seen = [row for row in islice(rows, _ROWS) if row]
    cells = {name: [row.get(name) for row in seen] for name in columns}
    chats = [name for name, each in cells.items() if _are_most(map(_is_conversation, each))]
    inner = [f"{name}.{key}" for name, each in cells.items() for key in _find_inner(each)]
    return Shape(
        conversation=chats[0] if len(chats) == 1 else None,
        inner=inner[0] if len(inner) == 1 else None,
        objects={name: keys for name, each in cells.items() if (keys := _find_keys(each))},
        lists=tuple(
            name
            for name, each in cells.items()
            if is_answer_name(usual_name(name)) and _are_most(map(_is_list, each))
        ),
        turns=tuple(
            name
            for name, each in cells.items()
            if not is_answer_name(usual_name(name)) and _are_most(map(_are_turns, each))
        ),
        tokens=tuple(name for name, each in cells.items() if _are_most(map(_is_tokens, each))),
        is_headless=any(map(_is_of_row, cells, cells.values())) or _are_sentences(columns),
    )


def _are_most(answers: Iterable[bool]) -> bool:
    """Return whether at least 90% of the answers are true; False if there are none."""
    given = list(answers)
    return bool(given) and sum(given) >= _SHARE * len(given)


def _is_conversation(cell: object) -> bool:
    return not isinstance(read_calling_messages(cell), str)


def _find_inner(cells: Sequence[object]) -> list[str]:
    """Return the keys that hold conversations, also without answers, in a column of objects."""
    if not _are_most(isinstance(cell, dict) for cell in cells):
        return []
    objects = [cell for cell in cells if isinstance(cell, dict)]
    keys = dict.fromkeys(key for each in objects for key in each)
    return [key for key in keys if _are_most(_has_turns(each.get(key)) for each in objects)]


def _has_turns(cell: object) -> bool:
    return isinstance(cell, list) and not isinstance(read_messages(cell), str)


def _find_keys(cells: Sequence[object]) -> tuple[str, ...]:
    """Return the keys that hold texts in a column of objects, or of lists of objects."""
    first = [cell[0] if isinstance(cell, list) and cell else cell for cell in cells]
    if not _are_most(isinstance(cell, dict) for cell in first):
        return ()
    objects = [cell for cell in first if isinstance(cell, dict)]
    keys = dict.fromkeys(key for each in objects for key in each)
    return tuple(key for key in keys if _are_most(_holds_text(each.get(key)) for each in objects))


def _is_list(cell: object) -> bool:
    return isinstance(cell, list) and _holds_text(cell)


def _are_turns(cell: object) -> bool:
    """Return whether a value is a list of sentences; tags are words."""
    return _is_list(cell) and isinstance(cell, list) and any(" " in str(item) for item in cell)


def _is_tokens(cell: object) -> bool:
    return isinstance(cell, list) and bool(cell) and all(type(item) is int for item in cell)


def _holds_text(value: object) -> bool:
    """Return whether a value is a text or a list that begins with one."""
    return isinstance(value[0] if isinstance(value, list) and value else value, str)


def _is_of_row(name: str, cells: Sequence[object]) -> bool:
    """Return whether a name was a value of the first row: its column repeats it, or it is long."""
    return len(name) >= _FEWEST_CHARS or cells.count(name) >= _FEWEST_REPEATS


def _are_sentences(names: Sequence[str]) -> bool:
    """Return whether all names are phrases and one is a whole sentence."""
    texts = [name.strip() for name in names]
    return all(map(_PHRASE.fullmatch, texts)) and any(map(_SENTENCE.fullmatch, texts))
