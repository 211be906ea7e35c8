"""The walls: where a Python template prints values, and whether each place can only hold data."""

import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import product
from typing import Literal

_MARKER = re.compile(r"ftc_marker_(\d+)_ftc")
_PRINTED = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_COMMENT_TAG = re.compile(r"\{#.*?#\}", re.DOTALL)
# With trim_blocks and lstrip_blocks: a tag takes the blanks before it and the newline after it.
_TAG = re.compile(r"(?:^[ \t]*)?\{%(.*?)%\}\n?", re.DOTALL | re.MULTILINE)
_WORDS = re.compile(r"[-+\s]*(\w+)(.*)", re.DOTALL)
_LAYOUT = frozenset({tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING})
# PEP 263: a comment this early can set the encoding of the whole file.
_COOKIE_LINES = 2


Kind = Literal["constant", "comment", "loose"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One printed expression and what surrounds it in the template.

    `constant`: the whole right-hand side of a `NAME =` at the top level. `comment`: inside a
    comment after the file's second line. `loose`: anywhere else, where text could become code.
    """

    expression: str
    kind: Kind


def marker_places(template: str) -> tuple[Place, ...]:
    """Return the place of every printed expression of a Python template, in order.

    Each `{{ }}` becomes a name, each branch of each `if` is taken in turn, and Python's own
    tokenizer says what each name stands in. Where it cannot go on, the rest is loose. A place must
    be good in every variant of the template that has it.
    """
    bare = _COMMENT_TAG.sub("", template)
    expressions = [found.group(1).strip(" \t\n-+") for found in _PRINTED.finditer(bare)]
    counter = iter(range(len(expressions)))
    marked = _PRINTED.sub(lambda _: f"ftc_marker_{next(counter)}_ftc", bare)
    kinds: dict[int, set[str]] = {}
    for code in _variants(marked):
        good = dict(_classify(code))
        for found in _MARKER.finditer(code):
            number = int(found.group(1))
            kinds.setdefault(number, set()).add(good.get(number, "loose"))
    return tuple(
        Place(expression=expression, kind=_agreed(kinds.get(number, set())))
        for number, expression in enumerate(expressions)
    )


def banned_tags(template: str) -> tuple[str, ...]:
    """Return the statement tags that could hide a printed value: macros, calls, block sets."""
    banned = {"macro", "call", "filter", "import", "from", "raw", "autoescape"}
    found = []
    for tag in _TAG.finditer(_COMMENT_TAG.sub("", template)):
        words = _WORDS.match(tag.group(1))
        name, rest = words.groups() if words else ("", "")
        if name in banned or (name == "set" and "=" not in rest):
            found.append(tag.group().strip())
    return (*found, *re.findall(r"\{\{[^}]*\bsuper\s*\(\s*\)[^}]*\}\}", template))


def _agreed(kinds: set[str]) -> Kind:
    if kinds == {"constant"}:
        return "constant"
    return "comment" if kinds == {"comment"} else "loose"


def _variants(marked: str) -> Iterator[str]:
    """Yield the template without its tags, once for each choice of a branch at each depth."""
    pieces = _TAG.split(marked)
    counts = _branch_counts(pieces)
    depths: dict[int, int] = {}
    for depth, count in counts.values():
        depths[depth] = max(depths.get(depth, 1), count)
    for choice in product(*(range(depths[depth]) for depth in sorted(depths))):
        yield _select(pieces, counts, choice)


def _branch_counts(pieces: list[str]) -> dict[int, tuple[int, int]]:
    """Return, for the index of each opening tag, its depth and its number of branches."""
    counts: dict[int, tuple[int, int]] = {}
    opened: list[int] = []
    for index in range(1, len(pieces), 2):
        match _tag_name(pieces[index]):
            case "if" | "for":
                counts[index] = (len(opened), 1)
                opened.append(index)
            case "elif" | "else" if opened:
                depth, count = counts[opened[-1]]
                counts[opened[-1]] = (depth, count + 1)
            case "endif" | "endfor" if opened:
                opened.pop()
    return counts


def _select(pieces: list[str], counts: dict[int, tuple[int, int]], choice: tuple[int, ...]) -> str:
    """Return the text that remains; a construct with fewer branches takes its last one."""
    kept: list[str] = []
    taken: list[tuple[int, int]] = []  # for each open construct: the branch now, the one wanted
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            if all(now == wanted for now, wanted in taken):
                kept.append(piece)
            continue
        match _tag_name(piece):
            case "if" | "for":
                depth, count = counts[index]
                taken.append((0, min(choice[depth], count - 1)))
            case "elif" | "else" if taken:
                taken[-1] = (taken[-1][0] + 1, taken[-1][1])
            case "endif" | "endfor" if taken:
                taken.pop()
    return "".join(kept)


def _tag_name(tag: str) -> str:
    words = _WORDS.match(tag)
    return words.group(1) if words else ""


def _classify(code: str) -> Iterator[tuple[int, Literal["constant", "comment"]]]:
    """Yield the number and kind of each marker that stands in an allowed place."""
    depth = 0
    line: list[tokenize.TokenInfo] = []
    try:
        for token in tokenize.generate_tokens(StringIO(code).readline):
            depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
            if token.type == tokenize.COMMENT and token.start[0] > _COOKIE_LINES:
                for found in _MARKER.finditer(token.string):
                    yield int(found.group(1)), "comment"
            elif token.type == tokenize.NEWLINE:
                if depth == 0 and (number := _constant(line)) is not None:
                    yield number, "constant"
                line = []
            elif token.type not in _LAYOUT and token.type != tokenize.COMMENT:
                line.append(token)
    except (tokenize.TokenError, SyntaxError):
        return


def _constant(line: list[tokenize.TokenInfo]) -> int | None:
    """Return the marker of a logical line `NAME = marker`, or None for any other line."""
    match [token.string for token in line]:
        case [name, "=", value] if name.isidentifier() and name.isupper():
            found = _MARKER.fullmatch(value)
            return int(found.group(1)) if found else None
        case _:
            return None
