"""Lists after an order to switch something on or off: "turn off packing, liger and compile".

The order governs each item. A comma alone does not continue it, since "no packing, liger" may ask
for Liger: the list has to have a last item with "and" or "or".
"""

import re
from typing import Final

from ftc.tui.understanding.text.lexicon import WORDS, any_of

_WORD: Final = rf"(?!(?:{'|'.join(WORDS['listed']['join'])})\b)[\w.'/-]*\w"
_ITEM: Final = rf"{_WORD}(?: {_WORD}){{0,3}}"
_THE: Final = r"(?:the |el |la |els |les |los |las |l')?"
_JOIN: Final = rf"(?:,?\s+(?:{'|'.join(WORDS['listed']['join'])})\s+|\s*[&+]\s*){_THE}"
_OR: Final = rf"(?:,?\s+(?:{'|'.join(WORDS['listed']['or'])})|(?<!,)\s+(?:and|i|y))\s+{_THE}"
_LEAD: Final = rf"(?<![\w-])(?P<order>{any_of(WORDS['listed']['orders'])})\s+{_THE}"
#: "turn off", unlike "remove": "remove duplicates and empty rows" switches two rules on.
_OFF: Final = re.compile(any_of(WORDS["listed"]["off"]))
_LONGEST: Final = 100
_ENDS: Final = re.compile(rf"(?:{_JOIN}|,\s*{_THE})$")
#: "turn off packing, liger and ...".
_LAST: Final = re.compile(rf"{_LEAD}{_ITEM}(?:,\s*{_THE}{_ITEM})*{_JOIN}$")
#: "no packing or ...".
_NEITHER: Final = re.compile(
    rf"(?<![\w-])(?P<order>{any_of(WORDS['listed']['no'])})\s+{_THE}{_ITEM}"
    rf"(?:,\s*{_THE}{_ITEM})*{_OR}$"
)
#: "turn off packing, ..." with "and compile" behind.
_MIDDLE: Final = re.compile(rf"{_LEAD}{_ITEM}(?:,\s*{_THE}{_ITEM})*,\s*{_THE}$")
_GOES_ON: Final = re.compile(rf"(?:,\s*{_THE}{_ITEM})*{_JOIN}{_ITEM}")


def find_order(plain: str, start: int, end: int) -> str | None:
    """Return the order that governs a later item of a list, or None; `plain` is folded."""
    before = plain[max(0, start - _LONGEST) : start]
    if not _ENDS.search(before):
        return None
    match = _LAST.search(before) or _NEITHER.search(before)
    if match is None and _GOES_ON.match(plain, end):
        match = _MIDDLE.search(before)
    return match["order"] if match else None


def is_listed_off(plain: str, start: int, end: int) -> bool:
    """Return whether the order of a list switches this item off."""
    order = find_order(plain, start, end)
    return order is not None and _OFF.fullmatch(order) is not None
