"""Reads a message about the last value: "make it 128", "súbelo a 128", "no, la meitat"."""

import re
from collections.abc import Sequence
from typing import Any, Final

from ftc.tui.understanding.fields.relative import (
    numeric_fields,
    read_factor,
    read_part,
    scale,
)
from ftc.tui.understanding.fields.spoken import find_mentions
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.lexicon import NUMBER
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import as_written, read_number

#: Words before an answer to what was just said.
OPENING: Final = (
    r"(?:(?:no|ok|okay|vale|val|and|i|y|but|pero|then|well|hm+|actually|rather|better|mejor|millor"
    r"|d'acord|de acuerdo|doncs|pues|entonces|bueno|yes|si"
    r"|wait|espera|perdon?a?|sorry|please|porfa|sisplau)[\s,]+)*"
)
#: Verbs with a pronoun for the value.
_IT: Final = (
    r"(?:(?:make|bump|set|raise|lower|drop|bring|put|change|take|turn|push|move|increase|reduce"
    r"|cut|keep|leave)\s+(?:it|that|this)(?:\s+(?:up|down|back))?"
    r"|(?:sube|baja|pon|deja|cambia|aumenta|reduce|haz)l[oa]|ponle"
    r"|(?:puja|baixa|posa|deixa|canvia|augmenta|redueix|fes)(?:'l|-lo|-la|-ho|-hi))"
)
_TO: Final = r"(?:\s*(?:to|at|a|en|fins a|hasta))?"
_CLOSING: Final = (
    r"(?:[\s,]+(?:instead|then|please|mejor|millor|porfa|sisplau|thanks|gracias))*[\s.!]*"
)
_TO_NUMBER: Final = re.compile(rf"{OPENING}{_IT}{_TO}\s+(?P<number>{NUMBER}){_CLOSING}")
_OF_IT: Final = (
    r"(?:\s+(?:of\s+)?(?:that|it|this|d'aixo|d'aquest|de eso|de ese)|'ls?|-?(?:l[aeo]s?|ho|l))"
)
_ARTICLE: Final = re.compile(r"^(?:the|el|la)\s+")
_BY_FACTOR: Final = re.compile(
    rf"{OPENING}(?:(?P<it>{_IT}){_TO}\s+)?(?:(?:just|nomes|solo)\s+)*"
    rf"(?P<factor>.+?)(?P<of_it>{_OF_IT})?{_CLOSING}"
)


def read_followup(text: str, pointer: str, now: Any) -> Change | Choice | None:
    """Return the new value of the field in question, or None if the message is about another.

    The whole message must be a verb with a pronoun and a number, or with a factor. A factor is a
    question if the field has no value `now`.
    """
    folded = Message(text.strip()).folded
    if match := _TO_NUMBER.fullmatch(folded):
        number = read_number(match["number"])
        value = None if number is None else as_written(number)
        return None if value is None else Change(pointer=pointer, value=value, words=text.strip())
    factor = read_part(text.strip().rstrip(".!")) or _read_factor(folded)
    if factor is None:
        return None
    if isinstance(now, bool) or not isinstance(now, int | float):
        return Choice(pointer=pointer, values=(), words=text.strip())
    return Change(pointer=pointer, value=scale(pointer, now, factor), words=text.strip())


def scales_it(text: str) -> bool:
    """Return whether a message only multiplies what a pronoun stands for: "set it to half"."""
    match = _BY_FACTOR.fullmatch(Message(text.strip()).folded)
    pronoun = match is not None and (match["it"] or match["of_it"])
    return match is not None and bool(pronoun) and _factor(match["factor"]) is not None


def _read_factor(folded: str) -> float | None:
    match = _BY_FACTOR.fullmatch(folded)
    return None if match is None else _factor(match["factor"])


def _factor(folded: str) -> float | None:
    """Return the factor in words, with or without an article."""
    return read_factor(folded) or read_factor(_ARTICLE.sub("", folded))


def last_number(changes: Sequence[Change], text: str, before: str) -> str:
    """Return the pointer of the only number that a message sets, else of the only one it names.

    It is empty if there are several, and the previous pointer if there is none.
    """
    numbers = [
        each.pointer
        for each in changes
        if isinstance(each.value, int | float) and not isinstance(each.value, bool)
    ]
    if not changes:
        named = (each.pointer for each in find_mentions(Message(text)))
        numbers = [*dict.fromkeys(each for each in named if each in numeric_fields())]
    return numbers[0] if len(numbers) == 1 else "" if numbers else before
