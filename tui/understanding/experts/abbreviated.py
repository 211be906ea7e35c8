"""Abbreviations that follow from the schema: "ref precomputed", "beta2 0.95", "8 gens".

A part of a message between commas sets a field if it is only a name and a value, or a value that
only one field has. The name may be the field's own name, its title or another tool's name for it,
and each word may be abbreviated. It counts if exactly one field matches it and accepts the value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from ftc.spec.schema import Field, branches, choices, fields, fields_by_pointer, find_field
from ftc.spec.values.admission import admits
from ftc.spec.values.expectation import types_of
from ftc.tui.understanding.applying import applies
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.text.ordinary import is_ordinary, read_words
from ftc.tui.understanding.wanted.licence import is_terse

_EDGE: Final = r"(?:^|(?<=[,;/|+\n\x00(]))\s*"
_END: Final = r"(?=\s*(?:$|[,;/|+\n\x00)]|\.(?:\s|$)))"
_NAME: Final = r"[a-z]+(?:[ _-][a-z]+){0,2}\d?"
_NUMBER: Final = r"(?:\d+(?:[.,]\d+)?|\.\d+)(?:e-?\d+)?k?(?:\s?%)?"
_WORD: Final = r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*"
_PAIRS: Final = (
    re.compile(rf"{_EDGE}(?P<name>{_NAME})(?:\s*[=:]\s*|\s+)(?P<value>{_NUMBER}){_END}"),
    re.compile(rf"{_EDGE}(?P<value>{_NUMBER})\s+(?P<name>{_NAME}){_END}"),
    re.compile(rf"{_EDGE}(?P<name>{_NAME})(?:\s*[=:]\s*|\s+)(?P<value>{_WORD}){_END}"),
    re.compile(rf"{_EDGE}(?P<value>{_WORD})\s+(?P<name>{_NAME}){_END}"),
)
_OPEN: Final = r"(?<![^\s,;|+\x00])"
_SHUT: Final = r"(?![^\s,;|+\x00])(?!\s+(?:per|by|each|every|por|cada|a cada|for each)\s)"
#: In a line of pure shorthand, spaces separate the pairs: "grpo 16 gens temp 1.0".
_TERSE: Final = (
    re.compile(rf"{_OPEN}(?P<name>[a-z]{{2,}}(?:_[a-z]+)*\d?)\s+(?P<value>{_NUMBER}){_SHUT}"),
    re.compile(rf"{_OPEN}(?P<value>{_NUMBER})\s+(?P<name>[a-z]{{2,}}){_SHUT}"),
    re.compile(rf"{_OPEN}(?P<name>[a-z]{{2,}}(?:_[a-z]+)*)\s+(?P<value>on|off|true|false){_SHUT}"),
)
_SIGNED: Final = re.compile(
    rf"(?<![\w./-])(?P<name>{_NAME.replace(' ', '')})\s?[=:]\s?(?P<value>[\w./@-]*\w)(?![\w/])"
)
#: A value that is not an ordinary word: it has a digit or an underscore.
_CODE: Final = re.compile(r"(?<![\w.-])[a-z]+(?:_[a-z]+)*_?\d*(?![\w.-])")
_TELLING: Final = re.compile(r"[\d_]")
_SEPARATORS: Final = re.compile(r"[ _-]+")
_FUNCTION: Final = frozenset({"between", "of", "per", "for", "the", "by", "on", "as", "a", "to"})
#: Units beside many fields: "2 hours" has no field's name.
_UNITS: Final = frozenset(
    {
        "hour",
        "hours",
        "minute",
        "minutes",
        "day",
        "days",
        "tok",
        "toks",
        "token",
        "tokens",
        "row",
        "rows",
        "file",
        "checks",
    }
)
#: The weight of a file or label, and not of a field: "a.jsonl weight 0.7".
_WEIGHTS: Final = frozenset({"weight", "weights", "peso", "pesos", "pes"})
#: Words that begin many names and distinguish none.
_HEADS: Final = frozenset({"num", "n", "max", "min", "most", "number", "lora", "use"})
_SHORTEST_NAME: Final = 3
_SHORTEST_INITIALS: Final = 2
#: The rank of another tool's name.
_ALIAS: Final = 2
#: A match by initials scores lower than a match by shortened words.
_INITIALS: Final = 9
#: A match by letters of several words scores lower still.
_SKETCH: Final = 20
_SWITCH: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("on", "true", "yes", "si", "activat", "activado", "enabled"), True),
    **dict.fromkeys(("off", "false", "no", "desactivat", "desactivado", "disabled"), False),
}
#: Numbers for booleans: "group_by_len=1".
_BITS: Final[Mapping[str, bool]] = {"0": False, "1": True}
_LAUNCH: Final = "/launch/"
_MEASURED: Final = "/training/evaluation/"
_ROUNDED: Final = "/method/quantization"
_SHORTEST_VALUE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """A field with one of its names; `rank` is lower for its own name than for another tool's."""

    field: Field
    parts: tuple[str, ...]
    rank: int


def read_abbreviated(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the fields of the parts that are a name and a value, or only a value."""
    terse = _TERSE if is_terse(message.written) else ()
    for pattern in (*_PAIRS, *terse, _SIGNED):
        place = 0
        while match := pattern.search(message.folded, place):
            place = match.end("name") if pattern is _SIGNED else match.end()
            found = None if message.denied(match.start()) else _resolve(message, match, draft)
            if found is None:
                continue
            start, end = match.span()
            start += len(match[0]) - len(match[0].lstrip())
            words = message.words(start, end)
            yield Change(pointer=found[0], value=found[1], words=words)
            yield from _named_with(found[0], match["name"], words)
            message.cross_out(start, end)
            place = end
    for match in _CODE.finditer(message.folded):
        alone = _alone(match[0], message, draft)
        if alone is not None and not message.denied(match.start(), match.end()):
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Change(pointer=alone[0], value=alone[1], words=words)


def _named_with(pointer: str, name: str, words: str) -> Iterator[Change]:
    """Yield the value of another field inside a name: "wandb project" names the tracker."""
    needs = next(each for each in fields() if each.pointer == pointer).schema.get("x-when", {})
    for other, values in needs.items():
        for value in {*_SEPARATORS.split(name)} & {*map(str, values)}:
            yield Change(pointer=other, value=value, words=words)


def _resolve(
    message: Message, match: re.Match[str], draft: Mapping[str, Any]
) -> tuple[str, Any] | None:
    """Return the one field that matches a name and a value, with its value."""
    written = message.words(*match.span("value"))
    signed = re.search(r"[=:]", match[0]) is not None or "_" in match["name"]
    named_so = list(_find(match["name"], signed=signed))
    if signed and match["value"][0].isalpha() and _is_shared(named_so):
        return None  # "type=foo"
    if match["value"] in read_words(("grammar",)) and match["value"] not in _SWITCH:
        return None  # "project: I want ..."
    fits = [
        (place, applies(named.field, message, draft), named.field.pointer, value)
        for named, place in named_so
        if (place[0] in (0, _INITIALS) or match["value"] not in _SWITCH)
        and (
            value := _value(
                named.field, match["value"], written, signed=signed, whole=place == (0, 0)
            )
        )
        is not None
        and admits(named.field.pointer, value)
    ]
    fits = [
        each
        for each in fits
        if each[1] is not False
        or (
            each[0][1] < _ALIAS
            and not (
                isinstance(each[3], str) and each[3] not in choices(find_field(each[2]).schema)
            )
            and not (each[3] is True and each[2].startswith(_LAUNCH))
        )
    ]  # "spot on" is praise if nothing is launched, and "doc=passage" is not a text of "rerank"
    is_partial = bool(fits) and min(each[0][0] for each in fits) not in (0, 1, _INITIALS)
    if is_partial and len({each[2] for each in fits}) > 1:
        return None  # "weight 0.5"
    for when in (True, None, False):
        kept = [each for each in fits if each[1] is when]
        best = [each for each in kept if each[0] == min(one[0] for one in kept)]
        if len({each[2] for each in best}) == 1:
            return best[0][2], best[0][3]
        if best:
            return None
    return None


def _is_shared(named: Sequence[tuple[_Named, tuple[int, int]]]) -> bool:
    """Return whether a name is the own name of several fields."""
    own = {each.field.pointer for each, place in named if place == (0, 0)}
    return len(own) > 1


@lru_cache(maxsize=512)
def _find(name: str, *, signed: bool = False) -> Sequence[tuple[_Named, tuple[int, int]]]:
    """Return the fields that a short name may abbreviate, each with a rank of the match.

    An ordinary word is a name only before a sign: "part=dgx".
    """
    return list(_find_each(name, signed=signed))


def _find_each(name: str, *, signed: bool) -> Iterator[tuple[_Named, tuple[int, int]]]:
    said = _SEPARATORS.split(name)
    if _UNITS.intersection(said) or name in _WEIGHTS:
        return
    ordinary = not signed and all(map(is_ordinary, said)) and not _is_whole(said)
    if len(name) < _SHORTEST_INITIALS or ordinary:
        return
    for named in _names():
        if tuple(said) == named.parts:
            yield named, (0, named.rank)
        elif name == "".join(part[0] for part in named.parts if part):
            yield named, (_INITIALS, named.rank)
        elif len(name) >= _SHORTEST_NAME and _is_short(said, named.parts, whole=named.rank > 1):
            yield named, (1 + len(named.parts) - len(said), named.rank)
        elif signed and len(said) > 1 and _is_sketch(said, named.parts):
            yield named, (_SKETCH + len(named.parts) - len(said), named.rank)


def _is_whole(said: Sequence[str]) -> bool:
    return any(tuple(said) == named.parts for named in _names())


def _is_short(said: Sequence[str], parts: Sequence[str], *, whole: bool) -> bool:
    """Return whether the words abbreviate words of the name, in order.

    With `whole`, no word of the name may be missing.
    """
    content = [part for part in parts if part not in _HEADS] or list(parts)
    if not _cuts(said[0], content[0]) and not _cuts(said[0], parts[0]):
        return False
    if whole and len(said) < len(content):
        return False
    rest = iter(parts)
    return all(any(_cuts(word, part) for part in rest) for word in said)


def _is_sketch(said: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether each word abbreviates another word of the name, in any order: "max_px"."""
    left = list(parts)
    for word in said:
        fits = [part for part in left if _sketches(word, part)]
        if not fits:
            return False
        left.remove(fits[0])
    return not [part for part in left if part not in _HEADS]


def _sketches(word: str, part: str) -> bool:
    """Return whether a word is the first letter of a part and later letters of it, in order."""
    letters = iter(part)
    return word[:1] == part[:1] and all(letter in letters for letter in word)


def _cuts(word: str, part: str) -> bool:
    bare = word.removesuffix("s") if len(word) > _SHORTEST_NAME else word
    return word == part or (
        len(bare) >= _SHORTEST_NAME and part.startswith(bare) and not bare[-1].isdigit()
    )


def _value(field: Field, text: str, written: str, *, signed: bool, whole: bool) -> Any:
    """Return the value of a text for a field, or None if it has another type.

    Without a sign, a text must follow the whole name and must not be an ordinary word: "split
    train_sft".
    """
    kinds = {kind for branch in branches(field.schema) for kind in types_of(branch)}
    if text[0].isdigit() or text[0] == ".":
        number = read_number(text.rstrip(" %"), kilo=1000)
        if signed and "boolean" in kinds and text in _BITS:
            return _BITS[text]
        if number is None or not kinds & {"integer", "number"}:
            return None
        return as_written(round(number / 100, 8) if text.endswith("%") else number)
    if "boolean" in kinds and text in _SWITCH:
        return _SWITCH[text]
    if choices := _choices(field):
        return _choice(choices, text)
    named = signed or (whole and _TELLING.search(text) is not None)
    is_text = named and "string" in kinds and not kinds & {"integer", "number", "boolean"}
    return written if is_text else None


def _choice(choices: Sequence[str], text: str) -> str | None:
    """Return the one value that a text names or abbreviates."""
    bare = _SEPARATORS.sub("", text)
    named = [each for each in choices if _SEPARATORS.sub("", each) == bare]
    if not named and len(bare) >= _SHORTEST_VALUE:
        named = [each for each in choices if _SEPARATORS.sub("", each).startswith(bare)]
    return named[0] if len(named) == 1 else None


def _alone(text: str, message: Message, draft: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the only field that has a value, if nothing contradicts that it applies."""
    found = [
        (field.pointer, choice)
        for field, choice in _values().get(_SEPARATORS.sub("", text), ())
        if applies(field, message, draft) is not False
    ]
    if not found:  # "nf4" alone is the type of the trained model
        found = [
            (field.pointer, choice)
            for field, choice in _values().get(_SEPARATORS.sub("", text), ())
            if field.pointer == _ROUNDED
        ]
    known = fields_by_pointer()
    if len(found) > 1:  # of several, the one that always or certainly applies
        always = [each for each in found if "x-when" not in known[each[0]].schema]
        sure = [each for each in found if applies(known[each[0]], message, draft)]
        found = always if len(always) == 1 else sure
    return found[0] if len(found) == 1 else None


@cache
def _names() -> tuple[_Named, ...]:
    named = []
    for field in fields():
        if "object" in {kind for branch in branches(field.schema) for kind in types_of(branch)}:
            continue  # a section
        own = field.name.rpartition(".")[2]
        said = (own, field.schema.get("title", ""), *field.schema.get("x-aliases", ()))
        for rank, name in enumerate(said):
            parts = tuple(
                part for part in _SEPARATORS.split(name.lower()) if part and part not in _FUNCTION
            )
            named.append(_Named(field=field, parts=parts, rank=min(rank, 2)))
    return tuple(named)


def _choices(field: Field) -> tuple[str, ...]:
    return tuple(choice for choice in choices(field.schema) if isinstance(choice, str))


@cache
def _values() -> Mapping[str, tuple[tuple[Field, str], ...]]:
    """Return the fields of each value that is not an ordinary word."""
    found: dict[str, list[tuple[Field, str]]] = {}
    for field in fields():
        for choice in _choices(field):
            deep = field.pointer.count("/") > 2 and not field.pointer.startswith(_MEASURED)  # noqa: PLR2004
            if re.search(r"[\d_]", choice) and not deep:
                found.setdefault(_SEPARATORS.sub("", choice), []).append((field, choice))
    return {text: tuple(fits) for text, fits in found.items()}
