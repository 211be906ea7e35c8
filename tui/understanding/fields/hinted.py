"""Fields that an unread message only hints at: ftc asks about them, and sets nothing.

"The fraud rows are rare" names no field: `hints.json` has phrases about a field without its name.
"The learning a bit slower" has no complete name of a field. Its word "learning" is part of the
names of few fields, and the most likely field is meant.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from ftc.tui.understanding.fields.spoken import spoken_names
from ftc.tui.understanding.reading import Choice
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import Message, fold
from ftc.tui.understanding.text.sentences import is_question
from ftc.tui.understanding.text.word_tables import word_table

#: A shorter word is part of too many other words.
_SHORTEST: Final = 6
#: A word of more fields than this is no hint.
_MOST_FIELDS: Final = 4
_WORD: Final = re.compile(r"[a-z]+")
_MARKS: Final = re.compile(r"\\.|\(\?[:!=<]*|[^a-z]+")
#: Verbs for changing a field, and common words, which are not part of a field's name.
_SHARED: Final = frozenset(
    word
    for part in ("acts", "hint", "kept", "more", "mute", "put", "remove", "talk")
    for words in WORDS[part].values()
    for said in words
    for word in _MARKS.sub(" ", fold(said)).split()
)
_CHANGES: Final = re.compile(rf"\b{any_of(WORDS['hint'])}(?!\w)")

_HINTS: Final[Mapping[str, Any]] = word_table("hints")


def find_wished(text: str) -> Choice | None:
    """Return a question about the field that the message describes best without its name."""
    if is_question(text):
        return None
    message = Message(text)
    found = {
        pointer: [match.span() for match in pattern.finditer(message.folded)]
        for pointer, pattern in _hints()
    }
    said = {
        pointer: sum(end - start for start, end in spans)
        for pointer, spans in found.items()
        if spans
    }
    if not said:
        return None
    pointer = max(said, key=lambda each: said[each])
    return Choice(pointer=pointer, values=(), words=message.words(*found[pointer][0]))


@cache
def _hints() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (pointer, re.compile(rf"(?<![\w-]){any_of(words)}(?!\w)"))
        for pointer, words in _HINTS.items()
    )


def find_hinted(message: Message, text: str) -> Choice | None:
    """Return a question about the field with the most similar name, if there is only one.

    The words must also request a change: "lower", "més lent", "la mitad".
    """
    if is_question(text) or not _CHANGES.search(message.folded):
        return None
    scores: dict[str, float] = defaultdict(float)
    first: dict[str, str] = {}
    for match in _WORD.finditer(message.folded):
        for pointer in _fields_of().get(match[0], ()):
            scores[pointer] += 1
            first.setdefault(pointer, message.words(*match.span()))
    for pointer in scores:  # of two fields, the one with its own reader is usually meant
        scores[pointer] += 0.5 if pointer in WORDS["quantities"] else 0
    likeliest = sorted(scores.items(), key=lambda pair: -pair[1])[:2]
    if not likeliest or (len(likeliest) > 1 and likeliest[0][1] == likeliest[1][1]):
        return None
    pointer = likeliest[0][0]
    return Choice(pointer=pointer, values=(), words=first[pointer])


@cache
def _fields_of() -> Mapping[str, frozenset[str]]:
    """Return the fields of each long word that is part of few names."""
    found: dict[str, set[str]] = defaultdict(set)
    names = {at: any_of(words) for at, words in WORDS["quantities"].items()}
    for pointer, pattern in (*names.items(), *spoken_names().items()):
        for word in _MARKS.sub(" ", pattern).split():
            if len(word) >= _SHORTEST and word not in _SHARED:
                found[word].add(pointer)
    return {word: frozenset(at) for word, at in found.items() if len(at) <= _MOST_FIELDS}
