"""JSON with positions: reads every valid text as `json.loads` does, and goes on after mistakes."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from json import decoder
from typing import Any, cast

from ftc.spec.document import Lines, Place
from ftc.spec.file_pages import (
    BROKEN_JSON,
    COMMENT,
    DUPLICATE_KEY,
    FOREIGN_WORD,
    LONG_NUMBER,
    MISSING_COMMA,
    NOT_FINITE,
    QUOTES,
    SURROGATE,
    TRAILING_COMMA,
)
from ftc.spec.problems import LONGEST_NUMBER, Problems, Reading, StopReading
from ftc.spec.quote import shown

# the standard library's own reader of strings, which its stubs leave out
scanstring = cast(Callable[[str, int], tuple[str, int]], vars(decoder)["scanstring"])

_SPACE = re.compile(r"[ \t\n\r]*")
_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"(?:(?!//|/\*)[^\s,:\[\]{}\"'#])+")
_SINGLE = re.compile(r"'((?:[^'\\\n]|\\.)*)'")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS = {"true": True, "false": False, "null": None}
_MEANT = {"none": "null", "undefined": "null", "nil": "null", "yes": "true", "no": "false"}


def read_json(text: str) -> Reading:
    """Read one JSON text; the first mistake that hides what follows ends the reading."""
    reader = _Reader(text, Problems(Lines.of(text)))
    data, stopped = None, False
    try:
        data = reader.document()
    except StopReading:
        stopped = True
    findings = tuple(reader.problems.found)
    return Reading(data=data, positions=reader.places, findings=findings, stopped=stopped)


@dataclass(slots=True)
class _Reader:
    """A position in the text; every method leaves it behind what it has read."""

    text: str
    problems: Problems
    at: int = 0
    places: dict[str, Place] = field(default_factory=dict)

    def document(self) -> Any:
        self.skip()
        value = self.value("", 0, None)
        self.skip()
        if self.at < len(self.text):
            raise self.broken("there is more text after the end of the spec", "remove it")
        return value

    def skip(self) -> None:
        """Pass white space and comments."""
        while True:
            self.at = self.end(_SPACE)
            start, self.at = self.at, self.end(_COMMENT)
            if self.at == start:
                return
            self.problems.add(
                COMMENT, start, "JSON has no comments", "remove it, or write the spec as YAML"
            )

    def end(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self.text, self.at)
        return match.end() if match else self.at

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def value(self, pointer: str, depth: int, key: int | None) -> Any:
        """Read the value that starts here; `depth` counts the containers around it."""
        where = self.problems.position
        self.places[pointer] = Place(value=where(self.at), key=None if key is None else where(key))
        letter = self.peek()
        container = bool(letter) and letter in "{["
        self.problems.check_size(len(self.places), depth + container, self.at)
        if container:
            return self.object(pointer, depth) if letter == "{" else self.list(pointer, depth)
        if letter and letter in "\"'":
            return self.string(pointer)
        match = _NUMBER.match(self.text, self.at)
        if match and not _WORD.match(self.text, match.end()):
            self.at = match.end()
            return self.number(match, pointer)
        return self.word(pointer)

    def object(self, pointer: str, depth: int) -> dict[str, Any]:
        start, members = self.at, dict[str, Any]()
        self.at += 1
        while self.more("}", start, first=not members):
            key_at = self.at
            key = self.key(pointer)
            inner = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            if key in members:
                self.problems.add(
                    DUPLICATE_KEY,
                    key_at,
                    f"the key `{shown(key)}` is here twice",
                    "keep one of them",
                    pointer=inner,
                )
            self.skip()
            if self.peek() != ":":
                raise self.broken(
                    f"there is no `:` after the key `{shown(key)}`", "write `:` and the value"
                )
            self.at += 1
            self.skip()
            members[key] = self.value(inner, depth + 1, key_at)
        return members

    def list(self, pointer: str, depth: int) -> list[Any]:
        start, items = self.at, list[Any]()
        self.at += 1
        while self.more("]", start, first=not items):
            items.append(self.value(f"{pointer}/{len(items)}", depth + 1, None))
        return items

    def more(self, close: str, start: int, *, first: bool) -> bool:
        """Pass what separates members; false behind the closing bracket."""
        before = self.at
        self.skip()
        comma = self.at
        if not first and self.peek() == ",":
            self.at += 1
            self.skip()
            if self.peek() == close:
                self.problems.add(
                    TRAILING_COMMA, comma, f"there is a comma before `{close}`", "remove the comma"
                )
        elif not first and self.peek() not in {close, ""}:
            self.missing_comma(before)
        if self.peek() == close:
            self.at += 1
            return False
        if not self.peek():
            raise self.problems.stop(
                BROKEN_JSON,
                start,
                f"`{self.text[start]}` is never closed",
                f"write `{close}` where it ends",
            )
        return True

    def missing_comma(self, before: int) -> None:
        """Go on as if a comma stood there, where another member begins; stop elsewhere."""
        if self.peek() in set("]}:"):
            raise self.broken(
                f"`{self.peek()}` does not belong here", "check the brackets before it"
            )
        self.problems.add(
            MISSING_COMMA, before, "there is no comma between two members", "write `,` here"
        )

    def key(self, pointer: str) -> str:
        if self.peek() in set("\"'"):
            return self.string(pointer)
        start, self.at = self.at, self.end(_WORD)
        word = self.text[start : self.at]
        if not word:
            raise self.broken(
                f"there is `{self.peek()}` where a key should be", 'write `"key": value`'
            )
        self.problems.add(
            FOREIGN_WORD,
            start,
            f"the key `{shown(word)}` has no quotes",
            f'write `"{shown(word)}"`',
        )
        return word

    def string(self, pointer: str) -> str:
        start = self.at
        if self.peek() == "'":
            return self.single_quoted(pointer)
        try:
            value, self.at = scanstring(self.text, start + 1)
        except json.JSONDecodeError as error:
            raise self.broken_string(error, start) from None
        if _SURROGATE.search(value):
            self.problems.add(
                SURROGATE,
                start,
                "the string holds half a character (a lone surrogate)",
                "write the character itself, or both halves",
                pointer=pointer,
            )
            return _SURROGATE.sub("\ufffd", value)
        return value

    def single_quoted(self, pointer: str) -> str:
        start, match = self.at, _SINGLE.match(self.text, self.at)
        if not match:
            raise self.broken("a string that starts with `'` never ends", 'write `"` around it')
        self.at = match.end()
        self.problems.add(
            QUOTES,
            start,
            "the string is in single quotes",
            'use double quotes: `"`',
            pointer=pointer,
        )
        return _SURROGATE.sub("\ufffd", match[1])

    def broken_string(self, error: json.JSONDecodeError, start: int) -> StopReading:
        if error.msg.startswith("Unterminated"):
            return self.problems.stop(
                BROKEN_JSON, start, "the string never ends", 'write `"` where it ends'
            )
        if error.msg.startswith("Invalid control character"):
            broken = self.text[error.pos : error.pos + 1] in "\r\n"
            what = "the line ends inside a string" if broken else "a control character in a string"
            return self.problems.stop(
                BROKEN_JSON,
                error.pos,
                what,
                'write `"` where the string ends, or `\\n` for a line break'
                if broken
                else "write it as an escape, such as `\\t`",
            )
        return self.problems.stop(
            BROKEN_JSON,
            error.pos,
            "a backslash that escapes nothing",
            "write `\\\\` for a backslash, or `/` between the folders of a path",
        )

    def number(self, match: re.Match[str], pointer: str) -> int | float | None:
        written = match[0]
        if len(written) > LONGEST_NUMBER:
            self.problems.add(
                LONG_NUMBER,
                match.start(),
                f"a number of {len(written):,} characters",
                "no field needs so many: write a shorter one",
                pointer=pointer,
            )
            return None
        if match[1] is None and match[2] is None:
            return int(written)
        value = float(written)
        if not math.isfinite(value):
            self.not_finite(match.start(), written, pointer)
            return None
        return value

    def not_finite(self, start: int, written: str, pointer: str) -> None:
        self.problems.add(
            NOT_FINITE,
            start,
            f"`{shown(written)}` is not a number that can be used",
            "write a finite number, or leave the field out",
            pointer=pointer,
        )

    def word(self, pointer: str) -> Any:
        """Read true, false or null; note any other word and read it as what it may have meant."""
        start, self.at = self.at, self.end(_WORD)
        written = self.text[start : self.at]
        if written in _WORDS:
            return _WORDS[written]
        if not written:
            found = f"`{self.peek()}` is" if self.peek() else "the text ends"
            raise self.broken(f"{found} where a value should be", "write a value")
        if written.lstrip("+-").lower() in {"nan", "inf", "infinity"}:
            self.not_finite(start, written, pointer)
            return None
        meant = _MEANT.get(written.lower(), written.lower())
        known = meant in _WORDS
        advice = f"write `{meant}`" if known else "put text in double quotes"
        self.problems.add(
            FOREIGN_WORD, start, f"`{shown(written)}` is not JSON", advice, pointer=pointer
        )
        return _WORDS[meant] if known else written

    def broken(self, message: str, help: str) -> StopReading:  # noqa: A002 - the finding's field
        return self.problems.stop(BROKEN_JSON, self.at, message, help)
