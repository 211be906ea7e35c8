"""YAML with positions: the part of YAML 1.2 that says what JSON can say."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from ftc.spec.document import Lines, Place
from ftc.spec.file_pages import (
    ALIAS,
    BROKEN_YAML,
    COMPLEX_KEY,
    DUPLICATE_KEY,
    EMPTY,
    LONG_NUMBER,
    NOT_FINITE,
    SEVERAL_DOCUMENTS,
    SURROGATE,
    TAG,
)
from ftc.spec.problems import LONGEST_NUMBER, Problems, Reading, StopReading
from ftc.spec.quote import shown

# The core schema of YAML 1.2, section 10.3.2: `no` is text and `2e-4` a number.
_NULL = re.compile(r"null|Null|NULL|~|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_yaml(text: str) -> Reading:
    """Read one YAML document; the first mistake that hides what follows ends the reading."""
    reader = _Reader(Problems(Lines.of(text)))
    data, stopped = None, False
    try:
        data = reader.document(text)
    except StopReading:
        stopped = True
    findings = tuple(reader.problems.found)
    return Reading(data=data, positions=reader.places, findings=findings, stopped=stopped)


@dataclass(slots=True)
class _Reader:
    """Builds values from PyYAML's events, which come one by one: depth is bounded here."""

    problems: Problems
    places: dict[str, Place] = field(default_factory=dict)

    def document(self, text: str) -> Any:
        events = self.events(text)
        next(events)
        first = next(events)
        if isinstance(first, yaml.StreamEndEvent):
            raise self.problems.stop(
                EMPTY, 0, "the spec is empty", "`ftc new` writes a starter spec"
            )
        value = self.value(next(events), events, "", 0, None)
        next(events)
        after = next(events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise self.problems.stop(
                SEVERAL_DOCUMENTS,
                after.start_mark.index,
                "a second document starts here",
                "keep one document per file",
            )
        return value

    def events(self, text: str) -> Iterator[Any]:
        """Yield PyYAML's events; what it cannot read becomes a finding."""
        loader = None
        try:
            loader = yaml.SafeLoader(text)
            while loader.check_event():
                yield loader.get_event()  # type: ignore[no-untyped-call]
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            raise self.broken(mark.index if mark else 0, error.problem or "") from None
        except yaml.reader.ReaderError as error:
            raise self.broken(error.position, "a character that YAML does not allow") from None
        except ValueError:
            # an escape beyond Unicode, or a version of thousands of digits
            raise self.broken(loader.index if loader else 0, "a number out of range") from None

    def broken(self, offset: int, problem: str) -> StopReading:
        if "'\\t'" in problem:
            return self.problems.stop(
                BROKEN_YAML, offset, "a tab indents this line", "indent with spaces"
            )
        message = shown(problem.removeprefix("could not find ").strip()) or "the text stops early"
        if problem.startswith("could not find "):
            message = f"there is no {message}"
        return self.problems.stop(
            BROKEN_YAML,
            offset,
            f"this is not YAML: {message}",
            "check the indentation, and put text with `:` or `#` in quotes",
        )

    def value(
        self, event: Any, events: Iterator[Any], pointer: str, depth: int, key: int | None
    ) -> Any:
        """Build the value that this event starts; `depth` counts the containers around it."""
        start = event.start_mark.index
        where = self.problems.position
        self.places[pointer] = Place(value=where(start), key=None if key is None else where(key))
        container = not isinstance(event, yaml.AliasEvent | yaml.ScalarEvent)
        self.problems.check_size(len(self.places), depth + container, start)
        self.refuse(event, start, pointer)
        if isinstance(event, yaml.AliasEvent):
            return None
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, pointer)
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(events, pointer, depth)
        items = list[Any]()
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(self.value(event, events, f"{pointer}/{len(items)}", depth + 1, None))
        return items

    def mapping(self, events: Iterator[Any], pointer: str, depth: int) -> dict[str, Any]:
        members = dict[str, Any]()
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            start = event.start_mark.index
            if not isinstance(event, yaml.ScalarEvent):
                raise self.problems.stop(
                    COMPLEX_KEY, start, "a key is a list or a mapping", "write a word as the key"
                )
            key = self.clean(event.value, start, pointer)
            inner = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            self.refuse(event, start, inner)
            if key in members:
                self.problems.add(
                    DUPLICATE_KEY,
                    start,
                    f"the key `{shown(key)}` is here twice",
                    "keep one of them",
                    pointer=inner,
                )
            members[key] = self.value(next(events), events, inner, depth + 1, start)
        return members

    def refuse(self, event: Any, start: int, pointer: str) -> None:
        """Note anchors, aliases and tags: the value is read as if they were not there."""
        if event.anchor is not None:
            self.problems.add(
                ALIAS,
                start,
                f"`*{shown(event.anchor)}` is an alias"
                if isinstance(event, yaml.AliasEvent)
                else f"`&{shown(event.anchor)}` is an anchor",
                "write the value where it is used",
                pointer=pointer,
            )
        if getattr(event, "tag", None) is not None:
            self.problems.add(
                TAG,
                start,
                f"the value has the tag `{shown(event.tag)}`",
                "remove the tag: the schema knows the type",
                pointer=pointer,
            )

    def scalar(self, event: Any, pointer: str) -> Any:
        """Return what the core schema makes of a plain scalar; any other scalar is text."""
        written, start = event.value, event.start_mark.index
        if event.style is not None or not event.implicit[0]:
            return self.clean(written, start, pointer)
        if _NULL.fullmatch(written):
            return None
        if _TRUE.fullmatch(written) or _FALSE.fullmatch(written):
            return bool(_TRUE.fullmatch(written))
        if _NOT_FINITE.fullmatch(written):
            self.not_finite(start, written, pointer)
            return None
        if _BASED.fullmatch(written) or _FLOAT.fullmatch(written):
            return self.number(written, start, pointer)
        return self.clean(written, start, pointer)

    def number(self, written: str, start: int, pointer: str) -> int | float | None:
        if len(written) > LONGEST_NUMBER:
            self.problems.add(
                LONG_NUMBER,
                start,
                f"a number of {len(written):,} characters",
                "no field needs so many: write a shorter one",
                pointer=pointer,
            )
            return None
        if _BASED.fullmatch(written):
            return int(written, 0)
        if _INTEGER.fullmatch(written):
            return int(written)
        value = float(written)
        if not math.isfinite(value):
            self.not_finite(start, written, pointer)
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

    def clean(self, written: str, start: int, pointer: str) -> str:
        if _SURROGATE.search(written):
            self.problems.add(
                SURROGATE,
                start,
                "the text holds half a character (a lone surrogate)",
                "write the character itself",
                pointer=pointer,
            )
        return _SURROGATE.sub("\ufffd", written)
