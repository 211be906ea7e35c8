"""Changes relative to the present value: "half the learning rate", "el doble de rango"."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ftc.tui.understanding.lexicon import WORDS, any_of
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.numbers import as_written
from ftc.tui.understanding.reading import Change, Choice, value_at

_FACTORS: Final = tuple(
    (float(factor), any_of(words)) for factor, words in WORDS["factors"].items()
)
_ROWS: Final = "/data/max_rows"
_BETWEEN: Final = r"(?:[ ]+(?!and\b|but\b|i\b|y\b|pero\b)[\w']+){0,3}?[ ]+"
_PATTERNS: Final = tuple(
    (pointer, factor, re.compile(rf"\b(?:{said}{_BETWEEN}{name}|{name}{_BETWEEN}{said})\b"))
    for pointer, name in (
        *((pointer, any_of(words)) for pointer, words in WORDS["quantities"].items()),
        ("/hardware/count", r"(?:gpus|cards|targetes|tarjetas)"),
        (_ROWS, r"(?:rows|data|examples|files|dades|exemples|filas|datos|ejemplos)"),
    )
    for factor, said in _FACTORS
    if pointer != _ROWS or factor < 1
)
_ANY: Final = re.compile(rf"\b(?:{'|'.join(said for _, said in _FACTORS)})\b")
_SMALLEST_COUNT: Final = 1


def read_relative(
    message: Message, draft: Mapping[str, Any], planned: Mapping[str, Any]
) -> Iterator[Change | Choice]:
    """Yield the present value times the factor; a question where there is no present value."""
    if not _ANY.search(message.folded):
        return
    for pointer, factor, pattern in _PATTERNS:
        for match in message.take(pattern):
            words = message.words(*match.span())
            now = value_at(draft, pointer)
            now = planned.get(pointer) if now is None else now
            if isinstance(now, bool) or not isinstance(now, int | float):
                yield Choice(pointer=pointer, values=(), words=words)
                continue
            value = now * factor
            if isinstance(now, int):
                value = max(_SMALLEST_COUNT, round(value))
            yield Change(pointer=pointer, value=as_written(float(f"{value:.6g}")), words=words)
