"""Finds columns without a role that belong to the answers: explanations, options, and names."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ftc.spec.columns.usual_names import usual_name

_MOST: Final = 0.9  # share of rows
_HALF: Final = 0.5
_FEWEST: Final = 2
#: Usual names of columns that explain an answer.
_EXPLAINING: Final = frozenset(
    {
        *("explanation", "rationale", "reasoning", "reasoning_content", "chain_of_thought"),
        *("cot", "thought", "thinking"),
    }
)
_OPTION: Final = re.compile(r"(?:(?:option|choice|answer|opt|op|ans|ending)s?_?)?([a-j]|[0-9])")
_AROUND: Final = " .()"
_LETTERS: Final = "abcdefghij"

Texts = Sequence[Mapping[str, str]]


def find_explaining(rows: Texts, columns: Sequence[str], answer: str) -> tuple[str, ...]:
    """Return the columns named like explanations of answers that have text in most rows.

    What answers have in themselves is not left out.
    """
    return tuple(
        name
        for name in columns
        if usual_name(name).removesuffix("s") in _EXPLAINING
        and len({row[name] for row in rows}) >= _FEWEST
        and sum(bool(row[name]) for row in rows) >= _HALF * len(rows)
        and not _holds(rows, name, answer)
    )


def find_options(
    rows: Texts,
    sizes: Sequence[Mapping[str, int]],
    columns: Sequence[str],
    *,
    prompt: str | None,
    answer: str,
) -> tuple[str, ...]:
    """Return the columns of options that the answers name by letter, number or text.

    They are one column for each option, or a single one of lists; `sizes` counts the items. Options
    that the prompts have in themselves are not left out.
    """
    found = _find_options(rows, sizes, columns, answer)
    is_told = prompt is not None and all(_holds(rows, name, prompt) for name in found)
    return () if is_told else found


def _holds(rows: Texts, name: str, other: str) -> bool:
    """Return whether the lines of a column are in the text of another one, in most rows."""
    held = (all(line in row[other] for line in row[name].splitlines()) for row in rows)
    return sum(held) >= _HALF * len(rows)


def _find_options(
    rows: Texts, sizes: Sequence[Mapping[str, int]], columns: Sequence[str], answer: str
) -> tuple[str, ...]:
    said = [row[answer].strip(_AROUND).casefold() for row in rows]
    named = {match[1]: name for name in columns if (match := _OPTION.fullmatch(usual_name(name)))}
    if len(named) >= _FEWEST and sum(each in named for each in said) >= _MOST * len(rows):
        return tuple(named.values())
    for name in columns:
        chosen = (
            _is_chosen(each, size.get(name, 0), row[name])
            for each, size, row in zip(said, sizes, rows, strict=True)
        )
        if rows and sum(chosen) >= _MOST * len(rows):
            return (name,)
    return ()


def count_items(cell: Any) -> int:
    """Return the number of items of a list, or of the longest list in an object."""
    if isinstance(cell, dict):
        return max(map(count_items, cell.values()), default=0)
    return len(cell) if isinstance(cell, list) else 0


def find_names(rows: Texts, columns: Sequence[str], answer: str) -> str:
    """Return the column that names the classes of numbered answers, "" without one.

    Each number has one name of its own.
    """
    for name in columns:
        pairs = {(row[answer], row[name]) for row in rows}
        numbers, names = ({pair[place] for pair in pairs} for place in (0, 1))
        are_names = all(each and not each.isdecimal() for each in names)
        if are_names and _FEWEST <= len(numbers) == len(names) == len(pairs) < len(rows):
            return name
    return ""


def _is_chosen(answer: str, size: int, items: str) -> bool:
    """Return whether an answer is one of some items, or the letter or the number of one."""
    if size < _FEWEST or not answer:
        return False
    if answer in _LETTERS[:size] or (answer.isdecimal() and int(answer) <= size):
        return True
    return answer in (line.strip(_AROUND).casefold() for line in items.splitlines())
