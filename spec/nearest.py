"""Did you mean: the known word nearest to an unknown one."""

import difflib
from collections.abc import Collection

_ALIKE = 0.6
_CLEARLY = 0.1
_MANY_LETTERS = 100


def nearest(word: str, known: Collection[str]) -> str | None:
    """Return the known word that was most likely meant, or None if none is similar.

    Case, `-` and `_` are ignored.
    """
    if len(word) > _MANY_LETTERS:
        return None
    plain = {_plain(choice): choice for choice in known}
    if found := plain.get(_plain(word)):
        return found
    matches = difflib.get_close_matches(_plain(word), plain, n=1, cutoff=_ALIKE)
    return plain[matches[0]] if matches else None


def is_certain(word: str, meant: str, known: Collection[str]) -> bool:
    """Return whether no other known word is similar, so that a fix is safe."""
    rivals = [_plain(choice) for choice in known if choice != meant]
    if _plain(word) == _plain(meant):
        return True
    return not difflib.get_close_matches(_plain(word), rivals, n=1, cutoff=_ALIKE)


def is_likely(word: str, meant: str, known: Collection[str]) -> bool:
    """Return whether the word is clearly more similar to one than to any other known word."""

    def likeness(choice: str) -> float:
        return difflib.SequenceMatcher(a=_plain(word), b=_plain(choice)).ratio()

    rivals = (likeness(choice) for choice in known if choice != meant)
    return likeness(meant) > max(rivals, default=0.0) + _CLEARLY


def _plain(word: str) -> str:
    return word.casefold().replace("-", "").replace("_", "").replace(" ", "")
