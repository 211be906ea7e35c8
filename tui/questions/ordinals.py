"""Reads answers that refer to an offered option: "the second one", "el mes petit", "number 3"."""

import re
from collections.abc import Sequence
from typing import Final

from ftc.compiler.knowledge.well_known.models import find_model
from ftc.tui.questions.dialogue import Option
from ftc.tui.understanding.followup import OPENING
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import fold
from ftc.tui.understanding.text.sentences import is_question

_ARTICLE: Final = (
    rf"{OPENING}(?:(?:take|use|i(?:'ll)? take|vull|agafa|quiero|usa|dame) )?(?:the |el |la |l')?"
)
_NOUN: Final = r"(?: (?:one|option|model|opcio|opcion))?"
_POLITE: Final = re.compile(
    r",? (?:please|pls|thanks|si us plau|sisplau|por favor|gracies|gracias)$"
)
#: Where a question after a choice can begin: "the first one, but is it free?".
_NEXT: Final = re.compile(r"[,;.!]\s+|\s+(?=(?:but|and|pero|i|y)\s)")
_ORDINALS: Final = tuple(
    (int(index), re.compile(rf"{_ARTICLE}{any_of(words)}{_NOUN}"))
    for index, words in WORDS["ordinals"].items()
)
_SMALLEST: Final = re.compile(rf"{_ARTICLE}{any_of(WORDS['smallest'])}{_NOUN}")
_LARGEST: Final = re.compile(rf"{_ARTICLE}{any_of(WORDS['largest'])}{_NOUN}")

_SIZED: Final = re.compile(rf"{_ARTICLE}(?:de )?(?P<size>\d+(?:[.,]\d+)? ?b)(?:illion)?{_NOUN}")


def find_offer(text: str, options: Sequence[Option]) -> Option | None:
    """Return the option that a message refers to by its position or its size, or None."""
    folded = _POLITE.sub("", fold(text).strip(" .,!"))
    for index, pattern in _ORDINALS if len(options) > 1 else ():
        if pattern.fullmatch(folded):
            return options[index] if -len(options) <= index < len(options) else None
    if (match := _SIZED.fullmatch(folded)) is not None:
        return _find_sized(match["size"], options)
    sized = [
        (model.shape.parameters, option)
        for option in options
        if (model := find_model(option.label))
    ]
    if not sized:
        return None
    if _SMALLEST.fullmatch(folded):
        return min(sized, key=lambda pair: pair[0])[1]
    if _LARGEST.fullmatch(folded):
        return max(sized, key=lambda pair: pair[0])[1]
    return None


def _find_sized(size: str, options: Sequence[Option]) -> Option | None:
    """Return the only option whose name has a size, such as "7b", or else its parameters."""
    wanted = size.replace(" ", "").replace(",", ".")
    found = [each for each in options if wanted in re.split(r"[^a-z0-9.]+", fold(each.label))]
    found = found or [each for each in options if _counts(each.label, float(wanted[:-1]))]
    return found[0] if len(found) == 1 else None


def _counts(name: str, billions: float) -> bool:
    """Return whether a model has so many parameters, as the table of models rounds them."""
    model = find_model(name)
    return model is not None and round(model.shape.parameters / 1e9, 1) == billions


def split_choice(text: str, options: Sequence[Option]) -> tuple[Option, str] | None:
    """Return the option that a message begins with, and the question that follows, or None."""
    for match in _NEXT.finditer(text):
        rest = text[match.end() :]
        option = find_offer(text[: match.start()], options)
        if option is not None and is_question(rest):
            return option, rest
    return None
