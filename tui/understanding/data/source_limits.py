"""Row limits of one file of a mixture: "a.csv + b.jsonl (at most 5,000 rows of it)"."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.message import find_places, fold

_SOURCES, _ROWS = "/data/sources", "/data/max_rows"
#: Words behind the number that mean the file named last.
_THIS: Final = re.compile(
    r"\s*(?:of|from|de|d'|del|dels)\s?(?:that one|this one|it\b|aquesta?\b|aquell\w*"
    r"|est[ae]\b|es[ae]\b|aquella\b)"
)
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
    """Return what was found, with a row limit moved into the source that it applies to.

    That is the file whose parentheses contain the limit, or the one that the words behind it name.
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
        if between.count("(") > between.count(")") or _THIS.match(folded, end):
            return place
    return None


def _name(source: Any) -> str:
    return str(source["source"] if isinstance(source, Mapping) else source)
