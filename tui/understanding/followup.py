"""Reads a message about the last value: "make it 128", "súbelo a 128", "no, la meitat"."""

import re
from collections.abc import Sequence
from typing import Any, Final

from ftc.tui.understanding.fields.relative import read_factor, read_part, scale
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import NUMBER
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import as_written, read_number

_OPENING: Final = (
    r"(?:(?:no|ok|okay|vale|val|and|i|y|but|pero|then|well|hm+|actually|rather|better|mejor|millor"
    r"|wait|espera|perdon?a?|sorry|please|porfa|sisplau)[\s,]+)*"
)
#: Verbs with a pronoun for the value.
_IT: Final = (
    r"(?:(?:make|bump|set|raise|lower|drop|bring|put|change|take|turn|push|move|increase|reduce"
    r"|cut|keep|leave)\s+(?:it|that|this)(?:\s+(?:up|down|back))?"
    r"|(?:sube|baja|pon|deja|cambia|aumenta|reduce|haz)lo|ponle"
    r"|(?:puja|baixa|posa|deixa|canvia|augmenta|redueix|fes)(?:'l|-lo|-la|-ho|-hi))"
)
_TO: Final = r"(?:\s*(?:to|at|a|en|fins a|hasta))?"
_CLOSING: Final = (
    r"(?:[\s,]+(?:instead|then|please|mejor|millor|porfa|sisplau|thanks|gracias))*[\s.!]*"
)
_TO_NUMBER: Final = re.compile(rf"{_OPENING}{_IT}{_TO}\s+(?P<number>{NUMBER}){_CLOSING}")
_OF_IT: Final = (
    r"(?:\s+(?:of\s+)?(?:that|it|this|d'aixo|d'aquest|de eso|de ese)|'ls?|-?(?:l[aeo]s?|ho|l))?"
)
_ARTICLE: Final = re.compile(r"^(?:the|el|la)\s+")
_BY_FACTOR: Final = re.compile(
    rf"{_OPENING}(?:{_IT}{_TO}\s+)?(?:(?:just|nomes|solo)\s+)*(?P<factor>.+?){_OF_IT}{_CLOSING}"
)


def read_followup(text: str, pointer: str, draft_value: Any) -> Change | None:
    """Return the new value of the last set field, or None if the message is about something else.

    The whole message must be a verb with a pronoun and a number, or with a factor.
    """
    if isinstance(draft_value, bool) or not isinstance(draft_value, int | float):
        return None
    folded = Message(text.strip()).folded
    if match := _TO_NUMBER.fullmatch(folded):
        number = read_number(match["number"])
        value = None if number is None else as_written(number)
    elif (part := read_part(text.strip().rstrip(".!"))) is not None:
        value = scale(draft_value, part)
    elif (match := _BY_FACTOR.fullmatch(folded)) and (factor := _factor(match["factor"])):
        value = scale(draft_value, factor)
    else:
        return None
    return None if value is None else Change(pointer=pointer, value=value, words=text.strip())


def _factor(folded: str) -> float | None:
    """Return the factor in words, with or without an article."""
    return read_factor(folded) or read_factor(_ARTICLE.sub("", folded))


def last_number(changes: Sequence[Change], before: str) -> str:
    """Return the pointer of the only number that a message sets, else the previous pointer."""
    numbers = [
        each.pointer
        for each in changes
        if isinstance(each.value, int | float) and not isinstance(each.value, bool)
    ]
    return numbers[0] if len(numbers) == 1 else "" if numbers else before
