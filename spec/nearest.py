"""Did you mean: the known word nearest to an unknown one."""

import difflib
from collections.abc import Collection

_ALIKE = 0.6
_CLEARLY = 0.1
_MANY_LETTERS = 100


def nearest(word: str, known: Collection[str], customary: Collection[str] = ()) -> str | None:
    """Return the known word that was most likely meant, or None if none is similar.

    Case, `-` and `_` are ignored. Words that begin with what is written count as equally similar,
    and so do words with the same letters in common: of these, a customary word wins, or the word
    that is most like one.
    """
    if len(word) > _MANY_LETTERS:
        return None
    written, plain = _plain(word), {_plain(choice): choice for choice in known}
    if found := plain.get(written):
        return found
    matches = difflib.get_close_matches(written, plain, n=len(plain) or 1, cutoff=_ALIKE)
    if not matches:
        return None
    best = _ratio(written, matches[0])
    equal = [match for match in matches if _ratio(written, match) == best]
    if matches[0].startswith(written):
        equal += [each for each in plain if each.startswith(written) and each not in equal]
    usual = [_plain(choice) for choice in customary]
    liked = max(equal, key=lambda match: max((_ratio(match, each) for each in usual), default=0.0))
    return plain[liked]


def is_certain(word: str, meant: str, known: Collection[str]) -> bool:
    """Return whether no other known word is similar, so that a fix is safe."""
    rivals = [_plain(choice) for choice in known if choice != meant]
    if _plain(word) == _plain(meant):
        return True
    return not difflib.get_close_matches(_plain(word), rivals, n=1, cutoff=_ALIKE)


def is_likely(word: str, meant: str, known: Collection[str]) -> bool:
    """Return whether the word is clearly more similar to one than to any other known word."""

    def likeness(choice: str) -> float:
        return _ratio(_plain(word), _plain(choice))

    rivals = (likeness(choice) for choice in known if choice != meant)
    return likeness(meant) > max(rivals, default=0.0) + _CLEARLY


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(a=one, b=other).ratio()


def _plain(word: str) -> str:
    return word.casefold().replace("-", "").replace("_", "").replace(" ", "")
