"""Did you mean: the known word nearest to an unknown one."""

import difflib
from collections.abc import Collection

_ALIKE = 0.6
_CLEARLY = 0.1
_SLIP = 0.74
_MANY_LETTERS = 100


def nearest(word: str, known: Collection[str], customary: Collection[str] = ()) -> str | None:
    """Return the known word that was most likely meant, or None if none is similar.

    Case, `-` and `_` are ignored. Words that begin with what is written count as equally similar,
    and so do words with the same letters in common: of these, a customary word wins, or the word
    that is most like one.
    """
    if len(word) > _MANY_LETTERS:
        return None
    written, choices = plain(word), {plain(choice): choice for choice in known}
    if found := choices.get(written):
        return found
    matches = difflib.get_close_matches(written, choices, n=len(choices) or 1, cutoff=_ALIKE)
    if not matches:
        return None
    best = _ratio(written, matches[0])
    equal = [match for match in matches if _ratio(written, match) == best]
    if matches[0].startswith(written):
        equal += [each for each in choices if each.startswith(written) and each not in equal]
    usual = [plain(choice) for choice in customary]
    liked = max(equal, key=lambda match: max((_ratio(match, each) for each in usual), default=0.0))
    return choices[liked]


def find_alike(word: str, known: Collection[str]) -> str | None:
    """Return the known word that differs in case, `-`, `_` and spaces at most, or None."""
    written = plain(word)
    return next((choice for choice in known if plain(choice) == written), None)


def is_certain(word: str, meant: str, known: Collection[str]) -> bool:
    """Return whether the word is a misspelling of one, or its beginning, and like no other one.

    A fix is safe then.
    """
    written, right = plain(word), plain(meant)
    if written == right:
        return True
    if not (is_slip(word, meant) or written in right or right in written):
        return False
    rivals = [plain(choice) for choice in known if choice != meant]
    return not difflib.get_close_matches(written, rivals, n=1, cutoff=_ALIKE)


def is_slip(word: str, meant: str) -> bool:
    """Return whether the word may be a misspelling: the most similar of others may be another."""
    return _ratio(plain(word), plain(meant)) >= _SLIP


def is_likely(word: str, meant: str, known: Collection[str]) -> bool:
    """Return whether the word is clearly more similar to one than to any other known word."""

    def likeness(choice: str) -> float:
        return _ratio(plain(word), plain(choice))

    rivals = (likeness(choice) for choice in known if choice != meant)
    return likeness(meant) > max(rivals, default=0.0) + _CLEARLY


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(a=one, b=other).ratio()


def plain(word: str) -> str:
    """Return the word without what people write differently: case, `-`, `_` and spaces."""
    return word.casefold().replace("-", "").replace("_", "").replace(" ", "")
