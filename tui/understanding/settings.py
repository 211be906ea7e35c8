"""Fields by name: "training.epochs = 3", "label smoothing 0.1", "partition gpu-long", "liger off".

The names are the schema's own, those of other tools (`x-aliases`) and, in three languages, those
of `names.json`. What may follow a name is what the field's schema admits.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ftc.spec.admission import admits
from ftc.spec.expectation import types_of
from ftc.spec.schema import Field, branches, fields
from ftc.tui.understanding.lexicon import NUMBER, WORDS, any_of
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.numbers import as_written, read_number
from ftc.tui.understanding.quantities import REVISION
from ftc.tui.understanding.reading import Change

_SPOKEN: Final[Mapping[str, Any]] = json.loads(
    (files("ftc.tui.understanding") / "names.json").read_text(encoding="utf-8")
)
_LINK: Final = r"(?:\s*(?:=|:|->)\s*|\s+(?:to |of |at |is |a |de |en )?)"
_VALUE: Final = r"(?P<value>[\w.+-]+%?)(?![\w/])"
_SAID: Final = (
    r"(?:\s*(?:=|:|->)\s*|\s+(?:(?:to|of|at|is|a|al|del?|en|es|called|named|que es diu|anomenad[ao]"
    r"|llamad[ao]|que se llama)\s+)*)"
)
_QUOTES: Final = "\"'\u201c\u201d\u00ab\u00bb`"
_NAMED: Final = rf"[{_QUOTES}]?(?P<value>[a-z0-9][\w.:/@-]*[\w]|[a-z0-9])[{_QUOTES}]?"
_ENDS: Final = r"(?=\s*(?:$|[.,;!\n]|\b(?:and|i|y|with|amb|con)\b))"
_ON: Final = frozenset({"true", "on", "yes", "si", "activat", "activado"})
_OFF: Final = frozenset({"false", "off", "no", "none", "desactivat", "desactivado"})
_ACTIVATED: Final = re.compile(rf"\b{any_of(WORDS['activate'])}\s+$")
_ON_AFTER: Final = re.compile(r"^\s+(?:on|enabled|activat|activad[ao])\b")
_LAUNCH: Final = "/launch/"
#: A name that says by itself what it is: with a sign, a digit or a separator.
_TELLING: Final = re.compile(r"[\d_:/.@-]")


def read_settings(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the fields that are named, with a value that the schema accepts.

    The schema's name of one word needs a sign: "wd=0.1". A text without a sign is taken only for
    a field that applies, by its `x-when`, to the draft or to the message.
    """
    for match in _pattern().finditer(message.folded):
        name = match["name"] or match["short"]
        field = _names()[re.sub(r"[ -]", "_", name)]
        start, end = match.span("value")
        value = _read(field.schema, match["value"].rstrip("."), message.words(start, end))
        if (revised := REVISION.match(message.folded, end)) is not None:
            other = _read(field.schema, revised["number"], revised["number"])
            if other is not None and admits(field.pointer, other):
                words = message.words(match.start(), revised.end())
                message.cross_out(match.start(), revised.end())
                yield Change(pointer=field.pointer, value=other, words=words)
                continue
        if value is None or not admits(field.pointer, value) or message.denied(match.start()):
            continue
        words = message.words(*match.span())
        message.cross_out(*match.span())
        yield Change(pointer=field.pointer, value=value, words=words)
    for spoken in _spoken():
        yield from _read_spoken(spoken, message, draft)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spoken:
    """A field of `names.json` and the patterns of its name, and of its name with a value."""

    field: Field
    kinds: frozenset[str]
    name: re.Pattern[str]
    valued: tuple[re.Pattern[str], ...]


def spoken_names() -> Mapping[str, str]:
    """Return the pattern of each field's name in three languages."""
    return {pointer: any_of(words) for pointer, words in _SPOKEN.items()}


@cache
def _spoken() -> tuple[_Spoken, ...]:
    known = {field.pointer: field for field in fields()}
    return tuple(_make_spoken(known[pointer], any_of(words)) for pointer, words in _SPOKEN.items())


def _make_spoken(field: Field, name: str) -> _Spoken:
    kinds = frozenset(kind for branch in branches(field.schema) for kind in types_of(branch))
    number = rf"(?P<value>{NUMBER}\s*%?)"
    valued: tuple[str, ...]
    if kinds & {"number", "integer"}:
        valued = (rf"\b{name}{_SAID}{number}", rf"(?<![\w.]){number}\s*{name}(?!\w)")
    else:
        valued = (rf"\b{name}{_SAID}{_NAMED}{_ENDS}",)
    return _Spoken(
        field=field,
        kinds=kinds,
        name=re.compile(rf"(?<![\w-]){name}(?![\w-])"),
        valued=tuple(map(re.compile, valued)),
    )


def _read_spoken(spoken: _Spoken, message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    pointer = spoken.field.pointer
    for pattern in spoken.valued:
        for match in pattern.finditer(message.folded):
            value = _told(spoken, match, message, draft)
            if value is None or not admits(pointer, value) or message.denied(*match.span()):
                continue
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Change(pointer=pointer, value=value, words=words)
    if "boolean" not in spoken.kinds:
        return
    for match in spoken.name.finditer(message.folded):
        before, after = message.folded[: match.start()], message.folded[match.end() :]
        denied = message.denied(*match.span())
        if denied or _ACTIVATED.search(before) or _ON_AFTER.match(after):
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Change(pointer=pointer, value=not denied, words=words)


def _told(spoken: _Spoken, match: re.Match[str], message: Message, draft: Mapping[str, Any]) -> Any:
    """Return the value that follows a name, or None if it may be ordinary speech."""
    written = message.words(*match.span("value")).strip(_QUOTES)
    value = _read(spoken.field.schema, match["value"].strip(), written)
    if spoken.field.pointer.startswith(_LAUNCH) and "string" not in spoken.kinds:
        return value if _applies(spoken.field, message, draft) else None
    if value is not None or "string" not in spoken.kinds or "enum" in spoken.field.schema:
        return value
    signed = re.search(rf"[=:{_QUOTES}]", match[0][: match.end("value") - match.start()])
    sure = signed or _TELLING.search(written) or _applies(spoken.field, message, draft)
    return written if sure else None


def _applies(field: Field, message: Message, draft: Mapping[str, Any]) -> bool:
    """Return whether the draft or the message has a value that the field depends on."""
    for pointer, values in field.schema.get("x-when", {}).items():
        section, key = pointer[1:].split("/")
        said = any(re.search(rf"\b{value}\b", message.folded) for value in values)
        inner = draft.get(section)
        if not said and not (isinstance(inner, Mapping) and inner.get(key) in values):
            return False
    return "x-when" in field.schema


@cache
def _names() -> Mapping[str, Field]:
    """Return each field by its dotted name, and by every other name that only one field has."""
    named: dict[str, set[str]] = {}
    known = {field.pointer: field for field in fields()}
    for pointer, field in known.items():
        own = field.name.rpartition(".")[2]
        for name in (own, *field.schema.get("x-aliases", ())):
            named.setdefault(name, set()).add(pointer)
    alone = {name: known[min(found)] for name, found in named.items() if len(found) == 1}
    dotted = {field.name: field for field in known.values() if "." in field.name}
    return {**alone, **dotted}


@cache
def _pattern() -> re.Pattern[str]:
    names = sorted(_names(), key=len, reverse=True)
    long = [name for name in names if "_" in name or "." in name]
    either = "|".join(re.escape(name).replace("_", "[ _-]") for name in long)
    short = "|".join(re.escape(name) for name in names if name not in long)
    return re.compile(
        rf"(?<![\w.])(?:(?P<name>{either}){_LINK}|(?P<short>{short})\s?[=:]\s?){_VALUE}"
    )


def _read(schema: Mapping[str, Any], folded: str, written: str) -> Any:
    """Return the value that a word means for a field, or None."""
    for branch in branches(schema):
        choices = branch.get("enum", [branch["const"]] if "const" in branch else None)
        if choices is not None:
            for choice in choices:
                if str(choice).lower() == re.sub(r"[ -]", "_", folded):
                    return choice
            continue
        kinds = types_of(branch)
        if "boolean" in kinds and folded in _ON | _OFF:
            return folded in _ON
        if "number" in kinds or "integer" in kinds:
            percent = folded.endswith("%")
            number = read_number(folded.rstrip("%"))
            if number is not None:
                return as_written(round(number / 100, 8) if percent else number)
        if "string" in kinds and ("/" in written or "pattern" in branch):
            continue
    return None
