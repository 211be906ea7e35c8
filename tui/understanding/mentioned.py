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

from ftc.tui.understanding.lexicon import QUOTES, any_of
from ftc.tui.understanding.message import Message
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
_LINK: Final = r"\s*(?:,|/|\+|&|,? (?:and|i|y|e|plus|mes|mas))\s*"
_QUOTED: Final = re.compile(rf"(?<!\w){QUOTES}(?P<name>{_NAME}){QUOTES}(?!\w)")
_BARE: Final = rf"(?:{QUOTES}{_NAME}{QUOTES}|{_NAME})"
#: "columns good and bad": names without quotes behind the word, which a text in prose goes on from.
_LISTED: Final = re.compile(
    rf"(?<!\w){_COLUMN}{_CALLED} (?P<names>{_BARE}(?:{_LINK}{_BARE}){{0,4}})"
)
_BEFORE_NAME: Final = re.compile(
    rf"(?:\b{_COLUMN}{_CALLED}|\b(?:in|under|inside|from|a|en|dins(?: de)?|sota|bajo|dentro de|is|are"
    r"|es|son|diu|dice)(?: (?:the|la|el))?|[:=(,]|\b(?:and|i|y|e))\s*(?:(?:the|la|el)\s)?$"
)
_COLUMN_WORD: Final = re.compile(rf"\b{_COLUMN}\b")
_NO_COLUMN: Final = frozenset(_TABLE["none"]["words"]["any"])
#: What stands between a name and words that say what it holds.
_HOLDS: Final = re.compile(
    rf"{QUOTES}?\s*(?:column|columna)?\s*(?:\(|[:=]|,?\s*(?:which |that |que |on |donde |where )?"
    r"(?:is|are|holds?|has|have|contains?|carries|gives|keeps|stores|for|with|as|es|son|te|tenen"
    r"|tiene|tienen|conte|contenen|contiene|contienen|hi ha|hay|va|hi va|porta|lleva|guarda|per|pel"
    r"|pels|per al?s?|para|amb|con|com a?|como))\s+|\(\s*"
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
    r"\b(?:transl|tradu)\w*\b[^.;!?\n]{0,30}?\b(?:from|del?|de l'|d')\s?(?:l'|la |el )?(?P<prompt>[a-z]{4,})"
    r"\s+(?:in)?(?:to|al?|cap al?|hacia(?: el)?)\s+(?:l'|el )?(?P<completion>[a-z]{4,})"
)
_OTHER: Final[Mapping[str, str]] = {
    "prompt": "completion",
    "completion": "prompt",
    "chosen": "rejected",
    "rejected": "chosen",
    "images": "completion",
}
_PAIRED: Final = frozenset({"dpo", "orpo", "cpo", "simpo", "reward"})
_SCORED: Final = frozenset({"embed", "rerank"})
_OBJECTIVE: Final = "/objective/type"
_SIMILAR: Final = re.compile(r"\b(?:similar\w*|semblan\w*|assembl\w*|parec\w*)")
_TWO: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    """A name of a column, its place, and the role that the words around it tell, if any."""

    name: str
    start: int
    end: int
    role: str | None


def read_mentioned(message: Message, said: Sequence[Change | Choice]) -> Iterator[Change]:
    """Yield the roles of the columns that the message mentions and that no reader took.

    `said` is what was read so far: an objective tells what two columns are, and a role that is
    taken is not given again.
    """
    mentions = _find_mentions(message)
    objective = next(
        (each.value for each in said if isinstance(each, Change) and each.pointer == _OBJECTIVE),
        None,
    )
    taken = {
        each.pointer.removeprefix(_SECTION): str(each.value)
        for each in said
        if isinstance(each, Change) and each.pointer.startswith(_SECTION)
    }
    mentions = [each for each in mentions if each.name not in taken.values()]
    roles = [_settled(each.role, objective, message) for each in mentions]
    _complete(roles, set(taken), objective)
    given: set[str] = set(taken)
    for mention, role in zip(mentions, roles, strict=True):
        if role is None or role in given:
            continue
        given.add(role)
        words = message.words(mention.start, mention.end)
        message.cross_out(mention.start, mention.end)
        yield Change(pointer=f"{_SECTION}{role}", value=mention.name, words=words)


def _complete(roles: list[str | None], taken: set[str], objective: object) -> None:
    """Give a role to the one column of two that has none, or to both by their order."""
    known = {*taken, *filter(None, roles)}
    open_places = [place for place, role in enumerate(roles) if role is None]
    if len(open_places) == 1:
        if len(known) == 1 and (other := _OTHER.get(next(iter(known)))) is not None:
            roles[open_places[0]] = other
        elif known == {"chosen", "rejected"} or known == {"completion", "label"}:
            roles[open_places[0]] = "prompt"
        elif not known and objective == "cpt":
            roles[open_places[0]] = "text"
    elif len(open_places) == _TWO and known <= {"score"}:
        if objective in (None, "sft", "classification", "distill", *_SCORED):
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


def _find_mentions(message: Message) -> list[_Mention]:
    """Return the names in a message that are columns, each in quotes or behind the word."""
    spoken = _COLUMN_WORD.search(message.plain) is not None
    found: dict[int, tuple[int, int]] = {}
    for match in _LISTED.finditer(message.plain):
        for each in re.finditer(_NAME, match["names"]):
            start = match.start("names") + each.start()
            if each[0] in _NO_COLUMN:
                break
            found[start] = (start, start + len(each[0]))
    for match in _QUOTED.finditer(message.plain):
        before = message.plain[max(0, match.start() - _NEAR) : match.start()]
        if spoken and _BEFORE_NAME.search(before):
            found[match.start("name")] = match.span("name")
    places = [found[start] for start in sorted(found)]
    places = [span for span in places if "\x00" not in message.folded[slice(*span)]]
    told = _translated(message)
    return [
        _Mention(
            name=message.words(*span),
            start=span[0],
            end=span[1],
            role=_role(message, span, places[at - 1][1] if at else 0, places[at + 1 : at + 2], told),
        )
        for at, span in enumerate(places)
    ]


def _translated(message: Message) -> Mapping[str, str]:
    """Return the role of each language of a translation that the message asks for."""
    match = _TRANSLATED.search(message.plain)
    return {} if match is None else {match[role]: role for role in ("prompt", "completion")}


def _role(
    message: Message,
    span: tuple[int, int],
    first: int,
    following: Sequence[tuple[int, int]],
    languages: Mapping[str, str],
) -> str | None:
    """Return the role that the words behind a name tell, else those before it, else the name."""
    start, end = span
    stop = following[0][0] if following else len(message.plain)
    holds = _HOLDS.match(message.plain, end, stop)
    if holds is not None:
        after = message.plain[holds.end() : min(stop, holds.end() + _NEAR)]
        found = _search(_STOP.split(after)[0].split(",")[0], languages, last=False)
        if found is not None:
            return found
    before = _STOP.split(message.plain[max(first, start - _NEAR) : start])[-1]
    found = _search(before, languages, last=True)
    return found or _role_of_name(message.plain[start:end])


def _search(text: str, languages: Mapping[str, str], *, last: bool) -> str | None:
    """Return the role that the first or the last telling words of a text stand for."""
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
    if not found:
        return None
    if last:
        return max(found, key=lambda each: (each[1], -each[0]))[2]
    return min(found, key=lambda each: (each[0], -each[1]))[2]


def _role_of_name(name: str) -> str | None:
    """Return the role that a column's own name tells: "good_reply" is the better answer."""
    for role, pattern in _NAMED:
        if any(pattern.fullmatch(part) for part in _PART.findall(name.replace("_", " "))):
            return role
    return None
