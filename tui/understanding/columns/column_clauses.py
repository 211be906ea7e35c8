"""Columns in clauses of the same form in one sentence: "the question is in q, the answer in a".

If one clause is certainly about a column (it has the word "column", or a name that is not an
ordinary word), its neighbours are too, even if their names are ordinary words. Otherwise, two
clauses of different roles are enough in a message about a data file.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ftc.tui.understanding.columns.column_roles import (
    NO_CLAUSE_NAME,
    find_roles,
    role_of_name,
)
from ftc.tui.understanding.text.lexicon import QUOTES

_NAME: Final = r"[a-z_]\w*(?:[.-]\w+)*"
_COLUMN: Final = r"(?:columns?|columna|columnes|columnas|fields?|camps?|campos?|cols?)"
_DATA: Final = re.compile(rf"\.(?:csv|tsv|jsonl?|parquet|xlsx)\b|\b{_COLUMN}\b")
_THE: Final = r"(?:(?:the|an?|la|el|els|les|los|las|una?)\s|l')?"
_CALLED: Final = (
    r"(?:(?:(?:that is |que )?(?:called|named|anomenada|llamada|es diu|se llama)|is|es)\s)?"
)
_IN: Final = r"(?:in|under|inside|from|into|at|a|en|dins(?: de)?|sota|bajo|dentro de|als?)\s"
_QUOTED: Final = rf"(?P<quote>{QUOTES})?(?P<name>{NO_CLAUSE_NAME}{_NAME}){QUOTES}?"
_VERB: Final = (
    r"(?:(?:is|are|holds?|has|have|contains?|gives|keeps|says|there(?:'s| is| are)|es"
    r"|son|te|tenen|tiene|tienen|conte|contenen|contiene|contienen|hi ha|hay|hi va|va|porta"
    r"|lleva|guarda|diu|dice|estan?)\s+)"
)
_OWN: Final = (
    r"(?:(?:the|our|my|its|their|what|whether|if|els?|l[aeo]s?|lo que|nostr[ae]s?"
    r"|nuestr[ao]s?|mis?|si)\s|l')"
)
#: The ways to say in a clause what a column holds.
_SHAPES: Final = (
    # the question is in (the column) q
    re.compile(
        rf"(?P<says>\S.*?)\s(?:(?P<in>{_IN}){_THE}(?P<column>{_COLUMN}\s{_CALLED})?"
        rf"|(?:is|are|es|son)\s{_THE}(?P<is>{_COLUMN}\s{_CALLED})){_QUOTED}(?:\s{_COLUMN})?$"
    ),
    # in the column q there is the question
    re.compile(
        rf"(?P<in>{_IN}){_THE}(?P<column>{_COLUMN}\s{_CALLED})?{_QUOTED},?\s+{_VERB}?"
        rf"(?P<says>(?={_OWN})\S.*)$"
    ),
    # the column q has the question, and a the answer
    re.compile(
        rf"(?P<in>(?!))?{_THE}(?P<column>{_COLUMN}\s{_CALLED})?{_QUOTED},?\s+{_VERB}?"
        rf"(?P<says>(?={_OWN})\S.*)$"
    ),
    # the good one is win, the bad one lose
    re.compile(
        rf"(?P<says>{_OWN}\S.*?)\s(?P<in>(?!))?"
        rf"(?P<column>(?!))?(?:(?:is|are|es|son)\s)?{_CALLED}{_QUOTED}$"
    ),
    # the same with a sign: "good = win"
    re.compile(rf"(?P<says>\S.*?)(?P<in>(?!))?(?P<column>(?!))?\s?(?:=|->)\s?{_QUOTED}$"),
)
_FOUND, _PLACED, _HOLDS, _IS, _SIGNED = range(len(_SHAPES))
_SENTENCE: Final = re.compile(r"(?:[^.;:!?()\n\u2026]|\.(?=\w)|:(?=\S))+")
_JOINT: Final = re.compile(r",\s(?:(?:and|i|y|e)\s)?|\s(?:and|i|y|e|while|mentre|mientras)\s")
_SAID: Final = re.compile(rf"^{_THE}{_COLUMN}\b")
_CODED: Final = re.compile(r"[_\d]")
#: "the good one is in a, the other in b".
_OTHER: Final = re.compile(r"(?:(?:the|la|el) (?:other|otr[ao])|l'altr[ae])\b")
_TWO: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """The name of a column, its range, the role from its clause, and whether that is certain."""

    name: str
    start: int
    end: int
    role: str | None
    sure: bool


def find_column_clauses(text: str) -> Iterator[Clause]:
    """Yield the columns of a folded text in clauses of the same form, sentence by sentence."""
    about_data = _DATA.search(text) is not None
    for sentence in _SENTENCE.finditer(text):
        for shape, pattern in enumerate(_SHAPES):
            found = list(_match(text, *sentence.span(), pattern))
            kept = _settle(found, shape, about_data=about_data)
            if kept:
                yield from kept
                break


def _match(text: str, first: int, last: int, pattern: re.Pattern[str]) -> Iterator[Clause]:
    """Yield the clauses of a sentence that match a pattern."""
    joints = [each.span() for each in _JOINT.finditer(text, first, last)]
    starts = [first, *(end for _, end in joints)]
    for begin, stop in zip(starts, [*(start for start, _ in joints), last], strict=True):
        part = text[begin:stop]
        match = pattern.fullmatch(part.strip())
        if match is None:
            continue
        offset = begin + len(part) - len(part.lstrip())
        told = find_roles(match["says"])
        name = match["name"]
        named = match["column"] or match.groupdict().get("is")
        yield Clause(
            name=name,
            start=offset + match.start("name"),
            end=offset + match.end("name"),
            role=told[0][2] if told else ("other" if _OTHER.match(match["says"]) else None),
            sure=bool(
                named or match["quote"] or _CODED.search(name) or _SAID.search(match["says"])
            ),
        )


def _settle(found: Sequence[Clause], shape: int, *, about_data: bool) -> list[Clause]:
    """Return the clauses that are about columns, or none if that is uncertain."""
    told = [each for each in found if each.role is not None]
    roles = {each.role for each in told}
    if shape in (_IS, _SIGNED):
        agree = any(role_of_name(each.name) == each.role or each.sure for each in told)
        return told if about_data and agree and len(roles) >= _TWO else []
    certain = any(each.sure for each in found)
    if not certain and not (about_data and len(roles) >= _TWO and shape != _HOLDS):
        return []
    open_too = len(told) >= _TWO  # "the click in thumb", beside the question and the answer
    kept = [each for each in found if each.sure or each.role is not None or open_too]
    return [replace(each, sure=True) for each in kept] if len(kept) >= _TWO else []
