"""Files and columns: the data set, which column holds what, a system message, a name."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final

from ftc.tui.understanding.lexicon import WORDS, any_of
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.reading import Change, Choice, value_at

_QUOTES: Final = r"[\"'\u201c\u201d\u00ab\u00bb`]"
_QUOTED_FILE: Final = re.compile(
    rf"{_QUOTES}(?P<path>[^\"\u201c\u201d\u00ab\u00bb`]+?\.(?:csv|jsonl|json|parquet)){_QUOTES}"
)
_FILE: Final = re.compile(
    r"(?P<path>(?:[a-z]:)?[^\s\"'`,;:!?()\x00]+\.(?:csv|jsonl|json|parquet|xlsx?|ods|tsv|txt|docx?|pdf|arrow))(?![\w/\\])"
)
_APART: Final = re.compile(
    r"\b(?:valid\w*|test(?:ing)?|eval\w*|avalua\w*|held[ -]?out|prova|proves|prueba|pruebas)\b"
)
_APART_NAME: Final = re.compile(r"(?i)(?:val|valid|validation|test|eval|dev)\b")
_REPLACING: Final = re.compile(
    r"\b(?:replace|swap|change|instead|canvia|cambia|substitueix|sustituye|en vez|en lugar"
    r"|en comptes)\b"
)
_ADDING: Final = re.compile(r"\b(?:add|also|too|as well|afegeix|tambe|anade|tambien)\b")
_SYSTEM: Final = re.compile(
    r"(?:system|sistema)(?: (?:prompt|message))?|missatge de sistema|mensaje (?:de|del) sistema"
)
_QUOTED: Final = re.compile(
    r"\s*(?:=|:|is|of|to|a|es|de|sera|saying|que (?:digui|diga|diu|dice))?\s*"
    rf"(?P<quote>{_QUOTES})"
)
_AFTER_COLON: Final = re.compile(
    r"(?: (?:should say|must say|ha de dir|debe decir|tiene que decir))?\s*:\s*(?P<text>\S[^\n]*)"
)
_TRACKER: Final = re.compile(
    r"\b(?:wandb|w&b|weights (?:and|&) biases|ml ?flow|trackio|tensor ?board)\b"
)
_PROJECT: Final = re.compile(
    rf"\b(?:project(?:e|o)?)(?: (?:called|named|anomenat|llamado))?:? "
    rf"{_QUOTES}?(?P<name>[a-z0-9][\w-]*){_QUOTES}?(?=\s*(?:$|[.,;!]))"
)
#: The end of a quotation; an apostrophe inside a word does not end it.
_CLOSING: Final = {"\u201c": "\u201d", "\u00ab": "\u00bb", "'": r"'(?!\w)"}
_NAME: Final = re.compile(
    rf"\b{any_of(WORDS['called'])}\s*:?\s*"
    rf"{_QUOTES}?(?P<name>[a-z0-9][a-z0-9 _-]*[a-z0-9]|[a-z0-9]){_QUOTES}?(?=\s*(?:$|[.,;!]))"
)
_NO_LABEL: Final = re.compile(
    r"(?:after|as|like|what|whatever|something|com|como|algo|(?:\S+ ){3})"
)
_COLUMN_WORD: Final = r"(?:columna?|field|camp|campo)"
_NO_NAME: Final = r"(?!(?:columna?|fields?|camp|campo|it|that|them|is|are|it'?s)\b)"
_IDENTIFIER: Final = rf"{_QUOTES}?{_NO_NAME}(?P<column>[a-z_]\w*(?:[.-]\w+)*){_QUOTES}?"
_THE: Final = r"(?:the |la |el |les |las |los )?"
_IS: Final = r"(?: (?:are|is|live|lives|sit|sits|es|son|esta|estan|viuen|viven))?"
_HOLDS: Final = r"(?:is|holds|has|contains|as|es|son|te|tiene|conte|contiene|com a|como)"
_CALLED: Final = (
    r"(?:\s*[=:]|(?: (?:que es diu|que se llama|es diu|se llama|called|named|is|es)){1,2})?"
)
_FORMS: Final = (
    _THE
    + r"(?:{words})"
    + _IS
    + r"(?: (?:in|from|a|en))? ?"
    + _THE
    + _COLUMN_WORD
    + " "
    + _IDENTIFIER,
    _COLUMN_WORD + " " + _IDENTIFIER + " " + _HOLDS + " " + _THE + r"(?:{words})\b",
    r"(?:{words}) " + _COLUMN_WORD + _CALLED + " " + _IDENTIFIER,
    _THE + r"(?:{words})" + _IS + r" (?:in|from|a|en) " + _THE + _IDENTIFIER + " " + _COLUMN_WORD,
    r"(?:{words})\s*(?:=|->|<-)\s*" + _IDENTIFIER,
    r"(?:use|using|take|with|and|fes servir|usa|agafa|amb|con|i|y) "
    + _THE
    + _IDENTIFIER
    + r" (?:as|com a?|como) "
    + _THE
    + r"(?:{words})\b",
    _THE
    + r"(?:{words})"
    + _IS
    + r" (?:in|from|a|en) "
    + _THE
    + rf"{_QUOTES}(?P<column>[a-z_]\w*(?:[.-]\w+)*){_QUOTES}",
    _COLUMN_WORD + r" (?:de |of |for |d')" + _THE + r"(?:{words})" + _CALLED + " " + _IDENTIFIER,
)
_COLUMNS: Final = tuple(
    (role, re.compile(r"\b" + form.replace("{words}", any_of(words))))
    for role, words in WORDS["columns"].items()
    for form in _FORMS
)
_LONGEST_NAME: Final = 63


def read_files(message: Message, draft: Mapping[str, Any]) -> Iterator[Change | Choice]:
    """Yield the data file that the message names, or the files of a mixture in their order.

    A file for validation or test alone is asked about: a spec divides one source into splits.
    """
    named: dict[int, str] = {}
    apart = []
    for pattern in (_QUOTED_FILE, _FILE):
        for match in message.take(pattern):
            path = message.words(*match.span("path"))
            if message.denied(match.start()):
                continue
            named[match.start("path")] = path
            if _APART.search(message.clause(*match.span())) or _APART_NAME.match(
                PurePath(path).name
            ):
                apart.append(path)
    paths = list(dict.fromkeys(named[place] for place in sorted(named)))
    now = value_at(draft, "/data/source")
    if now in paths and len(paths) > 1 and _REPLACING.search(message.folded):
        paths.remove(now)
    if apart:
        yield Choice(pointer="/data/source", values=(), words=", ".join(paths))
    elif (
        len(paths) == 1
        and isinstance(now, str)
        and now not in paths
        and _ADDING.search(message.folded)
    ):
        yield Change(pointer="/data/sources", value=[now, *paths], words=paths[0])
    elif len(paths) > 1:
        yield Change(pointer="/data/sources", value=paths, words=", ".join(paths))
    elif paths:
        yield Change(pointer="/data/source", value=paths[0], words=paths[0])


def read_texts(message: Message) -> Iterator[Change | Choice]:
    """Yield the system message and the run's name, if quoted or at the end of the sentence."""
    for match in list(_SYSTEM.finditer(message.folded)):
        opening = _QUOTED.match(message.folded, match.end())
        if opening is None:
            yield from _read_unquoted(message, match)
            continue
        closing = _CLOSING.get(opening["quote"], opening["quote"])
        end = re.compile(closing).search(message.folded, opening.end())
        stop = end.start() if end else len(message.folded)
        text = message.words(opening.end(), stop)
        message.cross_out(match.start(), end.end() if end else stop)
        if text:
            yield Change(pointer="/data/system", value=text, words=text)
    tracked = _TRACKER.search(message.folded)
    for match in message.take(_PROJECT) if tracked else ():
        name, words = message.words(*match.span("name")), message.words(*match.span())
        yield Change(pointer="/tracking/project", value=name, words=words)
    for match in message.take(_NAME):
        if _NO_LABEL.match(match["name"]):
            yield Choice(pointer="/name", values=(), words=message.words(*match.span()))
            continue
        name = re.sub(r"[^a-z0-9]+", "-", match["name"])[:_LONGEST_NAME].strip("-")
        yield Change(pointer="/name", value=name, words=message.words(*match.span()))


def _read_unquoted(message: Message, match: re.Match[str]) -> Iterator[Change]:
    """Yield the system message after a colon: the rest of its line."""
    found = _AFTER_COLON.match(message.folded, match.end())
    if found is not None:
        text = message.words(*found.span("text"))
        message.cross_out(match.start(), found.end())
        yield Change(pointer="/data/system", value=text, words=text)


def read_columns(message: Message) -> Iterator[Change]:
    """Yield the column of each role, with its name as written."""
    for role, pattern in _COLUMNS:
        for match in message.take(pattern):
            column = message.words(*match.span("column"))
            words = message.words(*match.span())
            yield Change(pointer=f"/data/columns/{role}", value=column, words=words)
