"""Fields by name: "training.epochs = 3", "label smoothing 0.1", "partition gpu-long", "liger off".

The names are the schema's own, those of other tools (`x-aliases`) and, in three languages, those
of `spoken.py`. What may follow a name is what the field's schema admits.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from ftc.spec.admission import admits
from ftc.spec.expectation import types_of
from ftc.spec.schema import Field, branches, fields_by_pointer
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.numbers import as_written, read_number
from ftc.tui.understanding.quantities import REVISION
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.spoken import read_spoken

_LINK: Final = r"(?:\s*(?:=|:|->)\s*|\s+(?:to |of |at |is |a |de |en )?)"
_VALUE: Final = r"(?P<value>\d+,\d+(?!\d|,\d)|[\w.+-]+%?)(?![\w/])"
#: The field of a section that its short form gives a value to.
_KINDS: Final = ("type", "strategy", "id", "source", "types")
_ON: Final = frozenset({"true", "on", "yes", "si", "activat", "activado"})
_OFF: Final = frozenset({"false", "off", "no", "none", "desactivat", "desactivado"})


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
    yield from read_spoken(message, draft)


@cache
def _names() -> Mapping[str, Field]:
    """Return each field by its dotted name, and by every other name that only one field has."""
    named: dict[str, set[str]] = {}
    known = fields_by_pointer()
    for pointer, field in known.items():
        own = field.name.rpartition(".")[2]
        for name in (own, *field.schema.get("x-aliases", ())):
            named.setdefault(name, set()).add(pointer)
    alone = {name: known[min(found)] for name, found in named.items() if len(found) == 1}
    for name, section in [(name, each) for name, each in alone.items() if "." not in each.name]:
        kind = next((at for key in _KINDS if (at := f"{section.pointer}/{key}") in known), None)
        if kind is not None:  # "method=full"
            alone[name] = known[kind]
    dotted = {field.name: field for field in known.values() if "." in field.name}
    return {**alone, **dotted}


@cache
def _pattern() -> re.Pattern[str]:
    names = sorted(_names(), key=len, reverse=True)
    long = [name for name in names if "_" in name or "." in name]
    either = "|".join(re.escape(name).replace("_", "[ _-]") for name in long)
    short = "|".join(re.escape(name) for name in names if name not in long)
    return re.compile(
        rf"(?<![\w./])(?:(?P<name>{either}){_LINK}|(?P<short>{short})\s?[=:]\s?){_VALUE}"
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
