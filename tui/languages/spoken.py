"""Detects the language of a message from function words and distinctive spellings."""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from ftc.tui.languages.voice import LANGUAGES, Language

_WORD: Final = re.compile(r"[^\W\d_]+(?:['·][^\W\d_]+)*")
#: Characters that only one of the three languages uses. Names and paths rarely have them.
_SPELLINGS: Final[Mapping[Language, re.Pattern[str]]] = {
    "en": re.compile(r"\w'(?:t|s|m|re|ve|ll|d)\b"),
    "ca": re.compile(
        r"\b(?:[dlmnst]|qu)'(?=\w)|[àèòïç]|l·l|\w(?:ció|cions|itzar|ny)\b|-(?:hi|ho|ne)\b"
    ),
    "es": re.compile(r"[ñ¿¡]|\w(?:ción|ciones|mente)\b"),
}
_FEWEST: Final = 2  # words or characters of a language
_LEAD: Final = 2  # times as many as for any other language


def find_spoken(text: str) -> Language | None:
    """Return the language of a message, or None if there are too few signs or a tie."""
    text = text.lower().replace("\u2019", "'")  # as phones type an apostrophe
    words = set(_WORD.findall(text))
    counts = {
        language: len(words & own) + len(_SPELLINGS[language].findall(text))
        for language, own in _own_words().items()
    }
    best, other = sorted(LANGUAGES, key=lambda language: counts[language], reverse=True)[:2]
    is_clear = counts[best] >= max(_FEWEST, _LEAD * counts[other])
    return best if is_clear else None


@cache
def function_words() -> frozenset[str]:
    """Return the function words of all languages."""
    return frozenset(word for words in _read().values() for word in words.split())


@cache
def _own_words() -> Mapping[Language, frozenset[str]]:
    """Return the function words that only one of the languages has, with and without accents."""
    said = {language: _spell(words.split()) for language, words in _read().items()}
    return {
        language: words.difference(*(said[each] for each in LANGUAGES if each != language))
        for language, words in said.items()
    }


def _spell(words: list[str]) -> frozenset[str]:
    """Return the words with their accents, and as people without accent keys type them."""
    return frozenset(words) | {word.translate(_PLAIN) for word in words}


_PLAIN: Final = str.maketrans("àáèéíïòóúü", "aaeeiioouu")


def _read() -> Mapping[Language, str]:
    path = files("ftc.tui.languages") / "function_words.json"
    found: Mapping[Language, str] = json.loads(path.read_text(encoding="utf-8"))
    return found
