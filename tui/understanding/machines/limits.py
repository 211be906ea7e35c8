"""Reads limits of a run: "it must finish in 2 hours", "pressupost de 20 euros"."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ftc.tui.understanding.reading import Change, Limit, value_at
from ftc.tui.understanding.text.lexicon import NUMBER, any_of
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.text.word_tables import word_table

_TABLE: Final[Mapping[str, Any]] = word_table("limits")
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


#: Words that show that the launcher's own limit is meant.
_LAUNCHER: Final = re.compile(r"\b(?:slurm|sbatch|kubernetes|k8s|skypilot)\b")
_REMOTE: Final = frozenset({"slurm", "kubernetes", "skypilot"})
_WALL_TIME: Final = re.compile(
    rf"(?:\b(?:{_BEFORE} {_ABOUT}|{any_of(_TABLE['limit'])}(?: (?:is|of|de|es))?[ :=]+))?"
    rf"(?<![\w.,/])(?P<number>{NUMBER}|\d+(?:[.,]\d+)?)[ -]?"
    rf"(?P<unit>{any_of(_TABLE['unit'])})(?!\w)"
    r"(?! ?(?:/|(?:per|por) (?!(?:job|run|task|feina|treball|tasca|trabajo|tarea|ejecucion"
    r"|execucio)\b)"
    rf"|an? |la |l'|al? ))(?: {_AFTER}\b| cap\b)?"
)
_OFTEN: Final = re.compile(r"\b(?:every|each|per|cada|after|tras|despres de|despues de)\s*$")
#: "no job longer than 20 hours": the "no" belongs to the bound and does not negate the limit.
_BOUND: Final = re.compile(rf"\b(?:{_BEFORE}|{any_of(_TABLE['exceed'])}) {_ABOUT}$")
_HOUR: Final = 3600


def read_wall_time(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the time limit of a launcher's job: "slurm, 12h max"."""
    sent = value_at(draft, "/launch/type") in _REMOTE
    if not sent and not _LAUNCHER.search(message.folded):
        return
    for match in list(_WALL_TIME.finditer(message.folded)):
        seconds = (read_number(match["number"]) or 0.0) * _SECONDS[match["unit"][0]]
        often = _OFTEN.search(message.folded[: match.start()])
        bound = _BOUND.search(message.folded[: match.start("number")]) is not None
        denied = not bound and message.denied(match.start(), match.end())
        if often or seconds < _HOUR or denied:
            continue
        words = message.words(*match.span())
        message.cross_out(*match.span())
        yield Change(pointer="/launch/hours", value=as_written(seconds / _HOUR), words=words)


def read_limit(message: Message) -> tuple[Limit, str] | None:
    """Return the limit of time or cost in a message and its words, and cross them out."""
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
