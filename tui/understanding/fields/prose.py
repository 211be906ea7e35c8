"""Rarely set fields in prose: "print five sample answers at every evaluation".

For each field, `prose.json` has its value or the type of its value, and patterns made of word
classes in three languages: {rows}, {remove}, {rises}. A field is read if it may apply to the draft
or the message. A negated value is not set, but a negated switch is reversed.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from ftc.spec.schema import fields_by_pointer
from ftc.spec.values.admission import admits
from ftc.tui.understanding.applying import applies
from ftc.tui.understanding.fields.spoken import value_words
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import NUMBER
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.text.word_tables import word_table

_CLASS: Final = re.compile(r"\{(\w+[a-z]\w*)\}")
_KINDS: Final[Mapping[str, str]] = {
    "number": rf"(?P<value>{NUMBER})",
    "share": rf"(?P<value>{NUMBER})\s?(?:%|percent\b|per ?cent\b|por ciento\b)",
    "points": rf"(?P<value>{NUMBER})\s?(?:%|percentage |percent\b|per ?cent\b|por ciento\b)?"
    r"\s?(?:points?|punts?|puntos?|pp)?",
    "path": r"(?P<value>(?:/|~/|\./)[\w.-]+(?:/[\w.-]+)*)",
    "word": r"[\"'\u201c\u00ab`]?(?P<value>[a-z][\w-]*\w)[\"'\u201d\u00bb`]?(?![\w/]|\.\w)",
    "code": r"[\"'\u201c\u00ab`]?(?P<value>(?=[\w-]*[\d_-]|(?<=[\"'\u201c\u00ab`]))[a-z][\w-]*\w)"
    r"[\"'\u201d\u00bb`]?(?![\w/]|\.\w)",
    "hub": r"(?P<value>[a-z0-9][\w.-]*/[a-z0-9][\w.-]*\w)(?![\w/])",
    "script": r"(?P<value>[\w./-]+\.py)\b",
    "store": r"(?P<value>(?:s3|gs|gcs|r2|az)://[\w./-]*\w)",
    "licence": r"(?P<value>mit|apache[ -]?2(?:\.0)?|cc0(?:-1\.0)?|cc[ -]by(?:[ -](?:sa|nc|nd))*"
    r"(?:[ -]\d(?:\.\d)?)?"
    r"|[al]?gpl(?:[ -]?v?\d(?:\.\d)?)?|bsd[\w-]*|odc-by|odbl|openrail)(?![\w-]|\.\d)",
    "modules": r"(?P<value>(?:(?:q|k|v|o|qkv|gate|up|down)\s*[,+/]\s*)*"
    r"\w+_proj(?:\s*[,+/]\s*\w+_proj)*)",
    "benchmarks": r"(?P<value>{benchmark}"
    r"(?:(?:\s*[,+/]\s*(?:and |i |y )?|\s+(?:and|i|y)\s+)(?:the |el |la |l'|los )?{benchmark})*)",
}
_JOINED: Final = re.compile(
    r"(?:\s*[,+/]\s*(?:(?:and|i|y)\s+)?|\s+(?:and|i|y)\s+)(?:(?:the|el|la|los)\s+|l')?"
)
_PARTS, _TEXT = "/method/parts", "language_model"
_ALSO: Final = re.compile(r"\b(?:also|too|as well|tambe|tambien|besides|addition\w*)\b")
_SUFFIX: Final = "_proj"
_LICENCES: Final[Mapping[str, str]] = {"apache-2": "apache-2.0", "apache2": "apache-2.0"}


def read_prose(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the fields of `prose.json`."""
    known = fields_by_pointer()
    for pointer, kind, fixed, whole, wanted, pattern in _table():
        for match in list(pattern.finditer(message.folded)):
            if applies(known[pointer], message, draft) is False:
                break
            value = fixed if kind == "" else _read(kind, message, match)
            named = [name for name in ("taken", "value") if name in match.groupdict()]
            if message.denied(match.start("taken" if "taken" in named else 0)):
                if fixed is not True or wanted:
                    continue  # trust is off by default
                value = False
            if value is None or not admits(pointer, value):
                continue
            words = message.words(*match.span("taken" if "taken" in named else 0))
            message.cross_out(*match.span(0 if whole or not named else named[0]))
            yield Change(pointer=pointer, value=value, words=words)
            break


def _read(kind: str, message: Message, match: re.Match[str]) -> Any:
    """Return the value in a match, read as its kind; None if it is not of that kind."""
    written = message.words(*match.span("value")) if "value" in match.groupdict() else match[0]
    if kind == "modules":  # "q,k,v,o_proj"
        names = (each.removesuffix(_SUFFIX) for each in _JOINED.split(written))
        return [f"{each}{_SUFFIX}" for each in dict.fromkeys(names)]
    if kind == "benchmarks":
        return list(dict.fromkeys(_JOINED.split(written)))
    if kind == "forgetting":
        path = message.words(*match.span("file"))
        return [{"text" if path.endswith(".txt") else "prompts": path}]
    if kind == "parts":
        return _parts(match[0]) or None
    if kind == "licence":
        name = re.sub(r"\s+", "-", written.lower())
        return _LICENCES.get(name, name)
    if kind == "script":
        return written
    if kind == "reward":
        return [{"functions": written, "names": [message.words(*match.span("name"))]}]
    if kind not in ("number", "share", "points", "over", "ratio"):
        return written.rstrip(".")
    number = read_number(match["value"], kilo=1000)
    if number is None:
        return None
    if kind == "ratio":
        total = read_number(match["of"])
        return as_written(round(number / total, 6)) if total else None
    whole = {"share": number / 100, "points": number / 100 if number >= 1 else number}
    whole["over"] = 1 + number / 100
    return as_written(round(whole.get(kind, number), 8))


def _parts(said: str) -> list[str]:
    """Return the parts of a model in order; parts that are also trained are added to the text."""
    found = {
        match.start(): part
        for part, words in value_words()[_PARTS].items()
        if (match := re.search(rf"(?<!\w)(?:{words})(?!\w)", said)) is not None
    }
    named = [found[place] for place in sorted(found)]
    return [_TEXT, *named] if _ALSO.search(said) and _TEXT not in named else named


@cache
def _table() -> tuple[tuple[str, str, Any, bool, bool, re.Pattern[str]], ...]:
    """Return each field with the type of its value, its fixed value, and its pattern.

    Two flags precede the pattern: whether all its words belong to the field, and whether negated
    words set nothing.
    """
    lexicon = word_table("prose")
    classes = {name: rf"(?:{'|'.join(words)})" for name, words in lexicon["classes"].items()}
    classes |= {**_KINDS, "over": _KINDS["share"]}
    return tuple(
        (
            each["pointer"],
            each.get("kind", ""),
            each.get("value"),
            each.get("whole", False),
            each.get("wanted", False),
            re.compile(rf"(?<![\w-]){_filled(pattern, classes)}"),
        )
        for each in lexicon["fields"]
        for pattern in each["patterns"]
    )


def _filled(pattern: str, classes: Mapping[str, str]) -> str:
    """Return a pattern with its word classes expanded, which may be nested."""
    while (filled := _CLASS.sub(lambda match: classes[match[1]], pattern)) != pattern:
        pattern = filled
    return pattern
