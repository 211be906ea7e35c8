"""The most likely field of an unread message, for which ftc then asks."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from ftc.spec.schema import fields
from ftc.tui.understanding.learned.linear import NONE, Fit, read_model
from ftc.tui.understanding.learned.stems import find_fit, stem
from ftc.tui.understanding.reading import Choice
from ftc.tui.understanding.text.message import Message

#: The minimum probability of a field for ftc to ask for its value, chosen on held-out messages.
LIKELY: Final = 0.16
#: The minimum likelihood of the field relative to "none of them". The bound is low because ftc did
#: not understand the message and has to ask something.
_AGAINST_NONE: Final = 0.5
#: The minimum weight of a single word for the field, since a high prior of the field is not enough.
_TELLING: Final = 0.3
#: A shorter word has no meaning by itself.
_SHORTEST: Final = 3
#: Words before a field that say nothing about it: "I changed my mind about the name".
_CHANGED_MIND: Final = re.compile(
    r"(?i)\b(?:(?:i|we)(?:'ve| have)? (?:just )?changed (?:my|our) minds? (?:about|on|regarding)"
    r"|(?:he|hem) canviat d'(?:idea|opini[oó]) (?:sobre|amb|respecte al?|pel que fa al?)"
    r"|(?:he|hemos) cambiado de (?:idea|opini[oó]n) (?:sobre|con|respecto al?))\b"
)
_NOTHING: Final = (0.0, (0, 0))
_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[?]")


def find_likely(text: str) -> Choice | None:
    """Return a question about the most likely field of a message, or None if none is likely."""
    message = Message(_CHANGED_MIND.sub(" ", text))
    places = [(match.span(), stem(match[0])) for match in _WORD.finditer(message.folded)]
    words = [word for _, word in places]
    model = read_model("fields")
    shares = model.weigh(list_features(words), find_fits(words))
    pointer = max((each for each in shares if each != NONE), key=lambda each: shares[each])
    if shares[pointer] < max(LIKELY, _AGAINST_NONE * shares[NONE]):
        return None
    telling = ((_tell(word, pointer), span) for span, word in places if len(word) >= _SHORTEST)
    weight, span = max(telling, default=_NOTHING)
    if weight < _TELLING:
        return None
    return Choice(pointer=pointer, values=(), words=message.words(*span))


def _tell(word: str, pointer: str) -> float:
    """Return the weight of a word for a field."""
    model = read_model("fields")
    named = sum(weight for _, weight in find_fit(pointer, [word]))
    weight = dict(model.weights_of(word)).get(pointer, 0.0)
    return named * model.fits["named"] + weight


def find_words(text: str) -> Sequence[str]:
    """Return the stems of a message's words."""
    return [stem(word) for word in _WORD.findall(Message(text).folded)]


def list_features(words: Sequence[str]) -> Sequence[str]:
    """Return the features of a message: its single words and its pairs of adjacent words."""
    return ["bias", *sorted(set(words)), *sorted(set(_pairs(words)))]


def _pairs(words: Sequence[str]) -> Iterator[str]:
    for one, other in pairwise(("^", *words, "$")):
        yield f"{one} {other}"


def find_fits(words: Sequence[str]) -> Mapping[str, Fit]:
    """Return how well a message's words name each field."""
    return {
        pointer: {"named": sum(weight for _, weight in find_fit(pointer, words))}
        for pointer in _pointers()
    }


@cache
def _pointers() -> tuple[str, ...]:
    return tuple(field.pointer for field in fields())
