"""Finds the words of a message that had an effect, and those that had none."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ftc.tui.understanding.reading import Change, Reading
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import Span, find_around, find_places, fold

_WORD: Final = re.compile(r"[^\s,;:!?()\"\u00bf\u00a1\u00ab\u00bb]+")
_MUTE: Final = frozenset(word for words in WORDS["mute"].values() for word in words)

#: Words that say what to do with a value: "take out", "only", "not", "too".
_OPERATING: Final = ("deny", "remove", "put", "acts", "more")
_OPERATORS: Final = re.compile(
    rf"(?<![\w'-])(?:{'|'.join(any_of(WORDS[kind]) for kind in _OPERATING)}"
    r"|only|just|keep|instead|nomes|solo|solament|solamente|sobr(?:a|en|an)|gens|en canvi|en"
    r" cambio|can go"
    r"|exporta\w*(?:'m|-me)?|no (?:me |ens |nos )?(?:cal|calen|hace falta|hacen falta|fa"
    r" falta))(?![\w-])"
)
_CLAUSE_END: Final = re.compile(r"[!?;:,\n]|\.(?=\s|$)")

_NOUNS: Final[Mapping[str, frozenset[str]]] = {
    pointer: frozenset(word for words in said.values() for word in words)
    for pointer, said in WORDS["nouns"].items()
}


def find_spans(changes: Sequence[Change], text: str) -> list[tuple[Change, list[Span]]]:
    """Return the changes with the ranges of their words in the message, its end excluded.

    The ranges include nouns for the value, such as "file" in "the file is tickets.csv", and words
    of its clause such as "only", which say what to do with it.
    """
    found = []
    for change in changes:
        places = find_places(text, change.words)
        spans = [*(places or [(0, len(text))]), *_find_nouns(change, text)]
        found.append((change, [*spans, *_find_operators(places, text)]))
    return found


def _find_operators(places: Sequence[Span], text: str) -> Iterator[Span]:
    folded = fold(text)
    for start, end in {find_around(_CLAUSE_END, folded, place) for place in places}:
        yield from (match.span() for match in _OPERATORS.finditer(folded, start, end))


def _find_nouns(change: Change, text: str) -> Iterator[Span]:
    nouns = _NOUNS.get(change.pointer, frozenset())
    for found in _WORD.finditer(text):
        if fold(found[0]).rpartition("'")[2] in nouns:  # "l'ordinador"
            yield found.span()


def find_unused(reading: Reading, changes: Sequence[Change], text: str) -> list[Span]:
    """Return the ranges of words that led to no change, no question and no request."""
    if reading.request is not None and not reading.changes:
        return []
    used = [span for _, spans in find_spans(changes, text) for span in spans]
    said = [
        *reading.used,
        *(each.words for each in reading.needless),
        *([reading.asked.words] if reading.asked else []),
    ]
    if reading.request is not None:
        said.append(reading.request.about)
    used += [span for words in said for span in find_places(text, words)]
    runs: list[Span] = []
    is_open = False
    for match in _WORD.finditer(text):
        is_used = any(start < match.end() and match.start() < end for start, end in used)
        if not is_used:
            start = runs.pop()[0] if is_open else match.start()
            runs.append((start, match.end()))
        is_open = not is_used
    return runs


def name_unused(reading: Reading, changes: Sequence[Change], text: str) -> tuple[str, ...]:
    """Return the unused parts as written, without articles and polite words at their ends."""
    parts = []
    for start, end in find_unused(reading, changes, text):
        part = text[start:end]
        words = [match.span() for match in _WORD.finditer(part)]
        telling = [span for span in words if is_telling(part[slice(*span)])]
        if telling:
            parts.append(part[telling[0][0] : telling[-1][1]])
    return tuple(parts)


def is_telling(word: str) -> bool:
    """Return whether a word is more than a sign, an article, a polite word or "use"."""
    return any(map(str.isalnum, word)) and fold(word).strip(".'") not in _MUTE
