"""Ordinary words of requests and machines, which name no field by themselves."""

from collections.abc import Mapping
from functools import cache

from ftc.tui.understanding.text.lexicon import NUMBER_WORDS
from ftc.tui.understanding.text.message import fold
from ftc.tui.understanding.text.word_tables import word_table


def is_ordinary(word: str) -> bool:
    """Return whether a word is ordinary in requests, and thus cannot be an abbreviation."""
    return word in read_words(("grammar", "request", "machine", "lead", "determiner"))


@cache
def read_words(kinds: tuple[str, ...]) -> frozenset[str]:
    """Return words of some kinds in all languages, which people mix; grammar includes numbers."""
    lists: Mapping[str, Mapping[str, str]] = word_table("licence")
    said = {fold(w) for kind in kinds for words in lists[kind].values() for w in words.split()}
    numbers = {fold(part) for name in NUMBER_WORDS for part in name.split()}
    return frozenset(said | numbers if "grammar" in kinds else said)
