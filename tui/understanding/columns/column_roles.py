"""Words that show the role of a column: those around its name, and the name itself."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ftc.tui.understanding.text.lexicon import any_of
from ftc.tui.understanding.text.message import fold
from ftc.tui.understanding.text.word_tables import word_table

_TABLE: Final[Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]]] = word_table("mentioned")
_PART: Final = re.compile(r"[a-z]+")
_ROLES: Final = tuple(
    (role, re.compile(rf"(?<![\w/]){any_of(entry)}(?![\w/]|\.\w)"))
    for role, entry in _TABLE["around"].items()
)
_NAMED: Final = tuple(
    (role, re.compile(rf"{any_of(entry)}")) for role, entry in _TABLE["names"].items()
)
#: Words that are never a column's name without quotes.
NO_COLUMN: Final = frozenset(_TABLE["none"]["words"]["any"])
#: An answer is written in a language, a file or a type of file, which are rarely columns.
NO_COMMON: Final = (
    rf"(?!(?:{'|'.join(sorted(NO_COLUMN))})\b|{any_of(_TABLE['none']['languages'])}\b"
    r"|(?:\S*\.)?(?:csv|tsv|jsonl?|parquet|txt|xlsx)\b|files?\b)"
)
#: "the prompt is long" describes the prompt and names no column.
_DESCRIBES: Final = re.compile(
    r"\b(?:is|are|es|son|was|were)\s+(?:(?:very|too|so|molt|muy|massa|demasiado)\s+)?"
    r"(?:long|short|huge|tiny|big|small|empty|ready|optional|simple|easy|hard|enorm\w*|llarg\w*"
    r"|curt\w*|larg[oa]s?|cort[oa]s?|gran|grande?s?|petit\w*|pequen\w*|buit|buida|vaci[oa]s?)\Z"
)
#: Words that may name a column if another one is named: "the one they liked is in good".
ADJECTIVES: Final = frozenset(_TABLE["none"]["adjectives"]["any"])
NO_CLAUSE_NAME: Final = NO_COMMON.replace(
    "|".join(sorted(NO_COLUMN)), "|".join(sorted(NO_COLUMN - ADJECTIVES))
)
_LANGUAGE: Final = re.compile(any_of(_TABLE["none"]["languages"]))
NO_LANGUAGES: Final[Mapping[str, str]] = {}


def find_roles(
    text: str, languages: Mapping[str, str] = NO_LANGUAGES
) -> list[tuple[int, int, str]]:
    """Return the place and the role of each word that shows a role; the longest at a place."""
    found = [
        (match.start(), match.end(), role)
        for role, pattern in _ROLES
        for match in pattern.finditer(text)
    ]
    found += [
        (match.start(), match.end(), languages[match[0]])
        for match in _PART.finditer(text)
        if match[0] in languages
    ]
    found.sort(key=lambda each: (each[0], -each[1]))
    kept: list[tuple[int, int, str]] = []
    for each in found:
        if not kept or each[0] >= kept[-1][1]:
            kept.append(each)
    return kept


def is_description(text: str, end: int) -> bool:
    """Return whether a text up to a place describes something: "the prompt is long"."""
    return _DESCRIBES.search(fold(text[:end])) is not None


def is_language(name: str) -> bool:
    """Return whether a text is the name of a language."""
    return _LANGUAGE.fullmatch(fold(name)) is not None


def role_of_name(name: str) -> str | None:
    """Return the role that a column's name shows: "good_reply" is the better answer."""
    for role, pattern in _NAMED:
        if any(pattern.fullmatch(part) for part in _PART.findall(name.replace("_", " "))):
            return role
    return None
