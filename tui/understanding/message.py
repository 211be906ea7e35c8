"""A message while it is read: folded letter by letter, with the understood parts crossed out."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ftc.tui.understanding.lexicon import NEGATORS

_CROSSED: Final = "\x00"
_LONGEST_CLAUSE: Final = 160
_CLAUSE_END: Final = re.compile(
    r"[;:!?\x00]|\.(?=\s|$)|,|\b(?:but|and|use|per[oò]|sino|i|y|amb|con)\b"
)


def fold(text: str) -> str:
    """Return lowercase letters without accents, one for each character of `text`."""
    return "".join(unicodedata.normalize("NFD", letter)[0].lower()[0] for letter in text)


@dataclass(slots=True)
class Message:
    """A user's message; each reader crosses out what it takes, and later readers do not see it."""

    written: str
    folded: str = field(init=False)

    def __post_init__(self) -> None:
        self.folded = fold(self.written)

    def take(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield each match in the folded text, and cross it out when the reader continues."""
        position = 0
        while match := pattern.search(self.folded, position):
            yield match
            self.cross_out(*match.span())
            position = max(match.end(), position + 1)

    def cross_out(self, start: int, end: int) -> None:
        """Hide a range from all later readers."""
        end = min(end, len(self.folded))
        self.folded = self.folded[:start] + _CROSSED * (end - start) + self.folded[end:]

    def words(self, start: int, end: int) -> str:
        """Return a range as it was written."""
        return self.written[start:end].strip()

    def denied(self, start: int) -> bool:
        """Return whether the clause before `start` negates what follows."""
        clause = self.folded[max(0, start - _LONGEST_CLAUSE) : start]
        ends = [match.end() for match in _CLAUSE_END.finditer(clause)]
        return NEGATORS.search(clause[ends[-1] if ends else 0 :]) is not None

    def rest(self) -> str:
        """Return what no reader took."""
        kept = zip(self.written, self.folded, strict=True)
        text = "".join(" " if mark == _CROSSED else letter for letter, mark in kept)
        return " ".join(text.split()).strip(" ,.;:!?")
