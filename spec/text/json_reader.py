"""JSON with positions: reads valid text as `json.loads` does, and continues after mistakes."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from json import decoder
from typing import Any, cast

from ftc.spec.findings.file_explanations import (
    BROKEN_JSON,
    COMMENT,
    FOREIGN_WORD,
    LONG_NUMBER,
    MISSING_COMMA,
    NOT_FINITE,
    QUOTES,
    SURROGATE,
    TRAILING_COMMA,
)
from ftc.spec.findings.quote import shown
from ftc.spec.text.document import Lines, Place
from ftc.spec.text.problems import LONGEST_NUMBER, Problems, Reading, StopReading
from ftc.spec.values.quantity import is_grouped, read_quantity, with_point

# the standard library's string reader, which is missing from its type stubs
scanstring = cast(Callable[[str, int], tuple[str, int]], vars(decoder)["scanstring"])

_SPACE = re.compile(r"[ \t\n\r]*")
_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"(?:(?!//|/\*)[^\s,:\[\]{}\"'\u201c-\u201f#])+")
_SINGLE = re.compile(r"'((?:[^'\\\n]|\\.)*)'")
# the quotes of word processors, which one of them or a plain one ends
_CURLY = re.compile(r"[\u201c-\u201f]([^\"\u201c-\u201f\n]*)[\"\u201c-\u201f]")
_DOUBLE = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# a string that is open at the end of its line: its text, then what closes the values around it
_OPEN = re.compile(
    r'"([^"\\\r\n]{1,2000}?)(?=[ \t]*[\]}]*[ \t]*,?[ \t]*(?:(?<=[ \t,])(?://|\#)[^\r\n]*)?[\r\n])'
)
# a drive, a share, a folder, or names with an extension and nothing that a pattern has
_PATH = re.compile(r"[A-Za-z]:\\|\\\\|\.{1,2}\\|[^^$*+?()\[\]{}|<>:/]+\.\w+\Z")
# what may follow a number of an object and is neither a comma and a key nor its end
_DECIMALS = re.compile(r"(?:,\d+)+(?=\s*(?:[,}]|\Z))")
_UNIT = re.compile(r"[ \t]*(?:%|[^\W\d_]+)(?=\s*(?:[,}\]]|\Z))")
_YAML = re.compile(r"(?:\s|#[^\n]*\n)*(?:---\s|[\w$.-]+[ \t]*:(?:\s|\Z))")
# numbers of JSON5: hexadecimal, with a plus, or without digits on one side of the point
_HEX = re.compile(r"[-+]?0[xX][0-9a-fA-F]+")
_LOOSE = re.compile(r"[-+]?(?:\.\d+|(?:0|[1-9]\d*)(?:\.\d*)?)(?:[eE][-+]?\d+)?")
# what ends a value
_ENDS = re.compile(r"\s*(?:[,}\]]|//|/\*|#|\Z)")
_ESCAPE = re.compile(r"\\(.)|\"")
_QUOTES = "\"'\u201c\u201d\u201e\u201f"
_SURROGATE = re.compile("[\ud800-\udfff]")
_OPEN_STRING = f"{BROKEN_JSON.code}.message.line"
_WORDS = {"true": True, "false": False, "null": None}
_INFINITE = {"nan", "inf", "infinity"}
_MEANT = {"none": "null", "undefined": "null", "nil": "null", "yes": "true", "no": "false"}


def read_json(text: str) -> Reading:
    """Read one JSON text; stops at a mistake after which the rest cannot be understood.

    A string that is open at the end of its line ends there, if that leaves nothing else open.
    """
    reading = _read(text)
    if not reading.stopped or reading.findings[-1].problem.key != _OPEN_STRING:
        return reading
    closed = _read(text, closes=True)
    return closed if closed.certain else reading


def _read(text: str, *, closes: bool = False) -> Reading:
    reader = _Reader(text, Problems(Lines.of(text)), closes=closes)
    data, stopped = None, False
    try:
        data = reader.document()
    except StopReading:
        stopped = True
    return Reading(
        data=data,
        positions=reader.places,
        findings=tuple(reader.problems.found),
        stopped=stopped,
        certain=reader.problems.certain and not stopped,
    )


@dataclass(slots=True)
class _Reader:
    """A position in the text; every method moves it to the end of what it read.

    `closes` is set to end an open string at the end of its line.
    """

    text: str
    problems: Problems
    closes: bool = False
    at: int = 0
    places: dict[str, Place] = field(default_factory=dict)

    def document(self) -> Any:
        if _YAML.match(self.text):
            raise self.broken("yaml")
        self.skip()
        word = self.text[self.at : self.end(_WORD)]
        if word and not word.startswith(tuple("-0123456789")) and not self.is_word(word):
            raise self.broken("neither")
        value = self.value("", 0, None)
        self.skip()
        if self.at < len(self.text):
            raise self.broken("after")
        return value

    def skip(self) -> None:
        """Skip white space and comments."""
        while True:
            self.at = self.end(_SPACE)
            start, self.at = self.at, self.end(_COMMENT)
            if self.at == start:
                return
            self.problems.add(COMMENT, start, certain=True)

    def end(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self.text, self.at)
        return match.end() if match else self.at

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def value(self, pointer: str, depth: int, key: int | None) -> Any:
        """Read the value at the position; `depth` is the number of containers around it."""
        where = self.problems.position
        self.places[pointer] = Place(value=where(self.at), key=None if key is None else where(key))
        letter = self.peek()
        container = bool(letter) and letter in "{["
        self.problems.check_size(len(self.places), depth + container, self.at)
        if container:
            return self.object(pointer, depth) if letter == "{" else self.list(pointer, depth)
        if letter and letter in _QUOTES:
            return self.string(pointer)
        match = None if _HEX.match(self.text, self.at) else _NUMBER.match(self.text, self.at)
        if match and depth and (foreign := self.foreign_number(match, pointer, key)) is not None:
            return foreign
        if match and not _WORD.match(self.text, match.end()):
            self.at = match.end()
            return self.number(match, pointer)
        return self.word(pointer)

    def foreign_number(
        self, match: re.Match[str], pointer: str, key: int | None
    ) -> int | float | None:
        """Report a number with a decimal comma or a unit, and return what it means."""
        start = match.start()
        decimals = _DECIMALS.match(self.text, match.end()) if key is not None else None
        rest = decimals or _UNIT.match(self.text, match.end())
        if rest is None:
            return None
        written = self.text[start : rest.end()]
        if (meant := read_quantity(written)) is None:
            return None
        self.at = rest.end()
        kind = "unit" if not decimals else "grouped" if is_grouped(written) else "comma"
        self.problems.add(
            FOREIGN_WORD,
            start,
            help=kind,
            pointer=pointer,
            word=shown(written),
            meant=json.dumps(meant) if kind == "unit" else shown(with_point(written)),
            decimal=shown(written.replace(",", ".")),
        )
        return meant

    def object(self, pointer: str, depth: int) -> dict[str, Any]:
        start, members = self.at, dict[str, Any]()
        self.at += 1
        while self.more("}", start, first=not members):
            key_at = self.at
            key = self.key(pointer)
            inner = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            self.skip()
            if self.peek() != ":":
                raise self.broken("colon", key=shown(key))
            self.at += 1
            self.skip()
            value = self.value(inner, depth + 1, key_at)
            if key in members:
                same = json.dumps(members[key]) == json.dumps(value)  # 1 is not true
                self.problems.add_twice(key_at, inner, shown(key), same=same)
            members[key] = value
        return members

    def list(self, pointer: str, depth: int) -> list[Any]:
        start, items = self.at, list[Any]()
        self.at += 1
        while self.more("]", start, first=not items):
            items.append(self.value(f"{pointer}/{len(items)}", depth + 1, None))
        return items

    def more(self, close: str, start: int, *, first: bool) -> bool:
        """Skip the separator of members; returns false after the closing bracket."""
        before = self.at
        self.skip()
        comma = self.at
        if not first and self.peek() in {",", ";"}:
            if self.peek() == ";":
                self.problems.add(MISSING_COMMA, comma, certain=True)
            self.at += 1
            self.skip()
            while self.peek() == ",":  # in a list a value may be missing between two
                self.problems.add(TRAILING_COMMA, comma, close=",", certain=close == "}")
                self.at += 1
                self.skip()
            if self.peek() == close:
                self.problems.add(TRAILING_COMMA, comma, close=close, certain=True)
        elif not first and self.peek() not in {close, ""}:
            self.missing_comma(before)
        if self.peek() == close:
            self.at += 1
            return False
        if not self.peek():
            raise self.problems.stop(
                BROKEN_JSON,
                start,
                message="bracket",
                help="bracket",
                bracket=self.text[start],
                close=close,
            )
        return True

    def missing_comma(self, before: int) -> None:
        """Continue as if there were a comma if another member starts here; otherwise stop."""
        if self.peek() in set("]}:"):
            raise self.broken("stray", letter=self.peek())
        self.problems.add(MISSING_COMMA, before, certain=True)

    def key(self, pointer: str) -> str:
        if self.peek() in set(_QUOTES):
            return self.string(pointer)
        start, self.at = self.at, self.end(_WORD)
        word = self.text[start : self.at]
        if not word:
            raise self.broken("key", letter=self.peek())
        self.problems.add(
            FOREIGN_WORD, start, message="key", help="key", word=shown(word), certain=True
        )
        return word

    def string(self, pointer: str) -> str:
        start = self.at
        if self.peek() == "'":
            return self.single_quoted(pointer)
        if self.peek() != '"':
            return self.curly_quoted(pointer)
        try:
            value, self.at = scanstring(self.text, start + 1)
        except json.JSONDecodeError as error:
            if "escape" in error.msg and (match := _DOUBLE.match(self.text, start)):
                self.at = match.end()
                return self.backslashes(match[1], error.pos, pointer)
            if self.closes and (match := _OPEN.match(self.text, start)):
                self.at = match.end()
                self.problems.add(BROKEN_JSON, error.pos, message="line", help="line", certain=True)
                return match[1]
            raise self.broken_string(error, start) from None
        if _SURROGATE.search(value):
            self.problems.add(SURROGATE, start, pointer=pointer)
            return _SURROGATE.sub("\ufffd", value)
        return value

    def backslashes(self, written: str, at: int, pointer: str) -> str:
        """Report a string with backslashes that are not escapes, and return its meaning."""
        plain = written.replace("\\\\", "\\")
        is_path = _PATH.match(plain) is not None
        better = plain.replace("\\", "/" if is_path else "\\\\")
        self.problems.add(
            BROKEN_JSON,
            at,
            message="escape",
            help="path" if is_path else "escape",
            pointer=pointer,
            better=shown(better),
        )
        return _SURROGATE.sub("\ufffd", better if is_path else plain)

    def single_quoted(self, pointer: str) -> str:
        start, match = self.at, _SINGLE.match(self.text, self.at)
        if not match:
            raise self.broken("single")
        self.at = match.end()
        text = _unescape(match[1])
        self.problems.add(QUOTES, start, pointer=pointer, certain=text is not None)
        return _SURROGATE.sub("\ufffd", match[1] if text is None else text)

    def curly_quoted(self, pointer: str) -> str:
        start, match = self.at, _CURLY.match(self.text, self.at)
        if not match:
            raise self.broken("single")
        self.at = match.end()
        certain = "\\" not in match[1]
        self.problems.add(QUOTES, start, message="curly", pointer=pointer, certain=certain)
        return _SURROGATE.sub("\ufffd", match[1])

    def broken_string(self, error: json.JSONDecodeError, start: int) -> StopReading:
        if error.msg.startswith("Unterminated"):
            return self.problems.stop(BROKEN_JSON, start, message="string", help="string")
        if error.msg.startswith("Invalid control character"):
            broken = self.text[error.pos : error.pos + 1] in "\r\n"
            kind = "line" if broken else "control"
            return self.problems.stop(BROKEN_JSON, error.pos, message=kind, help=kind)
        return self.problems.stop(BROKEN_JSON, error.pos, message="escape", help="backslash")

    def number(self, match: re.Match[str], pointer: str) -> int | float | None:
        written = match[0]
        if len(written) > LONGEST_NUMBER:
            self.problems.add(LONG_NUMBER, match.start(), pointer=pointer, count=len(written))
            return None
        if match[1] is None and match[2] is None:
            return int(written)
        value = float(written)
        if not math.isfinite(value):
            self.not_finite(match.start(), written, pointer)
            return None
        return value

    def not_finite(self, start: int, written: str, pointer: str) -> None:
        self.problems.add(NOT_FINITE, start, pointer=pointer, number=shown(written))

    def word(self, pointer: str) -> Any:
        """Read true, false or null; report any other word and read it as the likely meaning."""
        start, self.at = self.at, self.end(_WORD)
        written = self.text[start : self.at]
        if written in _WORDS:
            return _WORDS[written]
        if not written:
            letter = self.peek()
            raise self.broken("value" if letter else "end", letter=letter)
        if written.lstrip("+-").lower() in _INFINITE:
            self.not_finite(start, written, pointer)
            return None
        if (number := _read_number(written)) is not None:
            self.foreign_word(start, written, json.dumps(number), pointer)
            return number
        meant = _MEANT.get(written.lower(), written.lower())
        if self.is_word(written):
            self.foreign_word(start, written, meant, pointer)
            return _WORDS[meant]
        certain = _ENDS.match(self.text, self.at) is not None
        self.problems.add(
            FOREIGN_WORD, start, help="text", pointer=pointer, word=shown(written), certain=certain
        )
        return written

    def foreign_word(self, start: int, written: str, meant: str, pointer: str) -> None:
        """Report a word or a number of JSON that is written otherwise."""
        self.problems.add(
            FOREIGN_WORD, start, pointer=pointer, word=shown(written), meant=meant, certain=True
        )

    @staticmethod
    def is_word(written: str) -> bool:
        """Return whether JSON, or a language like it, has this word for a value."""
        word = written.lower()
        return _MEANT.get(word, word) in _WORDS or word in _INFINITE

    def broken(self, kind: str, **values: str) -> StopReading:
        return self.problems.stop(BROKEN_JSON, self.at, message=kind, help=kind, **values)


def _read_number(written: str) -> int | float | None:
    """Return the number that JSON5 writes otherwise than JSON, or None."""
    if len(written) > LONGEST_NUMBER:
        return None
    if _HEX.fullmatch(written):
        return int(written, 16)
    if not _LOOSE.fullmatch(written):
        return None
    number = float(written)
    is_whole = written.lstrip("+-").isdecimal()
    return int(written) if is_whole else number if math.isfinite(number) else None


def _unescape(written: str) -> str | None:
    """Return the text between single quotes, or None if it has an escape that JSON lacks."""
    again = _ESCAPE.sub(lambda match: "'" if match[1] == "'" else _keep(match), written)
    try:
        value = json.loads(f'"{again}"', strict=False)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _keep(match: re.Match[str]) -> str:
    """Return an escape as it is, and a double quote as one."""
    return '\\"' if match[0] == '"' else match[0]
