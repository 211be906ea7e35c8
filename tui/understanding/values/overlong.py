"""Reads what to do with long rows: "chop anything over 1024 tokens", "las largas, fuera"."""

import re
from collections.abc import Iterator
from typing import Any, Final

from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import NUMBER, WORDS, any_of
from ftc.tui.understanding.text.message import SENTENCE_END, Message, find_around, fold
from ftc.tui.understanding.text.numbers import as_written, read_number

_LONG: Final[Any] = WORDS["overlong"]
#: A unit of another field after a number: "cut at 1000 steps" is not a length.
_OTHER_UNIT: Final = (
    r"(?!\s*(?:steps?|pass(?:os|es)|pas(?:os)?|epochs?|ep|epoques|epoca|epocas|rows?|files?|filas?|examples?"
    r"|exemples?|ejemplos?|hours?|hor[ae]s?|minut\w*|gpus?|gi?b|%)\b)"
)
_NUMBER: Final = rf"(?P<number>{NUMBER})(?P<unit>[ -]tokens?)?\b{_OTHER_UNIT}"
_ROWS: Final = any_of(_LONG["rows"])
_EXCEEDING: Final = any_of(_LONG["exceeding"])
_OVER: Final = any_of(_LONG["over"])
_TO: Final = re.compile(rf"\b{any_of(_LONG['cut'])}(?: {_ROWS})? (?:to|at|a|en|als?) {_NUMBER}")
_BEYOND: Final = re.compile(
    rf"(?:\b(?P<rows>{_ROWS}) [^.;,!?\n\x00]{{0,24}}?)?\b{_OVER}\s+{_NUMBER}"
)
_ACTS: Final = tuple(
    (value, re.compile(rf"(?<![\w-]){any_of(_LONG[said])}(?!\w)"))
    for value, said in (("truncate", "cut"), ("drop", "dropped"))
)
#: "nothing longer than 600 tokens" is a limit.
_NONE: Final = re.compile(
    r"\b(?:nothing|none|no(?: single)?|cap|res|que no|ningun\w*|nada|never|mai|nunca)\b"
    r"(?=[^.;,!?\n]*$|[^.;,!?\n]*\d)"
)
#: "discard what exceeds", without a number: the limit of the field applies.
_WHOLE: Final = tuple(
    (
        value,
        re.compile(
            rf"(?<![\w-]){any_of(_LONG[said])} {_EXCEEDING}"
            r"(?:(?: (?:the|that|el|del|al?|ese))* (?:limit\w*|max\w*|length|context))?(?=\W|$)"
        ),
    )
    for value, said in (("truncate", "cut"), ("drop", "dropped"))
)
#: A row that is too long: "if one is even longer", "las que sean demasiado largas".
_LONGER: Final = re.compile(
    r"\b(?:(?:if|when|whenever|any|the ones?|those|rows?|texts?|what(?:ever)?)\b[^.;!?\n]{0,24}?"
    r"(?:(?:too|even|still) long(?:er)?|longer|does(?:n't| not) fit|do(?:n't| not) fit|goes over"
    r"|is over|exceeds?)"
    r"|(?:too |even )?long(?:er)? (?:ones|rows|texts|examples|documents|conversations|chats)"
    r"|(?:si|quan|cuando|les|els|las|los|lo|el)\b[^.;!?\n]{0,24}?(?:massa llar\w+|mes llar\w+"
    r"|demasiad[oa] larg[oa]s?|muy larg[oa]s?|mas larg[oa]s?|no (?:hi )?(?:cap|cabe|quep|capig)\w*"
    r"|se'n pass\w*|se pas[ae]\w*|sobrepass\w*|sobrepas\w*))\b"
)
_BEGINNING: Final = (
    r"keep(?:ing)? (?:only |just )?(?:the |their |its )?(?:beginnings?|starts?|heads?"
    r"|first (?:part|bit|tokens))"
    r"|(?:queda't|quedem-nos|guarda|conserva|deixa)(?:-ne|-me|'n|'m)?(?: nomes)?(?: amb)?"
    r" (?:el|els) (?:comencaments?|principis?|inicis?)"
    r"|(?:quedate|quedemonos|guarda|conserva|deja)(?:me)?(?: solo)?(?: con)?"
    r" (?:el|los) (?:principios?|comienzos?|inicios?)"
)
#: Actions in everyday words: "just cut off the end", "leave it out".
_LONGER_ACTS: Final = tuple(
    (value, re.compile(rf"(?<![\w-])(?:{words})(?!\w)"))
    for value, words in (
        ("truncate", any_of(_LONG["cut"])),
        ("truncate", r"cut (?:off )?(?:the )?(?:end|rest)|shorten (?:it|them)"),
        ("truncate", _BEGINNING),
        ("drop", any_of(_LONG["dropped"])),
        ("drop", r"leave (?:it|them|that one) out|get rid of (?:it|them)"),
        ("drop", r"(?:l[ao]s?|les|l') ?(?:quit[ae]s|tiras|treus|descart[ae]s|elimin[ae]s)"),
    )
)
#: "keep the first 1024 tokens of them": the length, and the rest is cut.
_FIRST_TOKENS: Final = re.compile(
    r"\b(?:keep|take|use|leave|stick to|guarda|conserva|queda\S*|deixa|deja|agafa|coge)\b"
    r"[^.;!?\n\d]{0,20}?\b(?:the|els|los|las|les)?\s?(?:first|primer[oe]?s)\s"
    rf"(?P<number>{NUMBER})\stokens?(?!\w)"
)
#: A length in tokens, or its field with a number, beside which rows are cut or dropped.
_LENGTH: Final = re.compile(
    rf"(?:{NUMBER}\s(?:tokens?|toks?)\b|\b(?:max(?:im\w*)?[ _]?(?:seq\w*[ _])?len\w*"
    rf"|longitud (?:maxim\w+)"
    rf"|max_length|llargada maxima)\W{{1,3}}(?:(?:de|of|a|to|is|at|es)\s)?{NUMBER})"
)
#: "chop them", "truncating the rest", "recortando lo que sobre": the act, and at most its object.
_CUT_IT: Final = re.compile(
    rf"(?<![\w-])(?:{any_of(_LONG['cut'])}|truncat?ing|truncant|truncando|(?:re)?tallant|(?:re)?cortando"
    r"|escurcant|acortando)"
    r"(?:[ -](?:them|it|those|the (?:rest|longer ones|long ones|overflow|excess)|what(?:ever)? is "
    r"(?:left|longer|over)|la resta|el resto|l[ao]s?|(?:el|lo) que (?:sobr\w+|qued\w+|pass\w+"
    r"|pas\w+)))?"
    r"(?=\s*(?:$|[.,;:!)]|\bif\b|\band\b|\bi\b|\by\b))"
)
_LEFT_CUT: Final = re.compile(
    rf"(?:the rest|what(?:ever)? is left|(?:el|lo) que sobr\w+|la resta|el resto)\s(?:(?:is"
    rf"|gets|can be|que|es|se|s')"
    rf"\s?){{0,3}}{any_of(_LONG['cut'])}(?!\w)"
)
_POINTER: Final = "/data/cleaning/overlong"
_SENTENCE_END: Final = re.compile(r"[.;!?\n](?=\s|$)|$")
_NUMBERED: Final = re.compile(r"\s*(?:de |than |of |the )?\d")
_LEAST: Final = 16


def read_overlong(message: Message) -> Iterator[Change]:
    """Yield the maximum length of a row, and whether longer rows are cut or dropped."""
    for match in list(_FIRST_TOKENS.finditer(message.folded)):
        if not message.denied(match.start()):
            yield from _take(message, match.start(), match.end(), match["number"], "truncate")
    for match in list(_TO.finditer(message.folded)):
        if not message.denied(match.start()):
            yield from _take(message, match.start(), match.end(), match["number"], "truncate")
    for match in list(_BEYOND.finditer(message.folded)):
        if match["rows"] is None and match["unit"] is None:
            continue
        start = max(
            (at.end() for at in _SENTENCE_END.finditer(message.folded, 0, match.start()) if at[0]),
            default=0,
        )
        stop = _SENTENCE_END.search(message.folded, match.end())
        end = stop.start() if stop else len(message.folded)
        found = [
            (abs(act.start() - match.start()), value, act)
            for value, pattern in _ACTS
            for act in pattern.finditer(message.folded, start, end)
            if not message.denied(act.start())
        ]
        bounded = match["unit"] and _NONE.search(message.folded, start, match.end())
        if not found and bounded:
            yield from _take(message, bounded.start(), match.end(), match["number"], None)
        if found:
            _, value, act = min(found, key=lambda each: each[0])
            first, last = min(match.start(), act.start()), max(match.end(), act.end())
            yield from _take(message, first, last, match["number"], value)
    yield from _read_longer(message)
    yield from _read_beside(message)
    for value, pattern in _WHOLE:
        for match in list(pattern.finditer(message.folded)):
            if not (message.denied(match.start()) or _NUMBERED.match(message.folded, match.end())):
                words = message.words(*match.span())
                message.cross_out(*match.span())
                yield Change(pointer="/data/cleaning/overlong", value=value, words=words)


def _read_beside(message: Message) -> Iterator[Change]:
    """Yield `truncate` if the sentence that gives a length in tokens also says to cut rows."""
    for length in _LENGTH.finditer(message.plain):
        first, last = find_around(SENTENCE_END, message.folded, length.span())
        for pattern in (_LEFT_CUT, _CUT_IT):
            for act in list(pattern.finditer(message.folded, first, last)):
                if message.denied(act.start()):
                    continue
                words = message.words(*act.span())
                message.cross_out(*act.span())
                yield Change(pointer=_POINTER, value="truncate", words=words)
                return


def _read_longer(message: Message) -> Iterator[Change]:
    """Yield the treatment of a row that is too long: the one requested action of its sentence."""
    for match in list(_LONGER.finditer(message.folded)):
        stop = _SENTENCE_END.search(message.folded, match.end())
        end = stop.start() if stop else len(message.folded)
        found = [
            (value, act)
            for value, pattern in _LONGER_ACTS
            for act in pattern.finditer(message.folded, match.end(), end)
            if not message.denied(act.start())
        ]
        if len({value for value, _ in found}) != 1:
            continue
        value, act = max(found, key=lambda each: each[1].end())
        words = message.words(match.start(), act.end())
        message.cross_out(match.start(), act.end())
        yield Change(pointer=_POINTER, value=value, words=words)


def says_what_happens(text: str) -> bool:
    """Return whether a text says that rows are cut or dropped, not only that they are long."""
    folded = fold(text)
    return any(pattern.search(folded) for _, pattern in _LONGER_ACTS)


def _take(
    message: Message, start: int, end: int, number: str, overlong: str | None
) -> Iterator[Change]:
    """Yield the length, and the treatment of longer rows if mentioned; cross out the words."""
    length = read_number(number)
    if length is None or length < _LEAST:
        return
    words = message.words(start, end)
    message.cross_out(start, end)
    yield Change(pointer="/data/max_length", value=as_written(length), words=words)
    if overlong is not None:
        yield Change(pointer="/data/cleaning/overlong", value=overlong, words=words)
