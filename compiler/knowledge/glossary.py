"""The glossary: technical terms, each explained in three languages."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from ftc.compiler.knowledge.tables import read_table

#: The maximum number of words of a term.
_MOST_WORDS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One term, its other names, and its text by language (`en`, `ca`, `es`)."""

    term: str
    also: tuple[str, ...]
    text: Mapping[str, str]


@cache
def all_entries() -> tuple[Entry, ...]:
    """Return every entry, in the order of the file."""
    return tuple(
        Entry(
            term=entry["term"],
            also=tuple(entry["also"]),
            text={language: entry[language] for language in ("en", "ca", "es")},
        )
        for entry in read_table(__name__, "glossary.json")
    )


def find_entry(words: str) -> Entry | None:
    """Return the entry for a term, or None; ignores case, spaces and hyphens."""
    return _by_name().get(_folded(words)) or _by_name().get(_folded(words).removesuffix("s"))


def find_mentioned(text: str) -> Entry | None:
    """Return the entry of the longest term that a text mentions, or None."""
    words = re.findall(r"[^\s?!.,;:\u00bf\u00a1()\"]+", text)
    for length in range(_MOST_WORDS, 0, -1):
        spans = (words[start : start + length] for start in range(len(words) - length + 1))
        if entry := next(filter(None, (find_entry(" ".join(span)) for span in spans)), None):
            return entry
    return None


@cache
def _by_name() -> Mapping[str, Entry]:
    return {_folded(name): entry for entry in all_entries() for name in (entry.term, *entry.also)}


def _folded(words: str) -> str:
    return re.sub(r"[\s_-]+", "", words.casefold())
