"""The language of a message, where its words leave no doubt."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from ftc.tui.understanding.lexicon import WORDS
from ftc.tui.understanding.message import fold
from ftc.tui.voice import LANGUAGES, Language

_WORD: Final = re.compile(r"[a-z']+")
#: Lists of common words in all languages; a word of two languages tells nothing.
_LISTS: Final = ("mute", "talk", "spoken")
_FEWEST: Final = 2


def find_spoken(text: str) -> Language | None:
    """Return the language that at least two words of a message have alone, if no other has one."""
    words = _WORD.findall(fold(text))
    counts = {
        language: sum(word in own for word in words) for language, own in _own_words().items()
    }
    best = max(LANGUAGES, key=lambda language: counts[language])
    others = sum(count for language, count in counts.items() if language != best)
    return best if counts[best] >= _FEWEST and not others else None


@cache
def _own_words() -> Mapping[Language, frozenset[str]]:
    """Return the common words that only one of the languages has."""
    said = {
        language: {fold(word) for name in _LISTS for word in WORDS[name].get(language, ())}
        for language in LANGUAGES
    }
    return {
        language: frozenset(
            words.difference(*(said[each] for each in LANGUAGES if each != language))
        )
        for language, words in said.items()
    }
