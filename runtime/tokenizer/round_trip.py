"""Finds what a tokenizer loses: encodes and decodes a text and compares it with the original.

Standard library only. Changes by normalization do not count as lost: case, composed letters,
combining accents, invisible characters, and white space at both ends.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

#: Names of lost characters. A doubled key means that a run of the character came back shorter.
NAMES: Final[Mapping[str, str]] = {
    " ": "spaces between words",
    "\n": "line breaks",
    "  ": "spaces beside spaces",
    "\n\n": "line breaks beside line breaks",
    "\t": "tabs",
}
#: Without these, words or lines run together.
SEPARATORS: Final = frozenset({" ", "\n"})
#: Separators of lines and words. Some decoders drop the space before these punctuation marks.
_APART: Final = {
    "\n": re.compile(r"[^\S\n]*\n\s*"),
    " ": re.compile(r"(?<=\S)\s+(?=[^\s.,!?'])"),
}
_RUNS: Final = {"\n": re.compile(r"\n(?=\s*\n)"), " ": re.compile(" (?= )")}
_ACCENTS: Final = re.compile("[\u0300-\u036f\ufe00-\ufe0f]")
_INVISIBLE: Final = ("Cc", "Cf")

Tokens = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrip:
    """The result for a number of rows.

    `lost` counts the rows that lose a character, by that character or by a key of NAMES.
    `torn_rows` is how many lose one of SEPARATORS, and `other_rows` how many have other tokens in
    the second tokenizer, or None without one.
    """

    rows: int
    lost: Mapping[str, int]
    torn_rows: int
    other_rows: int | None = None


def compare_rows(
    rows: Iterable[Sequence[str]],
    *,
    encode: Callable[[Sequence[str]], Tokens],
    decode: Callable[[Sequence[int]], str],
    expect: Callable[[Sequence[str]], Tokens] | None = None,
) -> RoundTrip:
    """Encode and decode the texts of each row; `expect` encodes them with a second tokenizer."""
    count, torn, other = 0, 0, 0
    lost: Counter[str] = Counter()
    for texts in rows:
        tokens = encode(texts)
        pairs = zip(texts, map(decode, tokens), strict=True)
        found = frozenset[str]().union(*(find_lost(text, back) for text, back in pairs))
        lost.update(found)
        count += 1
        torn += not found.isdisjoint(SEPARATORS)
        other += expect is not None and list(map(list, tokens)) != list(map(list, expect(texts)))
    return RoundTrip(
        rows=count,
        lost=dict(sorted(lost.items(), key=lambda item: (-item[1], item[0]))),
        torn_rows=torn,
        other_rows=None if expect is None else other,
    )


def find_lost(text: str, back: str) -> frozenset[str]:
    """Return the characters, or keys of NAMES, that `back` has fewer of than `text`."""
    if text.strip() == back.strip():
        return frozenset()
    before, after = _fold(text).strip(), _fold(back).strip()
    fewer = {letter for letter in set(before) if before.count(letter) > after.count(letter)}
    letters = fewer - SEPARATORS
    lost = {
        letter
        for letter in set(text)
        if text.count(letter) > back.count(letter) and not letters.isdisjoint(_fold(letter))
    }
    kept = "".join(letter for letter in before if letter not in letters).strip()
    for letter, apart in _APART.items():
        if letter in fewer and _is_fewer(apart, kept, after):
            lost.add(letter)
        elif letter in fewer and _is_fewer(_RUNS[letter], kept, after):
            lost.add(2 * letter)
    return frozenset(lost)


def describe(lost: Mapping[str, int], most: int) -> str:
    """Return the names of at most `most` lost characters, the most frequent first."""
    names = [NAMES.get(key) or f"`{key}` (U+{ord(key):04X})" for key in list(lost)[:most]]
    return ", ".join(names) + (" and others" if len(lost) > most else "")


def _is_fewer(pattern: re.Pattern[str], before: str, after: str) -> bool:
    return len(pattern.findall(before)) > len(pattern.findall(after))


def _fold(text: str) -> str:
    """Return a normalized text, where all white space but tabs and line feeds is a space."""
    if text.isascii() and text.isprintable():
        return text.lower()
    text = _ACCENTS.sub("", unicodedata.normalize("NFKD", text)).casefold()
    return "".join(map(_fold_letter, text.replace("\r\n", "\n").replace("\r", "\n")))


def _fold_letter(letter: str) -> str:
    if letter in "\t\n":
        return letter
    if letter.isspace():
        return " "
    return "" if unicodedata.category(letter) in _INVISIBLE else letter
