"""Converts the price of a whole machine to the price of one GPU, which a spec has."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ftc.tui.understanding.certainty import Said
from ftc.tui.understanding.reading import Change, value_at
from ftc.tui.understanding.text.message import find_words, fold
from ftc.tui.understanding.text.numbers import as_written

_PRICE: Final = "/hardware/price_per_hour"
_THIS_MACHINE: Final = "auto"
_NEAR: Final = 40
_WHOLE: Final = re.compile(
    r"\b(?:whole|entire|total|in all|all (?:of them|together|\d+|two|four|eight)|altogether|both"
    r"|for the (?:box|machine|server|node|lot)|tot(?:es|s)? (?:plegat|el|la|les|els|dues|dos)"
    r"|en total|(?:toda la|todas?|tod[oa]s? l[oa]s?|la) maquina|(?:por|per) tot[aeso]*|entera?)\b"
)


def share_price(said: Sequence[Said], text: str, draft: Mapping[str, Any]) -> list[Said]:
    """Divide the price of a whole machine by its number of GPUs.

    A price alone does not make a machine the one that trains.
    """
    folded = fold(text)
    if any(each.pointer == _PRICE for each in said):  # "this machine costs 2 euros an hour"
        said = [each for each in said if getattr(each, "value", None) != _THIS_MACHINE]
    return [
        _shared(each, folded, text, _gpus(said, draft))
        if isinstance(each, Change) and each.pointer == _PRICE
        else each
        for each in said
    ]


def _shared(price: Change, folded: str, text: str, gpus: int) -> Change:
    place = find_words(text, price.words)
    around = folded[max(0, place - _NEAR) : place + len(price.words) + _NEAR]
    if gpus == 1 or place < 0 or not _WHOLE.search(around):
        return price
    return replace(price, value=as_written(round(price.value / gpus, 6)))


def _gpus(said: Sequence[Said], draft: Mapping[str, Any]) -> int:
    pointer = "/hardware/count"
    counts = [each.value for each in said if isinstance(each, Change) and each.pointer == pointer]
    count = counts[0] if counts else value_at(draft, pointer)
    return count if isinstance(count, int) else 1
