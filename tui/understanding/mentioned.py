"""Columns in running text: each gets its role from the words around it, its name or its order.

"the essay (column 'original') and the good version (column 'fixed')" names two columns. What an
essay is to a model no list tells, but a version that is good is an answer, and the other column of
two is then the prompt.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from ftc.tui.understanding.columns import VOTE
from ftc.tui.understanding.lexicon import QUOTES, any_of
from ftc.tui.understanding.message import Message, Span
from ftc.tui.understanding.reading import Change, Choice

_TABLE: Final[Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]]] = json.loads(
    (files("ftc.tui.understanding") / "mentioned.json").read_text(encoding="utf-8")
)
_SECTION: Final = "/data/columns/"
_NAME: Final = r"[a-z_]\w*(?:[.-]\w+)*"
_COLUMN: Final = r"(?:columns?|columna|columnes|columnas|fields?|camps?|campos?|cols?)"
_CALLED: Final = (
    r"(?:\s*[:=,]|(?: (?:are|is|son|es|called|named|anomenad[ae]s?|llamad[ao]s?|(?:que )?es diuen?"
    r"|(?:que )?se llaman?)){1,2}:?)?"
)
_JOIN: Final = r"(?:\s*[/+&]\s*|,? (?:and|i|y|e|plus|mes|mas) )"
_LINK: Final = rf"(?:{_JOIN}|\s*,\s*)"
_QUOTED: Final = re.compile(rf"(?<!\w){QUOTES}(?P<name>{_NAME}){QUOTES}(?!\w)")
_IN_QUOTES: Final = rf"{QUOTES}{_NAME}{QUOTES}"
#: Names behind the word: in quotes, or bare before a stop or words that say what they hold.
_LISTED: Final = re.compile(
    rf"(?<!\w){_COLUMN}{_CALLED} (?P<names>{_IN_QUOTES}(?:{_LINK}{_IN_QUOTES})*"
    rf"|{_NAME}(?:(?:\s*,\s*{_NAME})*{_JOIN}{_NAME})?"
    r"(?=\s*(?:$|[,.;:!?()\n=]|(?:is|are|holds?|has|have|contains?|for|es|son|te|tiene|conte|contiene)\b)))"
)
_BEFORE_NAME: Final = re.compile(
    rf"(?:\b{_COLUMN}{_CALLED}|\b(?:in|under|inside|from|a|en|dins(?: de)?|sota|bajo|dentro de|is"
    r"|are|es|son|diu|dice)(?: (?:the|la|el))?|[:=(,]|\b(?:and|i|y|e))\s*(?:(?:the|la|el)\s)?$"
)
_COLUMN_WORD: Final = re.compile(rf"\b{_COLUMN}\b")
_NO_COLUMN: Final = frozenset(_TABLE["none"]["words"]["any"])
#: What stands between a name and words that say what it holds.
_HOLDS: Final = re.compile(
    rf"{QUOTES}?\s*(?:column |columna )?(?:\(\s*|[:=]\s*"
    r"|,?\s*(?:which |that |que |on |donde |where )?"
    r"(?:is|are|holds?|has|have|contains?|carries|gives|keeps|stores|for|with|as|es|son|te|tenen"
    r"|tiene|tienen|conte|contenen|contiene|contienen|hi ha|hay|va|hi va|porta|lleva|guarda|per"
    r"|pels?|per al?s?|para|amb|con|com a?|como)\s+|(?=(?:the|el|la) |l'))"
)
#: A name behind these words is where what stands before them is found.
_FOUND_IN: Final = re.compile(
    rf"(?:\b(?:in|under|inside|from|a|en|dins(?: de)?|sota|bajo|dentro de)|\()"
    rf"\s*(?:(?:the|la|el)\s)?(?:{_COLUMN}{_CALLED}\s*)?{QUOTES}?$"
)
_NEAR: Final = 48
_STOP: Final = re.compile(r"[;!?\n]|\.(?=\s|$)")
_PART: Final = re.compile(r"[a-z]+")
_ROLES: Final = tuple(
    (role, re.compile(rf"(?<!\w){any_of(entry)}(?!\w)")) for role, entry in _TABLE["around"].items()
)
_NAMED: Final = tuple(
    (role, re.compile(rf"{any_of(entry)}")) for role, entry in _TABLE["names"].items()
)
#: "translate from Catalan into English": a language is what comes in, or what goes out.
_TRANSLATED: Final = re.compile(
    r"\b(?:transl|tradu)\w*\b[^.;!?\n]{0,30}?\b(?:from|del?|de l'|d')\s?(?:l'|la |el )?"
    r"(?P<prompt>[a-z]{4,})\s+(?:in)?(?:to|al?|cap al?|hacia(?: el)?)\s+(?:l'|el )?"
    r"(?P<completion>[a-z]{4,})"
)
#: Names of roles that other forms of rows have: the rows' form follows from them.
_OF_FORMS: Final = frozenset({"instruction", "input", "output", "messages", "tools", "system"})
_OTHER: Final[Mapping[str, str]] = {
    "prompt": "completion",
    "completion": "prompt",
    "chosen": "rejected",
    "rejected": "chosen",
    "images": "completion",
}
_SCORED: Final = frozenset({"embed", "rerank"})
#: Objectives whose rows have a prompt and its answer, mostly in this order.
_ANSWERED: Final = frozenset({None, "sft", "classification", *_SCORED})
_OBJECTIVE: Final = "/objective/type"
_SIMILAR: Final = re.compile(r"\b(?:similar\w*|semblan\w*|assembl\w*|parec\w*)")
_TWO: Final = 2
#: Words of preference pairs: the order of their columns does not tell which answer is better.
_PAIRED: Final = re.compile(
    r"\b(?:pairs?|parelles?|parej\w+|prefer\w*|chosen|rejected|win\w*|los\w+|better|worse)\b"
)


#: How many letters before a name may call it a label.
_NEAR_VOTE: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A name of a column, its place, and the role that the words around it tell, if any.

    Unless it is `sure`, it may be a label or another quoted word: only the words after it tell.
    """

    name: str
    start: int
    end: int
    role: str | None
    sure: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The range of a name, and where the text begins that may tell its role before it.

    It is `sure` that it names a column behind that word, or behind one such as "in".
    """

    start: int
    end: int
    first: int
    sure: bool


def hide_mentioned(message: Message) -> Sequence[Mention]:
    """Return the columns that the message mentions and that no reader took; hide their names."""
    mentions = _find_mentions(message)
    for each in mentions:
        message.cross_out(each.start, each.end)
    return mentions


def read_mentioned(
    message: Message, mentions: Sequence[Mention], said: Sequence[Change | Choice]
) -> Iterator[Change]:
    """Yield the roles of columns that were hidden; show again those that have none.

    `said` is what was read so far: an objective tells what two columns are, and a role that is
    taken is not given again.
    """
    objective = next(
        (each.value for each in said if isinstance(each, Change) and each.pointer == _OBJECTIVE),
        None,
    )
    taken = {
        each.pointer.removeprefix(_SECTION): str(each.value)
        for each in said
        if isinstance(each, Change) and each.pointer.startswith(_SECTION)
    }
    roles = [
        "label"
        if objective == "kto" and _is_vote(message, each)
        else _settled(each.role, objective, message)
        for each in mentions
    ]
    _complete(roles, set(taken), objective, message)
    given: set[str] = set(taken)
    for mention, role in zip(mentions, roles, strict=True):
        if role is None or role in given or mention.name in taken.values():
            message.restore(mention.start, mention.end)
            continue
        given.add(role)
        words = message.words(mention.start, mention.end)
        yield Change(pointer=f"{_SECTION}{role}", value=mention.name, words=words)


def _is_vote(message: Message, mention: Mention) -> bool:
    """Return whether the words before a column's name call it a label (a vote for KTO)."""
    return (
        VOTE.search(message.plain[max(0, mention.start - _NEAR_VOTE) : mention.start]) is not None
    )


def _complete(
    roles: list[str | None], taken: set[str], objective: object, message: Message
) -> None:
    """Give a role to the one column of two that has none, or to both by their order."""
    known = {*taken, *filter(None, roles)}
    open_places = [place for place, role in enumerate(roles) if role is None]
    if len(open_places) == 1:
        if len(known) == 1 and (other := _OTHER.get(next(iter(known)))) is not None:
            roles[open_places[0]] = other
        elif known in ({"chosen", "rejected"}, {"completion", "label"}):
            roles[open_places[0]] = "prompt"
        elif not known and objective == "cpt":
            roles[open_places[0]] = "text"
    elif (
        len(open_places) == _TWO
        and known <= {"score"}
        and objective in _ANSWERED
        and not _PAIRED.search(message.plain)
    ):
        roles[open_places[0]], roles[open_places[1]] = "prompt", "completion"


def _settled(role: str | None, objective: object, message: Message) -> str | None:
    """Return a role as the objective reads it; a mark is a score only of likeness."""
    if role == "text":
        return "text" if objective == "cpt" else "prompt"
    if role == "score" and objective == "classification":
        return "completion"
    if role == "score" and objective not in _SCORED and not _SIMILAR.search(message.plain):
        return None
    if objective == "cpt" and role == "prompt":
        return "text"
    return role


def _find_mentions(message: Message) -> list[Mention]:
    """Return the names in a message that are columns, each in quotes or behind the word."""
    text = message.plain
    found: dict[int, _Place] = {}
    for match in _QUOTED.finditer(text):
        start, end = match.span("name")
        if _BEFORE_NAME.search(text, max(0, match.start() - _NEAR), match.start()):
            sure = _FOUND_IN.search(text, max(0, match.start() - _NEAR), match.start()) is not None
            found[start] = _Place(start=start, end=end, first=0, sure=sure)
    for match in _LISTED.finditer(text):
        names = list(_names(match["names"], match.start("names")))
        for start, end in names:  # what is said before several names tells nothing of each
            first = start if len(names) > 1 else 0
            found[start] = _Place(start=start, end=end, first=first, sure=True)
    places = [found[start] for start in sorted(found)]
    places = [each for each in places if "\x00" not in message.folded[each.start : each.end]]
    languages = _translated(message)
    mentions, read = [], 0
    for at, place in enumerate(places):
        first = max(place.first, read, places[at - 1].end if at else 0)
        stop = places[at + 1].start if at + 1 < len(places) else len(text)
        span = (place.start, place.end)
        role, read = _role(text, span, (first, stop), languages, sure=place.sure)
        name = message.words(*span)
        mentions.append(
            Mention(name=name, start=place.start, end=place.end, role=role, sure=place.sure)
        )
    if _COLUMN_WORD.search(text) is not None:
        mentions = [each for each in mentions if each.role or each.name not in _OF_FORMS]
        return [each for each in mentions if each.sure or each.role is not None]
    return [each for each in mentions if each.sure and each.role is not None]


def _names(listed: str, first: int) -> Iterator[Span]:
    """Yield the range of each name of a list, up to a word that is none."""
    joined = [each.span() for each in re.finditer(_LINK, listed)]
    starts = [0, *(end for _, end in joined)]
    for start, end in zip(starts, [*(start for start, _ in joined), len(listed)], strict=True):
        part = listed[start:end]
        name = re.search(_NAME, part)
        if name is None or (name[0] == part and name[0] in _NO_COLUMN):
            return
        yield first + start + name.start(), first + start + name.end()


def _translated(message: Message) -> Mapping[str, str]:
    """Return the role of each language of a translation that the message asks for."""
    match = _TRANSLATED.search(message.plain)
    return {} if match is None else {match[role]: role for role in ("prompt", "completion")}


def _role(
    text: str, span: Span, around: Span, languages: Mapping[str, str], *, sure: bool
) -> tuple[str | None, int]:
    """Return the role of a name, and where the words behind it that tell the role end.

    Words behind the name tell more than those before it, unless it is found in them ("the text is
    in 'body'"); the name itself tells least. `around` is the text between the names beside it.
    """
    start, end = span
    first, stop = around
    before = _STOP.split(text[max(first, start - _NEAR) : start])[-1]
    told = _search(before, languages)
    if told and _FOUND_IN.search(before):
        return told[-1][2], end
    if (holds := _HOLDS.match(text, end, stop)) is not None:
        after = text[holds.end() : min(stop, holds.end() + _NEAR)]
        found = _search(_STOP.split(after)[0].split(",")[0], languages)
        if found:
            return found[0][2], holds.end() + found[0][1]
    if not sure or (not told and text[start:end] in _OF_FORMS):
        return None, end
    return (told[-1][2] if told else _role_of_name(text[start:end])), end


def _search(text: str, languages: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """Return the place and the role of the telling words of a text, of two at one the longer."""
    found = [
        (match.start(), match.end(), role)
        for role, pattern in _ROLES
        for match in pattern.finditer(text)
    ]
    found += [
        (match.start(), match.end(), languages[match[0]])
        for match in _PART.finditer(text)
        if match[0] in languages
    ]
    found.sort(key=lambda each: (each[0], -each[1]))
    kept: list[tuple[int, int, str]] = []
    for each in found:
        if not kept or each[0] >= kept[-1][1]:
            kept.append(each)
    return kept


def _role_of_name(name: str) -> str | None:
    """Return the role that a column's own name tells: "good_reply" is the better answer."""
    for role, pattern in _NAMED:
        if any(pattern.fullmatch(part) for part in _PART.findall(name.replace("_", " "))):
            return role
    return None
