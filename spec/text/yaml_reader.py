"""YAML with positions: the part of YAML 1.2 that corresponds to JSON."""

import copy
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import yaml

from ftc.spec.findings.file_explanations import (
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
from ftc.spec.findings.finding import Finding, Safety
from ftc.spec.findings.quote import shown
from ftc.spec.message import Message
from ftc.spec.pointer import split
from ftc.spec.text.document import Lines, Place
from ftc.spec.text.problems import LONGEST_NUMBER, Problems, Reading, StopReading
from ftc.spec.text.yaml_repairs import repair

# The core schema of YAML 1.2, section 10.3.2: `no` is text and `2e-4` a number.
_NULL = re.compile(r"null|Null|NULL|~|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_REPAIRS = 20
_LONGEST_REPAIRED = 20_000  # characters: a spec is a page of text
_MERGE = "<<"  # of YAML 1.1
_CORE = "tag:yaml.org,2002:"
#: The tags of each kind of plain scalar.
_TYPES = {"null": ("null",), "boolean": ("bool",), "number": ("int", "float")}
_TWO_VALUES = f"{DUPLICATE_KEY.code}.help"
# as PyYAML says it
_MISSING = "could not find expected "
_IN_QUOTES = "while scanning a quoted scalar"
_NO_COMMA = "expected ',' or '}', but got '<scalar>'"
_NO_KEY = "mapping values are not allowed"
_IN_KEY = "while scanning a simple key"
# a key without the space after its colon
_TIGHT = re.compile(r"([\w.-]{1,60}):(?=[^\s:])")


def read_yaml(text: str) -> Reading:
    """Read one YAML document; stops at a mistake after which the rest cannot be understood.

    Mistakes that can be repaired are not the end: the first has a fix for all of them.
    """
    return _read_repaired(text)[0]


def repair_yaml(text: str) -> str:
    """Return the text without the mistakes that can be repaired."""
    return _read_repaired(text)[1]


def _read_repaired(text: str) -> tuple[Reading, str]:
    """Return the reading of the repaired text, with the mistakes of the written one, and that text.

    If a mistake remains that stops the reading, nothing counts as repaired.
    """
    first = reading = _read(text)
    repaired, safeties = text, list[Safety]()
    told = list[Finding]()
    if len(text) > _LONGEST_REPAIRED:
        return first, text
    while reading.stopped and len(safeties) < _MOST_REPAIRS:
        better = repair(repaired, reading.findings[-1])
        if better is None or better[0] == repaired:
            return first, text
        told += (each for each in reading.findings if each not in told)
        repaired, safety = better
        safeties.append(safety)
        reading = _read(repaired)
    if reading.stopped or not isinstance(reading.data, dict):
        return first, text
    found = [*told, *(each for each in reading.findings if each not in told)]
    if found and reading.certain:  # all that is wrong is repaired
        if any(each.remedy.key == _TWO_VALUES for each in found):
            safeties.append("unsafe")
        fix = ({"op": "replace", "path": "", "value": reading.data},)
        found = _first_of_kinds(found)
        found[0] = replace(found[0], fix=fix, fix_safety=max(safeties, default="safe"))
    return replace(reading, findings=tuple(found)), repaired


def _first_of_kinds(findings: list[Finding]) -> list[Finding]:
    """Return the findings without all but the first anchor or alias, and the first tag."""
    codes = [each.code for each in findings]
    said_once = {ALIAS.code, TAG.code}
    return [
        each
        for place, each in enumerate(findings)
        if each.code not in said_once or each.code not in codes[:place]
    ]


def _read(text: str) -> Reading:
    reader = _Reader(Problems(Lines.of(text)))
    data, stopped = None, False
    try:
        data = reader.document(text)
    except StopReading:
        stopped = True
    findings = tuple(reader.problems.found)
    return Reading(
        data=data,
        positions=reader.places,
        findings=findings,
        stopped=stopped,
        certain=reader.problems.certain and not stopped,
    )


def kind_of(written: str) -> Literal["null", "boolean", "not finite", "number", "text"]:
    """Return what a plain scalar is under the core schema."""
    if _NULL.fullmatch(written):
        return "null"
    if _TRUE.fullmatch(written) or _FALSE.fullmatch(written):
        return "boolean"
    if _NOT_FINITE.fullmatch(written):
        return "not finite"
    if _BASED.fullmatch(written) or _FLOAT.fullmatch(written):
        return "number"
    return "text"


def as_number(written: str) -> int | float:
    """Return the number that a plain scalar of this kind writes; a large one may be infinite."""
    if _BASED.fullmatch(written):
        return int(written, 0)
    return int(written) if _INTEGER.fullmatch(written) else float(written)


def _says_type(event: Any) -> bool:
    """Return whether a tag names the type of JSON that the value has: `!!int 3`."""
    name = str(event.tag).removeprefix(_CORE)
    if isinstance(event, yaml.ScalarEvent):
        return name == "str" or name in _TYPES.get(kind_of(event.value), ())
    return name == ("map" if isinstance(event, yaml.MappingStartEvent) else "seq")


def _count(value: Any) -> int:
    """Return the number of values in a value, itself included."""
    inside = value.values() if isinstance(value, dict) else value
    return 1 + (sum(map(_count, inside)) if isinstance(value, dict | list) else 0)


def _begin_of_line_above(text: str, offset: int) -> int | None:
    """Return where the text of the line above the one of an offset begins."""
    end = text.rfind("\n", 0, offset)
    start = text.rfind("\n", 0, max(end, 0)) + 1
    return start + len(text[start:end]) - len(text[start:end].lstrip()) if end > 0 else None


@dataclass(slots=True)
class _Reader:
    """Builds values from PyYAML's events one by one, so that the depth is bounded.

    `anchored` has the values of anchors, `holders` the top-level key that each is in, and `copied`
    the number of values that aliases stand for.
    """

    problems: Problems
    places: dict[str, Place] = field(default_factory=dict)
    anchored: dict[str, Any] = field(default_factory=dict)
    holders: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    copied: int = 0

    def document(self, text: str) -> Any:
        events = self.events(text)
        next(events)
        first = next(events)
        if isinstance(first, yaml.StreamEndEvent):
            raise self.problems.stop(EMPTY, 0, message="yaml")
        value = self.value(next(events), events, "", 0, None)
        next(events)
        while not isinstance(after := next(events), yaml.StreamEndEvent):
            content = next(events)
            is_empty = (
                isinstance(content, yaml.ScalarEvent) and content.start_mark == content.end_mark
            )
            if not is_empty:  # `---` at the end begins a document without anything in it
                raise self.problems.stop(SEVERAL_DOCUMENTS, after.start_mark.index)
            next(events)
        return self.without_holders(value)

    def without_holders(self, value: Any) -> Any:
        """Remove the top-level keys that are no fields and only hold values for aliases."""
        from ftc.spec.schema import read_schema  # noqa: PLC0415 - for a spec with anchors only

        unused = {self.holders[name] for name in self.holders.keys() - self.used}
        if not isinstance(value, dict) or not self.used:
            return value
        only = set(self.holders.values()) - unused - read_schema()["properties"].keys()
        return {key: inner for key, inner in value.items() if key not in only}

    def events(self, text: str) -> Iterator[Any]:
        """Yield PyYAML's events; a text that it cannot read becomes a finding."""
        loader = None
        try:
            loader = yaml.SafeLoader(text)
            while loader.check_event():
                yield loader.get_event()  # type: ignore[no-untyped-call]
        except yaml.MarkedYAMLError as error:
            raise self.broken(text, error) from None
        except yaml.reader.ReaderError as error:
            raise self.stop(error.position, Message("yaml.character")) from None
        except ValueError:
            # an escape beyond Unicode, or a version of thousands of digits
            raise self.stop(loader.index if loader else 0, Message("yaml.range")) from None

    def broken(self, text: str, error: yaml.MarkedYAMLError) -> StopReading:
        """Report what PyYAML stopped at; an open quote and a stray word are where they begin."""
        mark, problem = error.problem_mark or error.context_mark, error.problem or ""
        offset, begins = mark.index if mark else 0, error.context_mark
        if "'\\t'" in problem:
            return self.problems.stop(BROKEN_YAML, offset, message="tab", help="tab")
        if begins and error.context == _IN_QUOTES and offset >= len(text.rstrip()):
            quote = text[begins.index : begins.index + 1]
            return self.problems.stop(
                BROKEN_YAML, begins.index, message="quote", help="quote", quote=quote
            )
        start = begins.index if begins and error.context == _IN_KEY else None
        if problem.startswith(_NO_KEY):  # the line above and this one are read as one text
            start = _begin_of_line_above(text, offset)
        if start is not None and (key := _TIGHT.match(text, start)):
            return self.problems.stop(
                BROKEN_YAML, start, message="space", help="space", key=shown(key[1])
            )
        if problem == _NO_COMMA:
            return self.problems.stop(BROKEN_YAML, offset, message="comma", help="comma")
        what = shown(problem.removeprefix(_MISSING).strip())
        if not what:
            return self.stop(offset, Message("yaml.end"))
        if problem.startswith(_MISSING):
            return self.stop(offset, Message("yaml.missing", {"what": what}))
        return self.stop(offset, what)

    def stop(self, offset: int, reason: Message | str) -> StopReading:
        return self.problems.stop(BROKEN_YAML, offset, reason=reason)

    def value(
        self, event: Any, events: Iterator[Any], pointer: str, depth: int, key: int | None
    ) -> Any:
        """Build the value that this event starts; `depth` is the number of enclosing containers."""
        start = event.start_mark.index
        where = self.problems.position
        self.places[pointer] = Place(value=where(start), key=None if key is None else where(key))
        container = not isinstance(event, yaml.AliasEvent | yaml.ScalarEvent)
        self.problems.check_size(len(self.places), depth + container, start)
        self.refuse(event, start, pointer)
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event, depth)
        if isinstance(event, yaml.ScalarEvent):
            value = self.scalar(event, pointer)
        elif isinstance(event, yaml.MappingStartEvent):
            value = self.mapping(events, pointer, depth)
        else:
            value = self.list(events, pointer, depth)
        if event.anchor is not None:
            self.anchored[event.anchor] = value
            self.holders[event.anchor] = (split(pointer) or ("",))[0]
        return value

    def alias(self, event: Any, depth: int) -> Any:
        """Return a copy of what an alias stands for; None for one without an anchor."""
        value = self.anchored.get(event.anchor)
        self.copied += _count(value)
        self.problems.check_size(len(self.places) + self.copied, depth, event.start_mark.index)
        self.used.add(event.anchor)
        return copy.deepcopy(value)

    def list(self, events: Iterator[Any], pointer: str, depth: int) -> list[Any]:
        items = list[Any]()
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(self.value(event, events, f"{pointer}/{len(items)}", depth + 1, None))
        return items

    def mapping(self, events: Iterator[Any], pointer: str, depth: int) -> dict[str, Any]:
        members, merged = dict[str, Any](), dict[str, Any]()
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            start = event.start_mark.index
            if not isinstance(event, yaml.ScalarEvent):
                raise self.problems.stop(COMPLEX_KEY, start)
            key = self.clean(event.value, start, pointer)
            inner = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            self.refuse(event, start, inner)
            found = self.value(next(events), events, inner, depth + 1, start)
            if key == _MERGE and event.style is None:
                several = found if isinstance(found, list) else [found]
                sound = all(isinstance(each, dict) for each in several)
                self.problems.add(
                    ALIAS, start, message="merge", pointer=inner, certain=sound, name=key
                )
                for each in several if sound else ():  # the first mapping with a key has its value
                    merged = {**each, **merged}
                continue
            if key in members:
                self.problems.add_twice(
                    start, inner, shown(key), same=json.dumps(members[key]) == json.dumps(found)
                )
            members[key] = found
        return {**merged, **members}

    def refuse(self, event: Any, start: int, pointer: str) -> None:
        """Report anchors, aliases and tags; the value is that which other YAML readers return."""
        if event.anchor is not None:
            is_alias = isinstance(event, yaml.AliasEvent)
            is_known = not is_alias or event.anchor in self.anchored
            self.problems.add(
                ALIAS,
                start,
                message="" if is_alias else "anchor",
                help="" if is_known else "missing",
                pointer=pointer,
                certain=is_known,
                name=shown(event.anchor),
            )
        if getattr(event, "tag", None) is not None:
            is_type = _says_type(event)
            tag = shown(event.tag.replace(_CORE, "!!"))
            help_ = "" if is_type else "other"
            self.problems.add(TAG, start, help=help_, pointer=pointer, certain=is_type, tag=tag)

    def scalar(self, event: Any, pointer: str) -> Any:
        """Return the value of a plain scalar under the core schema; any other scalar is text."""
        written, start = event.value, event.start_mark.index
        tag = event.tag
        is_typed = tag is not None and tag != f"{_CORE}str" and _says_type(event)
        if not is_typed and (event.style is not None or not event.implicit[0]):
            return self.clean(written, start, pointer)
        match kind_of(written):
            case "null":
                return None
            case "boolean":
                return bool(_TRUE.fullmatch(written))
            case "not finite":
                self.not_finite(start, written, pointer)
                return None
            case "number":
                return self.number(written, start, pointer)
            case "text":
                return self.clean(written, start, pointer)

    def number(self, written: str, start: int, pointer: str) -> int | float | None:
        if len(written) > LONGEST_NUMBER:
            self.problems.add(LONG_NUMBER, start, pointer=pointer, count=len(written))
            return None
        value = as_number(written)
        if not math.isfinite(value):
            self.not_finite(start, written, pointer)
            return None
        return value

    def not_finite(self, start: int, written: str, pointer: str) -> None:
        self.problems.add(NOT_FINITE, start, pointer=pointer, number=shown(written))

    def clean(self, written: str, start: int, pointer: str) -> str:
        if _SURROGATE.search(written):
            self.problems.add(SURROGATE, start, message="yaml", help="yaml", pointer=pointer)
        return _SURROGATE.sub("\ufffd", written)
