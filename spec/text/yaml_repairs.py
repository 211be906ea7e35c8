"""Repairs common mistakes of YAML, line by line.

The mistakes are tabs, a missing space after a colon, text that needs quotes, a comma at the end of
a line or a missing one, an open quotation mark, and a line that is indented under a value.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from ftc.spec.findings.finding import Finding, Safety

_LEADING_TABS: Final = re.compile(r"^[ \t]*\t[ \t]*", re.MULTILINE)
_INDENTED: Final = re.compile(r"^( +)\S", re.MULTILINE)
_BLANK: Final = re.compile(r"\s*(?:#.*)?")
#: A key or a dash, and the text after it without a comment.
_PLAIN: Final = re.compile(
    r"(?P<head>[ ]*(?:- +)?(?:[\w.-]+:[ ]+)?)(?P<value>[^\s'\"\[{#|>][^#\n]*?)"
    r"(?P<rest>[ ]*(?: #.*)?)"
)
_COMMENT: Final = re.compile(r"[ \t]*,?[ \t]*(?:(?<=[ \t])#.*)?$")
_USUAL: Final = 2


def repair(text: str, finding: Finding) -> tuple[str, Safety] | None:
    """Return the text without the mistake that a finding of the reader is about, or None.

    A repair that guesses where a text ends or a line belongs is unsafe.
    """
    if finding.position is None:
        return None
    kind = finding.problem.key.rpartition(".")[2]
    lines, row, column = text.split("\n"), finding.position.line - 1, finding.position.column - 1
    if kind == "tab":
        return _without_tabs(text), "safe"
    repair_line = _REPAIRS.get(kind)
    if repair_line is not None and (better := repair_line(lines[row], column)) is not None:
        lines[row] = better
        return "\n".join(lines), "unsafe" if kind == "quote" else "safe"
    if kind in _REPAIRS:
        return None
    return _repair_line(lines, row, column)


def _repair_line(lines: list[str], row: int, column: int) -> tuple[str, Safety] | None:
    """Repair the line at which the parser stopped, if the cause is one of a few that are known."""
    line = lines[row]
    if line[column : column + 1] == "," and (_BLANK.fullmatch(line[column + 1 :])):
        lines[row] = line[:column] + line[column + 1 :]
        return "\n".join(lines), "safe"
    quoted = _quoted(line)
    if quoted is not None and column >= len(line) - len(line.lstrip()):
        lines[row] = quoted
        return "\n".join(lines), "safe"
    above = next((each for each in reversed(lines[:row]) if not _BLANK.fullmatch(each)), None)
    if above is None or line.lstrip() == line:
        return None
    lines[row] = above[: len(above) - len(above.lstrip())] + line.lstrip()
    return "\n".join(lines), "unsafe"


def _quoted(line: str) -> str | None:
    """Return the line with its text in quotes, if that text cannot stand without them."""
    match = _PLAIN.fullmatch(line)
    if match is None or not match["head"].strip():
        return None
    value = match["value"]
    if not (re.search(r":(?:\s|$)", value) or value[0] in "*&!%@`"):
        return None
    inner = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{match["head"]}"{inner}"{match["rest"]}'


def _without_tabs(text: str) -> str:
    """Return the text with each tab of an indentation as the spaces of one level."""
    level = min((len(spaces) for spaces in _INDENTED.findall(text)), default=_USUAL)
    return _LEADING_TABS.sub(lambda match: match[0].replace("\t", " " * level), text)


def _spaced(line: str, column: int) -> str:
    """Return the line with a space after the colon of the key at a column."""
    colon = line.index(":", column)
    return f"{line[: colon + 1]} {line[colon + 1 :]}"


def _closed(line: str, column: int) -> str | None:
    """Return the line with the quotation mark that opens at a column closed at its end."""
    end = _COMMENT.search(line, column)
    return None if end is None else line[: end.start()] + line[column] + line[end.start() :]


def _separated(line: str, column: int) -> str:
    """Return the line with a comma before a member of a mapping in braces."""
    return f"{line[:column]}, {line[column:]}"


_REPAIRS: Final[Mapping[str, Callable[[str, int], str | None]]] = {
    "comma": _separated,
    "quote": _closed,
    "space": _spaced,
}
