"""Reads experts' abbreviations: "z3, dq", "k8s ns ml-train img ghcr.io/acme/trainer:2.1".

They are read only in a line without articles, because "spot" and "run" are ordinary words in a
sentence. A text after the name of a field is read if the field's `x-when` holds for the draft or
the message.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from ftc.spec.schema import fields_by_pointer
from ftc.spec.values.admission import admits
from ftc.tui.understanding.applying import applies
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.text.word_tables import word_table
from ftc.tui.understanding.wanted.licence import is_terse

_OPEN: Final = r"(?<![\w.=@-])"
_SHUT: Final = r"(?![\w=@-]|\.\w)"
#: Words that may follow a field's name without being its value.
_NO_VALUE: Final = frozenset(
    {
        "a",
        "al",
        "and",
        "at",
        "de",
        "en",
        "es",
        "for",
        "from",
        "in",
        "is",
        "it",
        "name",
        "nom",
        "nombre",
        "off",
        "on",
        "son",
        "the",
    }
)
_SUBSET: Final = "/data/subset"
_HUB: Final = re.compile(r"(?<![\w./-])[a-z][\w.-]*/[a-z][\w.-]*")
_FILE: Final = re.compile(r"/|\.(?:ya?ml|json\w?|toml|py|csv|cfg)$")
_DIGIT: Final = re.compile(r"\d")
_PART_END: Final = re.compile(r"\s*(?:$|[,;|/\n)])")
#: Abbreviations with another meaning in lower case: "rm" is a command.
_CAPITALS: Final[Mapping[str, tuple[str, str]]] = {
    "RM": ("/objective/type", "reward"),
    "KD": ("/objective/type", "distill"),
    "CLM": ("/objective/type", "cpt"),
}
_CAPITAL: Final = re.compile(rf"(?<![\w-])(?:{'|'.join(_CAPITALS)})(?![\w-])")
_QUOTED: Final = re.compile(
    r"(?<![\w.])sys(?:tem)?(?:[ _-]?(?:prompt|msg|message))?\s?[=:]?\s?"
    r"(?P<text>\"[^\"\n]+\"|'[^'\n]+'|\u201c[^\u201d\n]+\u201d|\u00ab[^\u00bb\n]+\u00bb)"
)


def read_jargon(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the abbreviated values of a terse line, and the texts after short names."""
    for match in message.take(_QUOTED):
        text = message.words(*match.span("text"))[1:-1]
        yield Change(pointer="/data/system", value=text, words=message.words(*match.span()))
    yield from _read_capitals(message)
    if not is_terse(message.written):
        return
    yield from _read_texts(message, draft)
    yield from _read_values(message, draft)
    yield from _read_numbers(message, draft)


def _read_capitals(message: Message) -> Iterator[Change]:
    """Yield the objectives in capital letters."""
    for match in list(re.finditer(rf"(?i:{_CAPITAL.pattern})", message.folded)):
        words = message.words(*match.span())
        if _CAPITAL.fullmatch(words) and not message.denied(match.start(), match.end()):
            pointer, value = _CAPITALS[words]
            message.cross_out(*match.span())
            yield Change(pointer=pointer, value=value, words=words)


def _read_texts(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    known = fields_by_pointer()
    for pointer, pattern in _texts():
        field = known[pointer]
        needs = "x-when" in field.schema
        for match in list(pattern.finditer(message.folded)):
            value = message.words(*match.span("value")).rstrip(".:")
            applied = applies(field, message, draft)
            if (
                (not applied if needs else not _is_whole(message, pointer, match))
                or (match["value"] in _NO_VALUE and pointer != _SUBSET)
                or message.denied(match.start())
                or not admits(pointer, value)
            ):
                continue
            words = message.words(*match.span()).rstrip(".:")
            message.cross_out(*match.span())
            yield Change(pointer=pointer, value=value, words=words)
            break


def _is_whole(message: Message, pointer: str, match: re.Match[str]) -> bool:
    """Return whether a text ends its part of the message; a subset of a Hub data set need not."""
    ends = _PART_END.match(message.folded, match.end()) is not None
    if pointer != _SUBSET:
        return ends
    hub = _HUB.search(message.plain) is not None
    return (
        hub
        and _FILE.search(match["value"]) is None
        and (ends or _DIGIT.search(match[0]) is not None)
    )


def _read_values(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    known = fields_by_pointer()
    for pointer, value, pattern, beside in _values():
        if not beside.search(message.plain):
            continue
        for match in list(pattern.finditer(message.folded)):
            alone = match[0] == message.folded.strip()
            if alone or applies(known[pointer], message, draft) is False:
                continue  # "compile" alone asks for the bundle
            denied = message.denied(match.start(), match.end())
            if denied and value is not True:
                continue
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Change(pointer=pointer, value=False if denied else value, words=words)


def _read_numbers(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    known = fields_by_pointer()
    for pointer, pattern in _numbers():
        for match in list(pattern.finditer(message.folded)):
            number = read_number(match["before"] or match["after"], kilo=1000)
            if number is None or not admits(pointer, as_written(number)):
                continue
            if applies(known[pointer], message, draft) is False or message.denied(match.start()):
                continue
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Change(pointer=pointer, value=as_written(number), words=words)


@cache
def _texts() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (
            pointer,
            re.compile(
                rf"{_OPEN}(?:{'|'.join(names)})(?:\s?[=:]\s?"
                r"|\s+(?:(?:in|at|from|en|a|al|de|des de|desde)\s+)?|(?<=\s))"
                r"(?P<value>[a-z0-9/~.][\w./:@-]*\w)(?![\w/])"
            ),
        )
        for pointer, names in word_table("jargon")["texts"].items()
    )


@cache
def _values() -> tuple[tuple[str, Any, re.Pattern[str], re.Pattern[str]], ...]:
    """Return each pointer and value, its pattern, and a second pattern to match."""
    return tuple(
        (
            each["pointer"],
            each["value"],
            re.compile(rf"{_OPEN}(?:{'|'.join(each['short'])}){_SHUT}"),
            re.compile(each.get("beside", "")),
        )
        for each in word_table("jargon")["values"]
    )


@cache
def _numbers() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (
            pointer,
            re.compile(
                rf"{_OPEN}(?:(?P<before>\d+k?)\s?(?:{'|'.join(names)})"
                rf"|(?:{'|'.join(names)})\s?[=:]?\s?(?P<after>\d+k?)"
                rf"(?: ?(?:to?ks?|s(?:ec\w*)?|g(?:bit|bps|b/s)?))?){_SHUT}"
            ),
        )
        for pointer, names in word_table("jargon")["numbers"].items()
    )
