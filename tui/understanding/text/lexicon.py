"""The words for the values of a spec, in English, Catalan and Spanish, from `words.json`.

Each is a pattern over lowercase letters without accents. All three languages are always read,
because people mix them.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from ftc.tui.languages.voice import LANGUAGES
from ftc.tui.understanding.text.word_tables import word_table

WORDS: Final[Mapping[str, Any]] = word_table("words")
#: The quotation marks that people type.
QUOTES: Final = r"[\"'\u201c\u201d\u00ab\u00bb`]"

NUMBER_WORDS: Final[Mapping[str, int]] = {
    "a single": 1, "single": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "ten": 10, "sixteen": 16, "dual": 2, "a pair of": 2, "a couple of": 2,
    "un sol": 1, "una sola": 1, "un": 1, "una": 1, "dos": 2, "dues": 2, "tres": 3, "quatre": 4,
    "cinc": 5, "sis": 6, "set": 7, "vuit": 8, "deu": 10, "setze": 16, "un parell de": 2,
    "un solo": 1, "cuatro": 4, "cinco": 5, "seis": 6, "siete": 7, "ocho": 8, "diez": 10,
    "dieciseis": 16, "un par de": 2, "nine": 9, "eleven": 11, "twelve": 12, "nou": 9, "onze": 11,
    "nueve": 9, "a hundred": 100, "a thousand": 1000, "thousand": 1000, "cent": 100, "cien": 100,
    "mil": 1000, "doce": 12, "dotze": 12, "zero": 0, "cero": 0, "hundred": 100,
}  # fmt: skip
#: "set the rank": a verb, and not the Catalan number.
_VERB: Final = (
    r"(?!\s+(?:the|its?|my|our|this|that|these|an?|up|to|all|both|\w+ (?:to|at)|lr|everything)\b)"
)


#: "that's the one": a pronoun.
_PRONOUN: Final = "".join(
    rf"(?<!\b{word} )" for word in ("the", "that", "this", "which", "other", "every", "each", "any")
)


def _pattern_of(word: str) -> str:
    if word == "one":
        return rf"{_PRONOUN}{word}"
    if word == "single":  # "every single weight" is not a count
        return rf"(?<!\bevery )(?<!\beach ){word}"
    return rf"{word}{_VERB}" if word == "set" else re.escape(word)


NUMBER: Final = (
    r"(?:(?:\d+(?:[.,]\d+)*|\.\d+)(?:e[-+]?\d+)?\s?k?(?:\b|(?=[gt](?:i?b)?\b))|(?:"
    + "|".join(map(_pattern_of, sorted(NUMBER_WORDS, key=len, reverse=True)))
    + r")\b)"
)


def any_of(entry: Mapping[str, Any]) -> str:
    """Return one pattern for an entry's words in all languages."""
    words = (word for language in LANGUAGES for word in entry[language])
    return f"(?:{'|'.join(words)})"


NEGATORS: Final = re.compile(rf"\b{any_of(WORDS['deny'])}(?:\b|(?<=\W))")
_PAUSE: Final = r"[\s,.;:!\u2013\u2014\u2026()-]*"
#: The text between a value and its correction: ", oh wait, sorry, I meant".
CORRECTING: Final = (
    rf"{_PAUSE}(?:{any_of(WORDS['hesitate'])}{_PAUSE})*(?:{any_of(WORDS['corrects'])}{_PAUSE})+"
    rf"(?:{any_of(WORDS['hesitate'])}{_PAUSE})*"
    rf"(?:(?:{any_of(WORDS['links'])}|{any_of(WORDS['put'])})\s+)*"
)
