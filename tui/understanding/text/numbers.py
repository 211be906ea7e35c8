"""Numbers as people write them: "2e-4", "1,000", "0,1", "2k", "two", "dues"."""

import re
from math import isfinite
from typing import Final

from ftc.tui.understanding.text.lexicon import NUMBER_WORDS

_THOUSANDS: Final = re.compile(r"[1-9]\d{0,2}(?:[.,]\d{3})+")
_KILO: Final = 1024
#: A larger number beside "gpus" is a card: "gpus: 4090".
MOST_GPUS: Final = 72


def read_number(text: str, *, kilo: int = _KILO) -> float | None:
    """Return the number in a folded text, or None if it is not a number.

    A comma or a point before exactly three digits separates thousands if the whole number has
    that form and more than one digit is not zero ("1,000"); "0,125" and "1.5" are fractions.
    """
    text = " ".join(text.split())
    if text in NUMBER_WORDS:
        return float(NUMBER_WORDS[text])
    factor = 1
    if text.endswith("k"):
        text, factor = text[:-1].strip(), kilo
    if _THOUSANDS.fullmatch(text):
        text = re.sub(r"[.,]", "", text)
    try:
        number = float(text.replace(",", ".")) * factor
    except ValueError:
        return None
    return number if isfinite(number) else None  # "1e310"


def as_written(number: float) -> int | float:
    """Return 3 for 3.0, as people write whole numbers."""
    return int(number) if number == int(number) else number
