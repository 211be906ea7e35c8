"""Numbers with a word beside them: epochs, rates, batches, lengths, shares."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ftc.tui.understanding.lexicon import NUMBER, WORDS, any_of
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.numbers import as_written, read_number
from ftc.tui.understanding.reading import Change

_QUANTITIES: Final = {pointer: any_of(words) for pointer, words in WORDS["quantities"].items()}
_OF: Final = r"(?:\s*(?:=|:|of|to|at|is|a|de|en|d')\s*|\s+)"
_BEFORE: Final[Mapping[str, re.Pattern[str]]] = {
    pointer: re.compile(rf"\b(?P<number>{NUMBER})[\s-]*(?:of |de |d')?{words}\b")
    for pointer, words in _QUANTITIES.items()
}
_AFTER: Final[Mapping[str, re.Pattern[str]]] = {
    pointer: re.compile(rf"\b{words}{_OF}(?P<number>{NUMBER}\s*%?)")
    for pointer, words in _QUANTITIES.items()
}
#: A number after these words says how many; before other words it says something of its own.
_SHARE: Final = re.compile(
    r"\b(?P<number>\d+(?:[.,]\d+)?)\s*%\s*(?:(?:of )?(?:the )?(?:data|rows)?\s*(?:for|as|de|del"
    r"|per(?: al?)?|para(?: el| la)?)?\s*(?:the |el |la )?)?"
    r"(?P<what>test(?:ing)?|validation|validacio(?:n)?|eval(?:uation)?|prova|proves|prueba|pruebas"
    r"|warm[ -]?up|held out|hold[ -]?out|reservat|reservado)"
)
_HELD_OUT: Final = re.compile(
    r"\b(?:hold out|keep|reserve|reserva|guarda|aparta) (?:back )?(?P<number>\d+(?:[.,]\d+)?)\s*%"
)
_VALIDATION: Final = ("val", "eval")
_KILO_TOKENS: Final = 1024
_KILO: Final = 1000
_PATIENCE: Final = 3
_EARLY: Final = re.compile(r"\b(?:early[ -]stopping|parada anticipada|aturada anticipada)\b")
_SMALLEST_LENGTH: Final = 16


def read_quantities(message: Message) -> Iterator[Change]:
    """Yield what numbers with a word beside them set."""
    yield from _read_shares(message)
    for pointer in _QUANTITIES:
        for pattern in (_AFTER[pointer], _BEFORE[pointer]):
            for match in message.take(pattern):
                value = _value(pointer, match["number"])
                if value is not None:
                    yield Change(pointer=pointer, value=value, words=message.words(*match.span()))
    for match in message.take(_EARLY):
        denied = message.denied(match.start())
        value = None if denied else _PATIENCE
        words = message.words(*match.span())
        yield Change(pointer="/training/early_stopping", value=value, words=words)


def _read_shares(message: Message) -> Iterator[Change]:
    for match in message.take(_SHARE):
        what = match["what"]
        pointer = "/data/splits/validation" if what.startswith(_VALIDATION) else "/data/splits/test"
        if what.startswith("warm"):
            pointer = "/training/warmup"
        yield _share(pointer, match, message)
    for match in message.take(_HELD_OUT):
        yield _share("/data/splits/test", match, message)


def _share(pointer: str, match: re.Match[str], message: Message) -> Change:
    percent = read_number(match["number"]) or 0.0
    return Change(
        pointer=pointer, value=round(percent / 100, 6), words=message.words(*match.span())
    )


def _value(pointer: str, text: str) -> int | float | None:
    """Return a number for a field, None where it cannot be one."""
    percent = text.rstrip().endswith("%")
    kilo = _KILO_TOKENS if pointer == "/data/max_length" else _KILO
    number = read_number(text.rstrip(" %"), kilo=kilo)
    if number is None:
        return None
    if percent:
        number = round(number / 100, 6)
    if pointer == "/data/max_length" and number < _SMALLEST_LENGTH:
        return None
    return as_written(number)
