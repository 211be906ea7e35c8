"""Options made of parts: "lion in 8 bits" and "8-bit paged AdamW" are one option each.

A reader may take the shorter option, because its name is contiguous. If the words beside it name
the other parts of a longer option, in any order, the longer option is meant.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from ftc.spec.schema import choices, fields_by_pointer
from ftc.spec.values.admission import admits
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.message import SENTENCE_END, Message, Span, find_around, fold

_SEPARATOR: Final = re.compile(r"[_-]")
#: The words for a part of an option, if they differ from its name.
_SAID: Final[Mapping[str, str]] = {
    "8bit": r"8[ _-]?b(?:it)?s?(?! (?:quant\w*|base|models?|modelo|weights|pesos|gguf)\b)",
    "with": "with|amb|con",
    "restarts": "(?:(?:warm|hard) )?restart(?:s|ed|ing)?|reinici\\w*|rearranc\\w*",
    "paged": r"paged|paginat|paginada|paginado",
}
_BETWEEN: Final = (
    r"[\s_-]*(?:(?:(?:and|i|y)(?= (?:de|in|en)\b)|de|del|in|en|of|a|at|the|el|la|its?|versio"
    r"|version|variant"
    r"|variante|flavou?r|one|optimi[sz]er|optimitzador|optimizador|as)[\s_-]+)*"
)


#: A schedule with a decay of its own: "wsd with a decay of 0.2".
_STABLE: Final = ("/training/schedule", "warmup_stable_decay")
_WEIGHTS, _DECAY = "/training/weight_decay", "/training/decay"
_OF_WEIGHTS: Final = re.compile(r"weight|pes|peso|wd|w_|regular")
#: Parts that show the longer option anywhere in its sentence.
_ALONE: Final = frozenset({"restarts"})
#: Parts that only join the others.
_JOINS: Final = frozenset({"with"})


def complete_compounds(said: Sequence[Change | Choice], text: str) -> list[Change | Choice]:
    """Return the values, with each option completed by the words beside it.

    An option that another value needs is also completed: four cycles need a cosine with restarts.
    """
    told = [_complete(each, text) if isinstance(each, Change) else each for each in said]
    if any((each.pointer, _value(each)) == _STABLE for each in told):
        told = [_as_decay(each) for each in told]
    return [_needed(each, told) if isinstance(each, Change) else each for each in told]


def _value(said: Change | Choice) -> Any:
    return said.value if isinstance(said, Change) else None


def _as_decay(said: Change | Choice) -> Change | Choice:
    """Move a weight decay to the schedule's decay, unless its words mention the weights."""
    plain = said.pointer == _WEIGHTS and not _OF_WEIGHTS.search(fold(said.words))
    return replace(said, pointer=_DECAY) if plain and admits(_DECAY, _value(said)) else said


def _needed(change: Change, told: Sequence[Change | Choice]) -> Change:
    """Return the longer option if another value requires it, or the option itself."""
    longer = _longer(change.pointer).get(change.value) if isinstance(change.value, str) else None
    known = fields_by_pointer()
    for each in told if longer else ():
        field = known.get(each.pointer)
        needs = [*field.schema.get("x-when", {}).get(change.pointer, ())] if field else []
        if isinstance(each, Change) and len(needs) == 1 and longer and needs[0] in longer:
            return replace(change, value=needs[0])
    return change


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
    sentence = find_around(SENTENCE_END, message.plain, (start, end))
    apart = {part for part in missing & _ALONE if _is_said(part, message, sentence)}
    found |= apart | (missing & _JOINS if apart else set())
    while (grown := _grow(message.plain, start, end, missing - found)) is not None:
        part, start, end = grown
        found.add(part)
    fitting = [value for value, parts in longer.items() if parts <= found]
    if not fitting:
        return change
    value = max(fitting, key=lambda each: len(longer[each]))
    return Change(pointer=change.pointer, value=value, words=message.words(start, end))


def _is_said(part: str, message: Message, sentence: Span) -> bool:
    """Return whether a sentence has a part without negating it."""
    match = _said(part).search(message.plain, *sentence)
    return match is not None and not Message(message.written).denied(*match.span())


def _grow(plain: str, start: int, end: int, missing: set[str]) -> tuple[str, int, int] | None:
    """Return the part right beside a range, and the range extended by it."""
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
    """Return for each option of a field the longer options, by the parts that they add."""
    field = fields_by_pointer().get(pointer)
    options = [each for each in choices(field.schema) if isinstance(each, str)] if field else []
    parts = {each: frozenset(_SEPARATOR.split(each)) for each in options}
    return {
        short: {each: parts[each] - parts[short] for each in options if parts[short] < parts[each]}
        for short in options
    }
