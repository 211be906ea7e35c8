"""Options made of parts: "lion in 8 bits" and "8-bit paged AdamW" are one option each.

A reader may take the shorter option of two, because its name stands in one piece. If the words
beside it say the other parts of a longer option, in any order, that option is meant.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from ftc.spec.schema import choices, fields_by_pointer
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.message import Message

_SEPARATOR: Final = re.compile(r"[_-]")
#: The words for a part of an option, if they differ from its name.
_SAID: Final[Mapping[str, str]] = {
    "8bit": r"8[ _-]?b(?:it)?s?(?! (?:quant\w*|base|models?|modelo|weights|pesos|gguf)\b)",
    "with": "with|amb|con",
    "restarts": "(?:warm )?restarts?|reinicis|reinicios",
    "paged": r"paged|paginat|paginada|paginado",
}
_BETWEEN: Final = (
    r"[\s_-]*(?:(?:(?:and|i|y)(?= (?:de|in|en)\b)|de|del|in|en|of|a|at|the|el|la|its?|versio"
    r"|version|variant"
    r"|variante|flavou?r|one|optimi[sz]er|optimitzador|optimizador|as)[\s_-]+)*"
)


def complete_compounds(said: Sequence[Change | Choice], text: str) -> list[Change | Choice]:
    """Return what was said, with each option completed by the words beside it."""
    return [_complete(each, text) if isinstance(each, Change) else each for each in said]


def _complete(change: Change, text: str) -> Change:
    longer = _longer(change.pointer).get(change.value) if isinstance(change.value, str) else None
    if not longer:
        return change
    message = Message(text)
    start = message.plain.find(Message(change.words).plain)
    if start < 0:
        return change
    end = start + len(Message(change.words).plain)
    missing = {part for parts in longer.values() for part in parts}
    found = {part for part in missing if _said(part).search(message.plain, start, end)}
    while (grown := _grow(message.plain, start, end, missing - found)) is not None:
        part, start, end = grown
        found.add(part)
    fitting = [value for value, parts in longer.items() if parts <= found]
    if not fitting:
        return change
    value = max(fitting, key=lambda each: len(longer[each]))
    return Change(pointer=change.pointer, value=value, words=message.words(start, end))


def _grow(plain: str, start: int, end: int, missing: set[str]) -> tuple[str, int, int] | None:
    """Return the part that stands right beside a range, and the range with it."""
    for part in sorted(missing):
        said = _said(part).pattern
        if after := re.compile(_BETWEEN + said).match(plain, end):
            return part, start, after.end()
        before = re.search(f"{said}{_BETWEEN}$", plain[:start])
        if before is not None:
            return part, before.start(), end
    return None


@cache
def _said(part: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:{_SAID.get(part, re.escape(part))})(?![^\W_])")


@cache
def _longer(pointer: str) -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Return the options of a field with those that add parts to them, by the added parts."""
    field = fields_by_pointer().get(pointer)
    options = [each for each in choices(field.schema) if isinstance(each, str)] if field else []
    parts = {each: frozenset(_SEPARATOR.split(each)) for each in options}
    return {
        short: {each: parts[each] - parts[short] for each in options if parts[short] < parts[each]}
        for short in options
    }
