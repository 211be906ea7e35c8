"""Columns in prose: each gets its role from the words around it, its name or its order.

"The essay (column 'original') and the good version (column 'fixed')" names two columns. No list has
the role of an essay, but a good version is an answer, so the other column is the prompt.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from ftc.spec.schema import fixed_values
from ftc.tui.understanding.columns.column_clauses import find_column_clauses
from ftc.tui.understanding.columns.column_roles import (
    NO_COLUMN,
    find_roles,
    role_of_name,
)
from ftc.tui.understanding.columns.columns import PREFERENCES, VOTE
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.lexicon import QUOTES
from ftc.tui.understanding.text.message import Message, Span

_SECTION: Final = "/data/columns/"
_NAME: Final = r"[a-z_]\w*(?:[.-]\w+)*"
_COLUMN: Final = r"(?:columns?|columna|columnes|columnas|fields?|camps?|campos?|cols?)"
_CALLED: Final = (
    r"(?:\s*[:=,]|(?: (?:are|is|son|es|called|named|anomenad[ae]s?|llamad[ao]s?"
    r"|(?:que )?es diu(?:en)?|(?:que )?se llaman?)){1,2}:?)?"
)
#: "the good one", "que val": what tells a column from others, before its name.
_QUALIFIED: Final = (
    r"(?:(?: (?:that|which|que|we|i))*(?: \w+){1,2}"
    r"(?= (?:(?:is|are) (?:called|named)|(?:que )?es diu(?:en)?|(?:que )?se llaman?)\b))?"
)
_JOIN: Final = (
    r"(?:\s*[/+&]\s*|,? (?:and|i|y|e|plus|mes|mas) "
    r"(?:(?:one|another(?: one)?|(?:una |l'|la )?(?:altra|otra)) "
    r"(?:called|named|llamada|anomenada|que es diu|que se llama) )?)"
)
_LINK: Final = rf"(?:{_JOIN}|\s*,\s*)"
#: Verbs between a column and its content.
_VERBS: Final = (
    r"(?:is|are|holds?|has|have|contains?|carries|gives|keeps|stores|es|son|te|tenen|tiene|tienen"
    r"|conte|contenen|contiene|contienen|hi ha|hay|va|hi va|porta|lleva|guarda)"
)
#: Words before the content of a column: "the reply", "what we answer".
_OWN: Final = (
    r"(?:(?:the|our|my|its|their|what|els?|l[aeo]s?|lo que|nostr[ae]s?|nuestr[ao]s?|mis?)\s|l')"
)
_QUOTED: Final = re.compile(rf"(?<!\w){QUOTES}(?P<name>{_NAME}){QUOTES}(?!\w)")
_IN_QUOTES: Final = rf"{QUOTES}{_NAME}{QUOTES}"
#: Names after the word "column": in quotes, or bare before a stop or words about the content.
_LISTED: Final = re.compile(
    rf"(?<!\w){_COLUMN}{_QUALIFIED}(?:{_CALLED} |\s?[:=]\s?)"
    rf"(?P<names>{_IN_QUOTES}(?:{_LINK}{_IN_QUOTES})*"
    rf"|{_NAME}(?:\s?/\s?{_NAME}){{1,4}}|{_NAME}(?:(?:\s*,\s*{_NAME})*{_JOIN}{_NAME})?"
    r"(?=\s*(?:$|[,.;:!?()\n=])|\s(?:[/|+]\s|->|\u2192)"
    rf"|\s+(?!es diu|se llama|is called|is named)(?:{_VERBS}|for)\b"
    rf"|\s+(?:and|i|y|e)\s+{_OWN}))"
)
#: A name without quotes that is not an ordinary word.
_CODED: Final = re.compile(r"(?<![\w./\\-])[a-z]+(?:_[a-z\d]+)+(?<!_proj)(?![\w/\\]|[.-]\w)")
#: Names after a file: "prefs.jsonl (q/good/bad)", "pairs.csv (query, passage)".
_OF_FILE: Final = re.compile(
    r"\.(?:csv|tsv|jsonl?|parquet|xlsx)(?:\s*[(\[:]\s*|\s*(?:->|\u2192)\s*|,?\s+(?:with|amb|con)\s+)"
    rf"(?P<names>(?:{_NAME}(?:\s?/\s?{_NAME}){{1,4}}|{_NAME}(?:{_LINK}{_NAME}){{1,4}}))(?![\w/])"
)
_ARROW: Final = re.compile(r"->|\u2192")
#: Names of splits and other properties of a file.
_NO_FILE_COLUMN: Final = re.compile(
    r"(?:train|test|val|dev|eval|valid)\w*|split|utf|csv|jsonl?|rows|files|filas|the|my|els?|l[aeo]s?"
)
#: Names after a file, at least one of them not an ordinary word: "pairs.csv has text_a, text_b and
#: score".
_FILE_HAS: Final = re.compile(
    rf"\.(?:csv|tsv|jsonl?|parquet|xlsx),?\s*(?:(?:hi ha|hay|has|have|with|amb|con|te|tiene"
    rf"|contains?|conte|contiene|{_COLUMN})\s+|[(:]\s*)(?P<names>(?:{_NAME}{_LINK})+{_NAME})(?![\w/])"
)
#: Column names in brackets, at least one of them an identifier: "(text_a, text_b, mark)".
_IN_BRACKETS: Final = re.compile(rf"\((?P<names>(?:{_NAME}\s*,\s*)+{_NAME})\)")
_TOGETHER: Final = re.compile(rf"{_LINK}(?:an? |the |una? |l[ao]s? |els? |les )?")
#: Two or more quoted names in a row.
_QUOTED_LIST: Final = re.compile(
    rf"(?<!\w)(?P<names>{_IN_QUOTES}(?:(?:{_LINK}|,? (?:or|o) ){_IN_QUOTES})+)(?!\w)"
)
_BEFORE_NAME: Final = re.compile(
    rf"(?:\b{_COLUMN}{_CALLED}|\b(?:in|under|inside|from|a|en|dins(?: de)?|sota|bajo|dentro de|is"
    r"|are|es|son|diu|dice|have|has|got|tinc|tenim|tengo|tenemos"
    r"|hi ha|hay)(?: (?:the|la|el))?|[:=(,]|\b(?:and|i|y|e))\s*(?:(?:the|la|el)\s)?$"
)
_COLUMN_WORD: Final = re.compile(rf"\b{_COLUMN}\b")
#: The text between a name and the words about its content.
_HOLDS: Final = re.compile(
    rf"{QUOTES}?\s*(?:column |columna )?(?:\(\s*|[:=]\s*"
    r"|,?\s*(?:which |that |que |on |donde |where )?"
    r"(?!(?:for|per|para) (?:each|every|cada)\b)"
    rf"(?:{_VERBS}|for|with|as|per|pels?|per al?s?|para|amb|con|com a?|como)\s+"
    r"|(?=(?:the|el|la) |l'))"
)
#: A name after these words is the place of the content before them.
_FOUND_IN: Final = re.compile(
    rf"(?:\b(?:in|under|inside|from|a|en|dins(?: de)?|sota|bajo|dentro de)|\()"
    rf"\s*(?:(?:the|la|el)\s)?(?:{_COLUMN}{_CALLED}\s*)?{QUOTES}?$"
)
#: Between the content of a column and its name: "what we answer is 'reply'".
_IS: Final = re.compile(rf"\s+(?:is|are|es|son)\s+{QUOTES}?")
#: Roles shown by an adjective, which may also be an opinion: "whether it was good is 'useful'".
_VERDICTS: Final = frozenset({"chosen", "rejected", "label", "score", "other"})
_NEAR: Final = 48
_COMMANDS: Final = re.compile(r"(?i)\w*[\u00e1\u00e9\u00ed\u00f3\u00fa]\w*(?:l[oae]s?|nos|sel[oa])")
_STOP: Final = re.compile(r"[;!?\n]|\.(?=\s|$)")
#: Another part of the sentence: "column q has what they ask and I want the answers in Catalan".
_NEXT: Final = re.compile(r",|\s(?:and|i|y|e)\s")
#: "translate from Catalan into English": a language is that of the input or of the output.
_TRANSLATED: Final = re.compile(
    r"\b(?:transl|tradu)\w*\b[^.;!?\n]{0,30}?\b(?:from|del?|de l'|d')\s?(?:l'|la |el )?"
    r"(?P<prompt>[a-z]{4,})\s+(?:in)?(?:to|al?|cap al?|hacia(?: el)?)\s+(?:l'|el )?"
    r"(?P<completion>[a-z]{4,})"
)
#: Names of roles of other row formats, which show the format of the rows.
_OF_FORMS: Final = frozenset({"instruction", "input", "output", "messages", "tools", "system"})
_OTHER: Final[Mapping[str, str]] = {
    "prompt": "completion",
    "text": "completion",
    "completion": "prompt",
    "chosen": "rejected",
    "rejected": "chosen",
    "images": "completion",
}
_SCORED: Final = frozenset({"embed", "rerank"})
#: Objectives whose rows have a prompt and its answer, usually in this order.
_ANSWERED: Final = frozenset({None, "sft", "classification", *_SCORED})
_OBJECTIVE: Final = "/objective/type"
#: The columns of preference pairs.
_ANSWERS: Final = frozenset({"chosen", "rejected"})
_PAIR: Final = _ANSWERS | {"prompt"}
#: The columns of rows with votes, and of pairs with their similarity, in their usual order.
_TRIPLES: Final = (
    (frozenset({"kto"}), ("prompt", "completion", "label")),
    (_SCORED, ("prompt", "completion", "score")),
)
#: "liked" and "not_liked": the answers of a preference.
_ABSENT: Final = re.compile(r"^(?:no|not|non|un|dis)_?(?=\w{3})")
_SIMILAR: Final = re.compile(r"\b(?:similar\w*|semblan\w*|assembl\w*|parec\w*)")
#: "la de sortida es diu X": a name, even if it is an ordinary word.
_NAMED: Final = re.compile(
    rf"\b(?:es diu|se llama|is called|is named|called|named|es)\s+{QUOTES}?$"
)
_TWO: Final = 2
#: Words about preference pairs: the order of their columns does not show which answer is better.
_PAIRED: Final = re.compile(
    r"\b(?:pairs?|parelles?|parej\w+|prefer\w*|chosen|rejected|win\w*|los\w+|better|worse)\b"
)


#: The number of characters before a name in which it may be called a label.
_NEAR_VOTE: Final = 16


class Doubt(Protocol):
    """A function that turns a column with an unlikely role into a question."""

    def __call__(self, column: Change, /, *, told: bool) -> Change | Choice:
        """Return the column or the question; `told` means that words gave the role."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name of a column, its place, and the role from the words around it, if any.

    Unless it is `sure`, it may be a label or another quoted word, and only the words after it show
    its role. `told` means that the words around it gave the role, and not the name alone.
    """

    name: str
    start: int
    end: int
    role: str | None
    sure: bool
    told: bool


@dataclass(frozen=True, slots=True)
class _Place:
    """The range of a name, and the start of the text before it that may show its role.

    It is `sure` that it names a column after the word "column", or after a word such as "in". A
    list may give it a `role`.
    """

    start: int
    end: int
    first: int
    sure: bool
    role: str | None = None


def hide_mentioned(
    message: Message, *, known: bool, is_other: Callable[[str], bool]
) -> Sequence[Mention]:
    """Return the mentioned columns that no reader took, and hide their names.

    If other columns of the message are `known`, a name in the position of a column is also one,
    unless it `is_other`: the name of something else.
    """
    mentions = _find_mentions(message, known=known, is_other=is_other)
    for each in mentions:
        message.cross_out(each.start, each.end)
    return mentions


def read_mentioned(
    message: Message,
    mentions: Sequence[Mention],
    said: Sequence[Change | Choice],
    doubt: Doubt,
) -> Iterator[Change | Choice]:
    """Yield the roles of hidden columns, and restore names without a role.

    `said` are the values read so far: an objective shows the roles of two columns, and a used role
    is not given again. `doubt` returns a column, or a question about it.
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
    told = {each.role for each in mentions if each.told}
    roles = [
        "label"
        if objective == "kto" and _is_vote(message, each)
        # a role stated in words wins over one guessed from a name such as "title"
        else _settled(each.role if each.told or each.role not in told else None, objective, message)
        for each in mentions
    ]
    roles = _opposed(roles, [*taken], objective)
    if not _has_others(message):
        _complete(roles, [each.name for each in mentions], set(taken), objective, message)
    if "rejected" in roles and "chosen" not in {*roles, *taken}:  # the answer that is better
        roles = ["chosen" if role == "completion" else role for role in roles]
    given: set[str] = set(taken)
    natural = roles == ["prompt", "completion"] and all(
        each.sure and not each.name.endswith("s") for each in mentions
    )
    for mention, role in zip(mentions, roles, strict=True):
        if role is None or role in given or mention.name in taken.values():
            message.restore(mention.start, mention.end)
            continue
        given.add(role)
        words = message.words(mention.start, mention.end)
        column = Change(pointer=f"{_SECTION}{role}", value=mention.name, words=words)
        sure = natural or _NAMED.search(message.plain[: mention.start]) is not None
        yield column if sure else doubt(column, told=mention.told)


def _has_others(message: Message) -> bool:
    """Return whether another quoted name of unknown role is in the position of a column."""
    return any(
        _BEFORE_NAME.search(message.folded, max(0, match.start() - _NEAR), match.start())
        for match in _QUOTED.finditer(message.folded)
    )


def _opposed(
    roles: Sequence[str | None], taken: Sequence[str], objective: object
) -> list[str | None]:
    """Return the roles, with the opposite of the first known role for "the other one"."""
    told = [*taken, *(role for role in roles if role not in (None, "other"))]
    if objective in PREFERENCES:  # the answer is then the better one
        told = ["chosen" if role == "completion" else role for role in told]
    opposed = next((_OTHER[role] for role in told if role in _OTHER), None)
    return [opposed if role == "other" else role for role in roles]


def _is_vote(message: Message, mention: Mention) -> bool:
    """Return whether the words before a column's name call it a label (a vote for KTO)."""
    return (
        VOTE.search(message.plain[max(0, mention.start - _NEAR_VOTE) : mention.start]) is not None
    )


def _complete(
    roles: list[str | None],
    names: Sequence[str],
    taken: set[str],
    objective: object,
    message: Message,
) -> None:
    """Give a role to the one of two columns without a role, or to both by their order."""
    if len(names) == _TWO and _ABSENT.sub("", names[1]) == names[0] and objective != "kto":
        roles[:] = ["chosen", "rejected"]
    for objectives, usual in _TRIPLES:
        if objective in objectives and len(roles) == len(usual):
            left = [role for role in usual if role not in roles]
            roles[:] = [role or left.pop(0) for role in roles]
    known = {*taken, *filter(None, roles)}
    open_places = [place for place, role in enumerate(roles) if role is None]
    missing = _PAIR - known
    if len(open_places) == len(missing) == 1 and known & _ANSWERS:
        roles[open_places[0]] = next(iter(missing))
        return
    if len(open_places) == 1:
        if len(known) == 1 and (other := _OTHER.get(next(iter(known)))) is not None:
            roles[open_places[0]] = other
        elif known == {"completion", "label"}:
            roles[open_places[0]] = "prompt"
        elif known == {"prompt", "completion"} and objective == "kto":
            roles[open_places[0]] = "label"
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
    """Return a role as the objective uses it; a mark is a score only for similarity."""
    if role == "text":
        return "text" if objective == "cpt" else "prompt"
    if role == "label" and objective != "kto":
        return "completion" if objective == "classification" else None
    if role == "score" and objective == "classification":
        return "completion"
    if role == "score" and objective not in _SCORED and not _SIMILAR.search(message.plain):
        return None
    if objective == "cpt" and role is not None:
        return "text"
    return role


def _find_mentions(
    message: Message, *, known: bool, is_other: Callable[[str], bool]
) -> list[Mention]:
    """Return the names in a message that are columns, in quotes or after the word "column"."""
    text = message.plain
    found: dict[int, _Place] = {}
    for match in _QUOTED.finditer(text):
        start, end = match.span("name")
        placed = _BEFORE_NAME.search(text, max(0, match.start() - _NEAR), match.start())
        if placed or _HOLDS.match(text, end):
            sure = _FOUND_IN.search(text, max(0, match.start() - _NEAR), match.start()) is not None
            found[start] = _Place(start=start, end=end, first=0, sure=sure)
    for match in _CODED.finditer(text):
        if match[0] not in fixed_values():
            before = max(0, match.start() - _NEAR)
            sure = _FOUND_IN.search(text, before, match.start()) is not None
            found.setdefault(match.start(), _Place(*match.span(), first=0, sure=sure))
    of_file = [
        each
        for pattern in (_FILE_HAS, _IN_BRACKETS)
        for each in pattern.finditer(text)
        if any(name[0] not in fixed_values() for name in _CODED.finditer(each["names"]))
    ]
    listed = (*_LISTED.finditer(text), *_file_lists(text), *of_file, *_quoted_lists(text))
    for match in listed:
        names = list(_names(match))
        roles = _respective(text[max(0, match.start() - _NEAR) : match.start()], len(names))
        for (start, end), role in zip(names, roles, strict=True):
            # words before several names do not show the role of each
            first = start if len(names) > 1 else 0
            found[start] = _Place(start, end, first, sure=True, role=role)
    for each in find_column_clauses(text):
        found[each.start] = _Place(each.start, each.end, each.start, sure=True, role=each.role)
    places = [found[start] for start in sorted(found)]
    places = [
        each
        for each in places
        if "\x00" not in message.folded[each.start : each.end]
        and not is_other(text[each.start : each.end])
    ]
    languages = _translated(message)
    mentions, read = [], 0
    for at, place in enumerate(places):
        taken = message.folded.rfind("\x00", 0, place.start) + 1
        first = max(place.first, read, taken, places[at - 1].end if at else 0)
        stop = places[at + 1].start if at + 1 < len(places) else len(text)
        span = (place.start, place.end)
        if _COMMANDS.fullmatch(message.words(place.start, place.end)):
            continue  # "cámbialo"
        role, read, told = _role(text, span, (first, stop), languages, sure=place.sure)
        role = place.role or role
        name = message.words(*span)
        mentions.append(Mention(name, place.start, place.end, role, sure=place.sure, told=told))
    if _COLUMN_WORD.search(text) is not None or _OF_FILE.search(text) is not None:
        mentions = [each for each in mentions if each.role or each.name not in _OF_FORMS]
        return [each for each in mentions if each.sure or each.role is not None]
    several = sum(each.sure for each in mentions) >= _TWO
    known = known or several or any(each.role is not None for each in mentions)
    return [each for each in mentions if each.told or (each.sure and (each.role or known))]


def _file_lists(text: str) -> Iterator[re.Match[str]]:
    """Yield lists of names after a file name; with commas, one name must look like a column.

    "tickets.csv (clean, train)" has no column.
    """
    for match in _OF_FILE.finditer(text):
        names = [text[slice(*span)] for span in _names(match)]
        known = [each for each in names if role_of_name(each) or re.search(r"[_\d]", each)]
        if any(map(_NO_FILE_COLUMN.fullmatch, names)) or len(names) < _TWO:
            continue
        if known or "/" in match["names"] or _ARROW.search(match[0]):
            yield match


def _quoted_lists(text: str) -> Iterator[re.Match[str]]:
    """Yield the lists of quoted names in the position of columns, or with a name that shows a role.

    "They are 'rude' and 'polite'" lists labels.
    """
    for match in _QUOTED_LIST.finditer(text):
        before = text[max(0, match.start() - _NEAR) : match.start()]
        names = re.findall(_NAME, match["names"])
        if (
            _FOUND_IN.search(before)
            or _respective(before, len(names))[0]
            or any(map(role_of_name, names))
        ):
            yield match


def _respective(before: str, count: int) -> Sequence[str | None]:
    """Return the roles of several names if the words before them give a role for each, in order."""
    text = _STOP.split(before)[-1]
    told = find_roles(text, {})
    roles = [role for *_, role in told]
    joined = len(told) > 1 and _TOGETHER.fullmatch(text, told[-2][1], told[-1][0]) is not None
    return roles if joined and len(roles) == len(set(roles)) == count else [None] * count


def _names(match: re.Match[str]) -> Iterator[Span]:
    """Yield the range of each name in a list, up to a word that is not a name.

    In brackets after a file, every word is a name: "prefs.csv (prompt, good, bad)".
    """
    listed, first = match["names"], match.start("names")
    bracketed = match.re is _OF_FILE and match.string[match.end() : match.end() + 1] in (")", "]")
    joined = [each.span() for each in re.finditer(_LINK, listed)]
    starts = [0, *(end for _, end in joined)]
    for start, end in zip(starts, [*(start for start, _ in joined), len(listed)], strict=True):
        part = listed[start:end]
        name = re.search(_NAME, part)
        common = name is not None and name[0] == part and name[0] in NO_COLUMN
        if name is None or (common and not bracketed):
            return
        yield first + start + name.start(), first + start + name.end()


def _translated(message: Message) -> Mapping[str, str]:
    """Return the role of each language in a translation that the message requests."""
    match = _TRANSLATED.search(message.plain)
    return {} if match is None else {match[role]: role for role in ("prompt", "completion")}


def _role(
    text: str, span: Span, around: Span, languages: Mapping[str, str], *, sure: bool
) -> tuple[str | None, int, bool]:
    """Return the role of a name, the end of the words after it that show it, and whether words do.

    Words after the name take precedence over words before it, unless these end in a word such as
    "in" ("the text is in 'body'"). The name itself comes last. `around` is the text between its
    neighbours.
    """
    start, end = span
    first, stop = around
    before = _STOP.split(text[max(first, start - _NEAR) : start])[-1]
    told = find_roles(before, languages)
    rest = before[told[-1][1] :] if told else ""
    stated = not rest.strip() or (_IS.fullmatch(rest) and told[-1][2] not in _VERDICTS)
    if told and (stated or _FOUND_IN.search(before)):
        return told[-1][2], end, True
    if (holds := _HOLDS.match(text, end, stop)) is not None:
        after = text[holds.end() : min(stop, holds.end() + _NEAR)]
        found = find_roles(_NEXT.split(_STOP.split(after)[0])[0], languages)
        if found:
            return found[0][2], holds.end() + found[0][1], True
    if not sure or (not told and text[start:end] in _OF_FORMS):
        return None, end, False
    return (told[-1][2] if told else role_of_name(text[start:end])), end, False
