"""Values that the message itself does not want: undecided, rejected or unnecessary.

"I can't decide which of the two", "the 14B does not fit", "no need to freeze anything", "right now
we do not log anywhere".
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ftc.spec.schema import find_field
from ftc.tui.understanding.reading import UNSURE, Change, Choice, ask_about, value_at
from ftc.tui.understanding.text.lexicon import any_of
from ftc.tui.understanding.text.message import SENTENCE_END, Span, find_around, find_places, fold
from ftc.tui.understanding.text.word_tables import word_table

_WAVERING: Final[Mapping[str, Any]] = word_table("wavering")


def _compiled(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'-]){any_of(_WAVERING[name])}(?![\w'])")


_UNDECIDED: Final = _compiled("undecided")
_REJECTED: Final = _compiled("rejected")
_NEEDLESS: Final = _compiled("needless")
_CURRENTLY: Final = _compiled("currently")
_NOT_MINE: Final = _compiled("not_mine")
_CLAUSE_END: Final = re.compile(r"[!?;:,\n]|\.(?=\s|$)|\b(?:but|so|pero|aixi que|asi que)\b")
#: Between a value and the statement about it: "the 14B (I tried) just".
_BETWEEN: Final = re.compile(
    r"\s*(?:\([^)\n]*\)\s*)?(?:(?!(?:que|perque|porque|because|since|cause|so|and|or|i|y|o|si|if|when"
    r"|quan|cuando|where|on|donde|it|that|which|who|otherwise|but|pero|is|es)\b)\w+\s+){0,2}?"
)
_FORBIDS: Final = re.compile(
    r"\b(?:do not|don'?t|dont|never|must not|mustn't)\b|\bno (?:ho |lo |la |l'|el |em |me )*$"
)
_TURNED_OFF: Final = re.compile(
    r"\b(?:(?:turn|switch|set)\w* (?:[\w-]+ ){0,3}?off|disabl\w*|(?:desactiv|apag|desconnect"
    r"|desconect)\w*)\b"
)
_ANY_NAME: Final = re.compile(r"\b(?:anything|whatever|qualsevol|cualquier\w*|el que|lo que)\b")
#: "disregard the 8 epochs of that run".
_DISREGARDED: Final = re.compile(
    r"\b(?:disregard|ignore|ignora|obvia|passa de|pasa de)\b[^.;:,!?\n]*$"
)
#: At the end of a value's words: "the best by that instead of the loss".
_REPLACED: Final = re.compile(
    r"\b(?:instead of|rather than|en (?:lugar|vez) de|en comptes de|(?:en lloc|enlloc) de)\s+"
    r"(?:(?:the|an?|la|el|los|las|els|les|una?)\s+|l')?(?P<other>[\w-]+)$"
)
_KEEPS: Final = ("/allow", "/data/", "/objective/")
_THAT: Final = re.compile(r"\b(?:que|si|para que|porque)\s+$")
_REFLEXIVE: Final = re.compile(r"\s+(?!(?:que|donde|gaire|sabre)\b)[a-z]{3,}(?:a|e|an|en)(?!\w)")
_NAME: Final = "/name"
_SOURCE, _SOURCES = "/data/source", "/data/sources"

Said = Change | Choice


def doubt_wavering(text: str, told: Sequence[Said], draft: Mapping[str, Any]) -> list[Said]:
    """Return the values without rejected ones, and with questions for undecided ones."""
    folded = fold(text)
    wanted = [ask_about(each) if _is_replaced(each) else each for each in told]
    kept = [each for each in wanted if not _is_unwanted(folded, text, each, draft)]
    spans = list(_undecided(text, folded))
    if not spans:
        return kept
    return [_asked(each) if _is_open(text, each, spans) else each for each in kept]


def _is_replaced(said: Said) -> bool:
    """Return whether the words name a value only as the value to replace."""
    if not isinstance(said, Change) or not isinstance(said.value, str):
        return False
    match = _REPLACED.search(fold(said.words))
    return match is not None and match["other"] == fold(said.value)


def _is_denied_twice(folded: str, said: Change, place: Span) -> bool:
    """Return whether a switch is off and its sentence forbids that: "do not turn it off"."""
    clause = find_around(_CLAUSE_END, folded, place)
    off = _TURNED_OFF.search(folded, *clause)
    return (
        said.value in (False, "none")
        and off is not None
        and (_FORBIDS.search(folded, clause[0], off.start()) is not None)
    )


def _is_unwanted(folded: str, text: str, said: Said, draft: Mapping[str, Any]) -> bool:
    places = find_places(text, said.words)
    if not isinstance(said, Change) or not places:
        return False
    again = [each.end() for each in re.finditer(re.escape(fold(said.words)), folded)]
    if _is_rejected(folded, max([*again, places[-1][1]])):
        return True
    if _is_denied_twice(folded, said, places[0]):
        return True
    if said.pointer == _NAME:
        return _ANY_NAME.search(fold(said.words)) is not None
    if not said.pointer.startswith(_KEEPS) and _DISREGARDED.search(folded[: places[0][0]]):
        return True
    off = said.value is False or said.value in ("none", "off")
    if value_at(draft, said.pointer) is not None or not off:
        return False
    first, last = find_around(SENTENCE_END, folded, places[0])
    default = find_field(said.pointer).schema.get("default", said.value)
    if default == said.value and _NEEDLESS.search(folded, first, places[0][0]):
        return True  # a warm-up of 0 is no default
    clause = find_around(_CLAUSE_END, folded, places[0])
    return _NOT_MINE.search(folded, *clause) is not None and (
        _CURRENTLY.search(folded, first, last) is not None
    )


def _is_rejected(folded: str, end: int) -> bool:
    """Return whether the words right after a value say that it is unsuitable."""
    between = _BETWEEN.match(folded, end)
    found = _REJECTED.search(folded, end)
    stop = _CLAUSE_END.search(folded, end)
    return (
        found is not None
        and between is not None
        and (stop is None or found.start() < stop.start())
        and _BETWEEN.fullmatch(folded, end, found.start()) is not None
    )


def _undecided(text: str, folded: str) -> Iterator[Span]:
    """Yield the sentences that leave a choice open, each with the sentence before it."""
    for match in _UNDECIDED.finditer(folded):
        said = text[match.start() : match.end()].lower()
        pronoun = _THAT.search(folded[: match.start()]) or _REFLEXIVE.match(folded, match.end())
        if said == "no se" and pronoun:
            continue  # "que no se aleje", "no se pierde": a pronoun, and not "no sé"
        first, last = find_around(SENTENCE_END, folded, match.span())
        alone = not re.search(r"\d", folded[first:last])
        if alone:
            before = len(folded[:first].rstrip(" .!?;\n"))
            first = find_around(SENTENCE_END, folded, (before, before))[0]
        yield first, last


def _is_open(text: str, said: Said, spans: Sequence[Span]) -> bool:
    places = find_places(text, said.words)
    return isinstance(said, Change) and any(
        first <= start and end <= last for start, end in places[:1] for first, last in spans
    )


def _asked(said: Said) -> Said:
    """Return the question about a value; for several files, the question which one is the data."""
    if isinstance(said, Change) and said.pointer == _SOURCES and isinstance(said.value, list):
        return Choice(pointer=_SOURCE, values=tuple(said.value), words=said.words, why=UNSURE)
    return ask_about(said)
