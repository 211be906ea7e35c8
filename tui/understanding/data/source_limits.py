"""Row limits of one file of a mixture: "a.csv + b.jsonl (at most 5,000 rows of it)"."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.message import find_places, fold

_SOURCES, _ROWS = "/data/sources", "/data/max_rows"
#: Words after the number that refer to the last named file.
_THIS: Final = re.compile(
    r"\s*(?:of|from|de|d'|del|dels)\s?(?:that one|this one|it\b|aquesta?\b|aquell\w*"
    r"|est[ae]\b|es[ae]\b|aquella\b)"
)
#: Words before the number that refer to the last file: "d'aquesta només 800 files".
_OF_THIS: Final = re.compile(
    r"\b(?:of (?:that|this) one|from (?:that|this|it)|d'(?:aquesta?|aquell\w*)"
    r"|de (?:est[ae]|es[ae]|aquella))\b,?(?: \w+){0,3}\s*$"
)
#: A part of a list of files with properties.
_PART_END: Final = re.compile(r"[;\n]|[,.](?=\s)")
_ORDINALS: Final = (
    r"first|primer[ao]?",
    r"second|segon[a]?|segund[ao]",
    r"third|tercer[ao]?",
)
_BY_ORDER: Final = tuple(
    re.compile(rf"\s*(?:of|from|de|d'|del)\s?(?:the |la |el |l')?(?:{each})(?!\w)")
    for each in _ORDINALS
)


def limit_sources(found: Sequence[Change | Choice], text: str) -> list[Change | Choice]:
    """Return the values, with each row limit moved into the source that it applies to.

    That is the file whose parentheses contain the limit, the file that the words beside it refer
    to, or the file before it in its part of a list: "a.csv at most 800 rows; b.csv all of them".
    """
    changes = {each.pointer: each for each in found if isinstance(each, Change)}
    mixture, rows = changes.get(_SOURCES), changes.get(_ROWS)
    if mixture is None or rows is None or not isinstance(mixture.value, Sequence):
        return list(found)
    place = _find_source(text, mixture.value, rows)
    if place is None:
        return list(found)
    sources = list(mixture.value)
    whole = sources[place] if isinstance(sources[place], Mapping) else {"source": sources[place]}
    sources[place] = {**whole, "max_rows": rows.value}
    limited = Change(pointer=_SOURCES, value=sources, words=f"{mixture.words}, {rows.words}")
    return [limited if each is mixture else each for each in found if each is not rows]


def _find_source(text: str, sources: Sequence[Any], rows: Change) -> int | None:
    """Return the index of the source that a limit applies to; None if it applies to all rows."""
    ends = [max((end for _, end in find_places(text, _name(each))), default=-1) for each in sources]
    folded = fold(text)
    for start, end in find_places(text, rows.words)[:1]:
        for place, pattern in enumerate(_BY_ORDER[: len(sources)]):
            if pattern.match(folded, end):
                return place
        before = [(last, place) for place, last in enumerate(ends) if 0 <= last <= start]
        if not before:
            return None
        last, place = max(before)
        between = folded[last:start]
        this = _THIS.match(folded, end) or _OF_THIS.search(folded[:start])
        if between.count("(") > between.count(")") or this or _PART_END.search(between) is None:
            return place if this or between.count("(") or _is_apart(folded, ends, end) else None
    return None


def _is_apart(folded: str, ends: Sequence[int], end: int) -> bool:
    """Return whether a later part of the sentence names another file."""
    stop = _PART_END.search(folded, end)
    return stop is not None and any(last > stop.start() for last in ends)


def _name(source: Any) -> str:
    return str(source["source"] if isinstance(source, Mapping) else source)
