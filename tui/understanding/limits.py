"""Limits of a run: "it must finish in 2 hours", "at most 10 dollars", "pressupost de 20 euros"."""

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from ftc.tui.understanding.lexicon import NUMBER, any_of
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.numbers import read_number
from ftc.tui.understanding.reading import Limit

_TABLE: Final[Mapping[str, Any]] = json.loads(
    (files("ftc.tui.understanding") / "limits.json").read_text(encoding="utf-8")
)
_SECONDS: Final[Mapping[str, int]] = {"h": 3600, "m": 60, "d": 86_400}
_AMOUNT: Final = rf"(?P<number>{NUMBER}|\d+|an?)"
_TIME: Final = rf"{_AMOUNT}[ -]?(?P<unit>{any_of(_TABLE['unit'])})(?!\w)"
_MONEY: Final = (
    r"(?:[$\u20ac\u00a3] ?(?P<first>\d+(?:[.,]\d+)?)"
    rf"|(?P<money>{NUMBER}|\d+) ?(?:[$\u20ac\u00a3]|{any_of(_TABLE['currency'])}(?!\w)))"
    r"(?! ?(?:/|per |an? |por |la |l'|al? )(?:hour|hr|h|hora)\b)"
)
_BEFORE: Final = any_of(_TABLE["before"])
_AFTER: Final = any_of(_TABLE["after"])
_ABOUT: Final = (
    r"(?:(?:of|de|d'|about|is|son|es) )?(?:the next |the |les |las |els |los |un |una )?"
)
_PATTERNS: Final = tuple(
    re.compile(pattern)
    for amount in (_TIME, _MONEY)
    for pattern in (
        rf"\b{_BEFORE} {_ABOUT}{amount}(?: {_AFTER}\b)?",
        rf"(?<![\w.,]){amount} {_AFTER}\b",
        rf"^\s*{amount}\s*$",
    )
)


def read_limit(message: Message) -> tuple[Limit, str] | None:
    """Return the limit of time or money that a message names, and its words; cross them out."""
    found, words = Limit(), list[str]()
    for pattern in _PATTERNS:
        for match in message.take(pattern):
            found = found.joined(_limit(match))
            words.append(message.words(*match.span()))
    return (found, ", ".join(words)) if words else None


def _limit(match: re.Match[str]) -> Limit:
    groups = match.groupdict()
    if (unit := groups.get("unit")) is not None:
        number = 1.0 if groups["number"] in ("a", "an") else read_number(groups["number"]) or 0.0
        return Limit(seconds=number * _SECONDS[unit[0]])
    return Limit(money=read_number(groups.get("first") or groups["money"]))
