"""Fields with their complete names: "training.epochs = 3", "best checkpoint by: metric".

The names are those of `field_index`. Before a sign, any name counts. Without a sign, only a name of
several words counts, and only beside a value that the field's schema determines: a number, a word
of a set, a switch. A name of several fields belongs to the field that accepts the value and
applies.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from ftc.spec.schema import Field, branches
from ftc.spec.values.admission import admits
from ftc.tui.understanding.applying import applies
from ftc.tui.understanding.fields.field_index import DOTTED, Name, field_index, kinds_of, normalise
from ftc.tui.understanding.fields.spoken import names_another, value_words
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import NUMBER, NUMBER_WORDS
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import MOST_GPUS, as_written, read_number
from ftc.tui.understanding.values.quantities import REVISION

_SIGN: Final = re.compile(r"\s*(?::=|=(?!=)|:(?!/)|->|\u2192)\s*")
_WORD: Final = re.compile(r"[a-z0-9][\w.+'/-]*")
_BEFORE: Final = re.compile(r"(?:[a-z0-9][\w.+'/-]*[ _]){0,5}[a-z0-9][\w.+'/-]*$")
_OPEN: Final = re.compile(r"(?:^|[\s,;|(\x00/\"'`\u201c\u00ab]|--)$")
#: The position of a name of one word with a colon: "3 gpus: 4090" has none.
_STARTS: Final = re.compile(r"(?:^|[,;.|(\n\x00]|\s/|--)\s*$")
#: Words that change the meaning of the name after them: "min lr", "emb lr".
_QUALIFIED: Final = re.compile(
    r"\b(?:min(?:imum)?|floor|piso|suelo|terra|emb(?:ed(?:ding)?s?)?|router|second|first|test"
    r"|val)(?:[ _]| (?:de|del|of) (?:the |la |l'|el )?)$"
)
_LINK: Final = re.compile(r"\s+(?:to |of |at |is |a |de |en |es )?")
_LISTED: Final = re.compile(r"(?:^|[,;|/+(\x00\n])\s*$|(?:^|\s)(?:and|with|i|y|e|amb|con)\s+$")
_ON: Final = ("true", "on", "yes", "si", "enabled", "activat", "activado")
_OFF: Final = ("false", "off", "no", "disabled", "desactivat", "desactivado")
_NOTHING: Final = re.compile(r"(?:none|null|off|no|cap|ningun[oa]?)(?![\w-])")
_END: Final = r"(?![\w/]|[-.]\w)"
_SWITCH: Final = re.compile(rf"(?P<on>{'|'.join(_ON)})|(?P<off>{'|'.join(_OFF)})")
_NUMBER: Final = re.compile(
    rf"[+-]?{NUMBER}(?P<share>\s?%)?(?![\w/%]|[.,:]\w|-\w|\s?[/x\u00d7*]\s?\d)"
)
#: Signs that a number is not the whole value: a unit, the end of a range, a change.
_GOES_ON: Final = re.compile(
    r"\s*(?:(?:->|\u2192|-|\u2013|\bto\b|\bfins a\b|\bhasta\b|\bor\b|\bo\b)\s*\d"
    r"|\s(?:[kmgt]i?b|gbit|gbps|days?|dies|dias?|hours?|hores|horas|h|min\w*|steps?|passos|pasos"
    r"|rows?|files|filas|percent|per ?cent|por ciento|times)\b)"
)
_QUOTED: Final = re.compile(
    r"\"(?P<a>[^\"\n]+)\"|'(?P<b>[^'\n]+)'(?!\w)|\u201c(?P<c>[^\u201d\n]+)\u201d"
    r"|\u00ab(?P<d>[^\u00bb\n]+)\u00bb|`(?P<e>[^`\n]+)`"
)
_TEXT: Final = re.compile(r"[^\s,;|()\[\]{}\x00\"'`]+(?![^\s,;|)\x00.])")
_REGEX: Final = re.compile(r"[^\s\x00\"'`]+?(?=,?(?:\s|$))")
_CODED: Final = re.compile(r"[\d_/.\\:@-]")
_NAMED_REFERENCE: Final = re.compile(
    r"(?<![\w./-])(?P<name>[a-z]+)\s\(?(?P<value>(?=[^\s,;|]*[/])(?=[^\s,;|]*\w)[a-z0-9./~][^\s,;|()\x00]+)"
)
_SEPARATOR: Final = "[ _-]?"
_JOINS: Final = re.compile(r"\s*(?:[+,&]|\b(?:and|i|y|e)\b)\s*")
#: These fields have their own readers for the text after "model:" or "data:".
_OWN_READERS: Final = frozenset(
    {"/model/id", "/hardware/gpu", "/name", "/export/types", "/export/vllm"}
)
#: The values of these fields are only Hub ids or paths.
_REFERENCES: Final = frozenset({"/data/source", "/objective/teacher/id", "/objective/tools"})
_SOURCES: Final = "/data/sources"
_REFERENCE: Final = re.compile(r"\S+/\S+|\S+\.\w{2,8}")
_OF_OTHER: Final = re.compile(r"(?:data(?:set)?|model|hub|hf|git|the|my|our|el|la|mi)[ _-]$")
#: The prefix of a query or a document often ends with a colon.
_PREFIXES: Final = frozenset({"/objective/query_prompt", "/objective/document_prompt"})
_PATTERN: Final = "/method/target_pattern"
_TEACHER: Final = "/objective/teacher/"
_LENGTH: Final = "/data/max_length"
_WARMUP: Final = "/training/warmup"
_COUNT: Final = "/hardware/count"
_KILO, _KILO_TOKENS = 1000, 1024
_MOST_WORDS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    value: Any
    end: int


def read_stated(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the fields whose complete names are before a sign or next to a value."""
    yield from _read_signed(message, draft)
    yield from _read_beside(message, draft)
    yield from _read_texts(message, draft)


def _read_signed(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    position = 0
    while sign := _SIGN.search(message.folded, position):
        position = max(sign.end(), sign.start() + 1)
        for start, names in _names_before(message.folded, sign.start()):
            change = _taken(message, draft, names, (start, sign.end()), signed=True)
            if change is not None:
                yield change
                break


def _read_beside(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the fields with names of several words and a value right after or before them."""
    for after in (True, False):
        for match in list(_long_names().finditer(message.folded)):
            start, end = match.span()
            names = field_index().get(normalise(match[0]), ())
            if "\x00" in message.folded[start:end] or not _OPEN.search(message.folded[:start]):
                continue
            if after:
                link = _LINK.match(message.folded, end)
                place = (start, link.end()) if link else None
            else:
                place = _value_before(message, names, start, end)
            change = place and _taken(message, draft, names, place, signed=False, end=end)
            if change:
                yield change


def _read_texts(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the paths and ids right after a field's name of one word: "repo acme/triage"."""
    for match in list(_NAMED_REFERENCE.finditer(message.folded)):
        names = tuple(
            name
            for name in field_index().get(match["name"], ())
            if _is_text(name.field) and name.field.pointer not in _REFERENCES | _OWN_READERS
        )
        if not names or _OF_OTHER.search(message.folded[: match.start()]):
            continue
        change = _taken(message, draft, names, (match.start(), match.start("value")), signed=False)
        if change is not None:
            yield change


def _is_text(field: Field) -> bool:
    kinds = kinds_of(field)
    return kinds <= {"string", "null"} and not _closed(field)


def _value_before(
    message: Message, names: Sequence[Name], start: int, end: int
) -> tuple[int, int] | None:
    """Return the start of the value before a name, twice, if a part of the message begins there."""
    before = message.folded[:start]
    if not before.endswith(" ") or _SIGN.match(message.folded, end):
        return None
    words = before.split()
    for count in (1, 2):
        if len(words) < count or words[-count] in NUMBER_WORDS:
            return None  # "and a learning rate of": an article
        begin = before.rfind(words[-count])
        if _LISTED.search(before[:begin]):
            found = any(
                (one := _value(each.field, message, begin, signed=False)) and one.end == start - 1
                for each in names
            )
            return (begin, begin) if found else None
    return None


def _names_before(folded: str, end: int) -> Iterator[tuple[int, Sequence[Name]]]:
    """Yield the names that end at a place with their starts, the longest first."""
    match = _BEFORE.search(folded, max(0, end - 80), end)
    if match is None:
        return
    colon = folded[end:].lstrip().startswith(":")
    for word in _WORD.finditer(folded, match.start(), end):
        start = word.start()
        name = normalise(folded[start:end])
        placed = " " in name or not colon or _STARTS.search(folded[:start])
        whole = " " in name or not _QUALIFIED.search(folded[:start])
        if name in field_index() and placed and whole and _OPEN.search(folded[:start]):
            yield start, field_index()[name]


def _taken(
    message: Message,
    draft: Mapping[str, Any],
    names: Sequence[Name],
    place: tuple[int, int],
    *,
    signed: bool,
    end: int = 0,
) -> Change | None:
    """Return the change of the one field that accepts the value, and cross out its words.

    `place` holds the start of the words and of the value.
    """
    start, begin = place
    if message.denied(start):
        return None
    fits: list[tuple[Name, _Found, bool | None]] = []
    several = any(each.field.pointer == _SOURCES for each in names)  # "datasets: a.csv, b.csv"
    for name in names:
        if several and name.field.pointer in _REFERENCES:
            continue
        found = _value(name.field, message, begin, signed=signed, named=name)
        if found is not None and _may_have(name.field.pointer, found.value):
            fits.append((name, found, applies(name.field, message, draft)))
    one = _one_of(fits)
    if one is None:
        return None
    name, found, _ = one
    stop = max(found.end, end)
    if names_another(name.field, message, draft, start=start, end=stop):
        return None
    start -= len("--") if message.folded[:start].endswith("--") else 0
    if (revised := REVISION.match(message.folded, stop)) is not None:
        number = read_number(revised["number"].rstrip(" %"))
        if number is None or not admits(name.field.pointer, as_written(number)):
            return None
        found, stop = _Found(value=as_written(number), end=stop), revised.end()
    words = message.words(start, stop)
    message.cross_out(start, stop)
    return Change(pointer=name.field.pointer, value=found.value, words=words)


def _may_have(pointer: str, value: Any) -> bool:
    """Return whether a field accepts a value; warm-up steps are converted to a share later."""
    steps = pointer == _WARMUP and isinstance(value, int) and value > 1
    return steps or admits(pointer, value)


def _one_of(
    fits: list[tuple[Name, _Found, bool | None]],
) -> tuple[Name, _Found, bool | None] | None:
    """Return the match with the most certain name among applicable fields, if it is unique."""
    for when in (True, None, False):
        kept = [each for each in fits if each[2] is when]
        best = [each for each in kept if each[0].rank == min(one[0].rank for one in kept)]
        if len(best) > 1:  # a teacher is always mentioned explicitly
            best = [each for each in best if not each[0].field.pointer.startswith(_TEACHER)]
        if len(best) == 1:
            return best[0]
        if best:
            return None
    return None


def _value(
    field: Field, message: Message, begin: int, *, signed: bool, named: Name | None = None
) -> _Found | None:
    """Return the value of a field that starts at a place."""
    kinds = kinds_of(field)
    if "object" in kinds:
        return None
    dotted = named is not None and named.rank == DOTTED
    if field.pointer in _OWN_READERS and not dotted:
        return None
    if field.pointer in _REFERENCES and not dotted:
        return _reference(message, begin) if signed else None
    found = _choice(field, message.folded, begin)
    if found is None and "boolean" in kinds:
        switch = re.compile(rf"(?:{_SWITCH.pattern}){_END}").match(message.folded, begin)
        found = switch and _Found(value=switch["on"] is not None, end=switch.end())
    if found is None and kinds & {"integer", "number"}:
        found = _number(field, message.folded, begin)
    if found is None and "null" in kinds and not _coded(field):
        nothing = _NOTHING.match(message.folded, begin)
        found = nothing and _Found(value=None, end=nothing.end())
    free = "string" in kinds and not (kinds & {"integer", "number", "boolean", "array"})
    if found is None and free and not _closed(field):
        found = _text(
            message,
            begin,
            surely=dotted or signed,
            colon=field.pointer in _PREFIXES,
            pattern=field.pointer == _PATTERN,
        )
    return found


def _reference(message: Message, begin: int) -> _Found | None:
    """Return a Hub id or a path."""
    found = _text(message, begin, surely=True)
    fits = found is not None and _REFERENCE.fullmatch(str(found.value))
    return found if fits else None


def _coded(field: Field) -> bool:
    """Return whether a field is a free text, for which "none" may be a name."""
    return "string" in kinds_of(field) and not _closed(field)


def _closed(field: Field) -> bool:
    """Return whether all texts of a field belong to a fixed set."""
    texts = [each for each in branches(field.schema) if "string" in kinds_of_branch(each)]
    return all("enum" in each or "const" in each for each in texts)


def kinds_of_branch(branch: Mapping[str, Any]) -> frozenset[str]:
    """Return the types of one branch of a schema."""
    kind = branch.get("type", ())
    if "enum" in branch or "const" in branch:
        return frozenset({"string"})
    return frozenset({kind} if isinstance(kind, str) else kind)


def _number(field: Field, folded: str, begin: int) -> _Found | None:
    match = _NUMBER.match(folded, begin)
    if match is None or _GOES_ON.match(folded, match.end()):
        return None
    kilo = _KILO_TOKENS if field.pointer == _LENGTH else _KILO
    share = match["share"] is not None
    number = read_number(match[0].rstrip(" %").lstrip("+"), kilo=kilo)
    if number is None or (field.pointer == _COUNT and number > MOST_GPUS):
        return None  # "gpus: 4090"
    return _Found(value=as_written(round(number / 100, 8) if share else number), end=match.end())


def _choice(field: Field, folded: str, begin: int) -> _Found | None:
    """Return the longest value of a fixed set, or the list of several, at a place."""
    for listed, choices in _choices(field.pointer):
        matches = [
            (match.end(), value)
            for value, pattern in choices
            if (match := pattern.match(folded, begin)) is not None
        ]
        if not matches:
            continue
        end, value = max(matches, key=lambda pair: pair[0])
        if not listed:
            return _Found(value=value, end=end)
        values = [value]
        while join := _JOINS.match(folded, end):
            more = [
                (match.end(), each)
                for each, pattern in choices
                if (match := pattern.match(folded, join.end())) is not None and each not in values
            ]
            if not more:
                break
            end, value = max(more, key=lambda pair: pair[0])
            values.append(value)
        return _Found(value=values, end=end)
    return None


def _text(
    message: Message, begin: int, *, surely: bool, colon: bool = False, pattern: bool = False
) -> _Found | None:
    """Return a quoted text or one word; if uncertain, only a word of code."""
    quoted = _QUOTED.match(message.folded, begin)
    if quoted is not None:
        group = next(name for name in "abcde" if quoted[name] is not None)
        start, end = quoted.span(group)
        written = message.written[message.origin[start][0] : message.origin[end - 1][1]]
        return _Found(value=written, end=quoted.end())
    match = (_REGEX if pattern else _TEXT).match(message.folded, begin)
    if match is None:
        return None
    end = begin + len(match[0].rstrip(".!?" if colon else ".:!?"))
    written = message.words(begin, end)
    if not written or not (surely or _CODED.search(written)):
        return None
    return _Found(value=written, end=end)


@cache
def _choices(pointer: str) -> tuple[tuple[bool, tuple[tuple[Any, re.Pattern[str]], ...]], ...]:
    """Return the patterns of a field's fixed values; first those of the field, then of its list."""
    field = next(each for each in _all() if each.pointer == pointer)
    said = value_words().get(pointer, {})
    single: dict[Any, list[str]] = {}
    items: dict[Any, list[str]] = {}
    for branch in branches(field.schema):
        for kept, one in ((single, branch), *((items, each) for each in _item(branch))):
            for choice in one.get("enum", [one["const"]] if "const" in one else ()):
                if isinstance(choice, str):
                    plain = re.sub(
                        r"[_-]", lambda _: _SEPARATOR, re.escape(choice.lower()).replace("\\-", "-")
                    )
                    kept[choice] = [plain, *([said[choice]] if choice in said else [])]
    return tuple(
        (
            listed,
            tuple(
                (value, re.compile(rf"(?:{'|'.join(words)}){_END}"))
                for value, words in kept.items()
            ),
        )
        for listed, kept in ((False, single), (True, items))
        if kept
    )


def _item(branch: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "items" in branch:
        yield from branches(branch["items"])


@cache
def _all() -> tuple[Field, ...]:
    return tuple(
        {one.field.pointer: one.field for names in field_index().values() for one in names}.values()
    )


@cache
def _long_names() -> re.Pattern[str]:
    """Return the pattern of the names of several words, the longest first."""
    names = sorted(
        (name for name in field_index() if re.search(r"[ .]", name)), key=len, reverse=True
    )
    either = "|".join(re.escape(name).replace(r"\ ", "[ _-]") for name in names)
    return re.compile(rf"(?:{either})(?![\w-])")
