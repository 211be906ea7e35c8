"""Did you mean: the known word nearest to an unknown one."""

import difflib
import re
from collections.abc import Collection

_ALIKE = 0.6
_CLEARLY = 0.1
_SLIP = 0.74
_LONG = 6  # letters of a word in which one wrong one is a slip
_SHORT = 3  # letters of a word that is another one with any other letter
_VERY_LONG = 12  # letters of a name in which two wrong ones are
_NO_DIGIT = re.compile(r"\D")
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

    A fix is safe then. One wrong letter in a long word makes it no other word, however alike.
    """
    written, right = plain(word), plain(meant)
    if written == right or _is_swapped(written, right):
        return True
    others = [plain(choice) for choice in known if plain(choice) != right]
    if _is_typo(written, right) and not any(_is_typo(written, each) for each in others):
        return True
    if not (is_slip(word, meant) or written in right or right in written):
        return False
    rivals = [plain(choice) for choice in known if choice != meant]
    return not difflib.get_close_matches(written, rivals, n=1, cutoff=_ALIKE)


def is_misspelt(word: str, meant: str, known: Collection[str]) -> bool:
    """Return whether the name of a field is this one with a typing error, and no other one.

    That is one wrong letter in a long name and two in a very long one, or two neighbouring letters
    in each other's places. A name inside of another one, such as `dropout` in `module_dropout`, is
    a different name: it says less than the whole.
    """
    written, right = plain(word), plain(meant)
    if written == right or _is_swapped(written, right):
        return True
    length = max(len(written), len(right))
    most = 0 if length < _LONG else 1 if length < _VERY_LONG else 2
    if _NO_DIGIT.sub("", written) != _NO_DIGIT.sub("", right):
        return False
    if not _has_same_words(word, meant):
        return False
    others = (plain(choice) for choice in known if plain(choice) != right)
    return _is_within(written, right, most) and not any(
        _is_within(written, each, most) for each in others
    )


def _has_same_words(name: str, meant: str) -> bool:
    """Return whether two names have as many words, and the short ones among them are the same."""
    words, others = (re.split(r"[-_ ]", each.casefold()) for each in (name, meant))
    if len(words) == 1 < len(others):
        return True  # written as one word
    return len(words) == len(others) and all(
        one == other or max(len(one), len(other)) > _SHORT
        for one, other in zip(words, others, strict=True)
    )


def _is_within(word: str, meant: str, most: int) -> bool:
    """Return whether at most so many letters are wrong, missing or too many."""
    same = 0
    while same < min(len(word), len(meant)) and word[same] == meant[same]:
        same += 1
    rests = word[same:], meant[same:]
    if not any(rests):
        return True
    tails = ((1, 1), (1, 0), (0, 1))
    return most > 0 and any(
        _is_within(rests[0][one:], rests[1][other:], most - 1) for one, other in tails
    )


def _is_swapped(word: str, meant: str) -> bool:
    """Return whether two neighbouring letters of the word have changed places: `lroa`."""
    unlike = [
        place for place, pair in enumerate(zip(word, meant, strict=False)) if len({*pair}) > 1
    ]
    return (
        len(word) == len(meant)
        and len(unlike) == 2  # noqa: PLR2004 - two letters
        and unlike[1] == unlike[0] + 1
        and sorted(word) == sorted(meant)
    )


def _is_typo(word: str, meant: str) -> bool:
    """Return whether one letter of a long word is wrong, missing or too many; digits are right."""
    if len(meant) < _LONG or _NO_DIGIT.sub("", word) != _NO_DIGIT.sub("", meant):
        return False
    return word != meant and _is_within(word, meant, 1)


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
