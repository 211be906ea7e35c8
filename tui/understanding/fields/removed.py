"""Reads which values of the draft a message removes: "use all rows", "treu el rang".

Only what the draft has is removed, so that the name of a field does not have to be certain by
itself. ftc plans or asks for a removed field again.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from ftc.spec.schema import choices, fields
from ftc.tui.languages.field_names import name_field
from ftc.tui.languages.voice import LANGUAGES
from ftc.tui.understanding.fields.field_index import kinds_of
from ftc.tui.understanding.fields.named import field_names
from ftc.tui.understanding.reading import Change, value_at
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import Message, fold
from ftc.tui.understanding.text.word_tables import word_table

_TABLE: Final[Mapping[str, Any]] = word_table("removed")
_ROWS: Final = "/data/max_rows"
#: Where a clause begins and ends.
_BEGIN: Final = (
    rf"(?:^|(?<=[.,;:!?\n\x00]))[\s\u00bf\u00a1]*(?:{any_of(_TABLE['opening'])}[\s,]+){{0,3}}"
)
_END: Final = (
    rf"(?:[\s,]+{any_of(_TABLE['closing'])}){{0,3}}"
    r"(?=\s*(?:$|[,;:!?\n\x00]|\.(?!\w)|\b(?:and|i|y|but|pero)\b))"
)
_THE: Final = rf"(?:{any_of(_TABLE['article'])}\s*){{0,3}}"
_REMOVE: Final = rf"(?:{any_of(WORDS['remove'])}|{any_of(_TABLE['lift'])})"
_OFF: Final = rf"(?:{_REMOVE}|{any_of(_TABLE['without'])})"
_LIMIT: Final = any_of(_TABLE["limit"])
#: Fields that are limits, with the words for what they limit.
_LIMITED: Final[Mapping[str, str]] = {
    pointer: any_of(words) for pointer, words in _TABLE["limited"].items()
}
_WHOLE: Final = re.compile(
    rf"{_BEGIN}(?:{any_of(_TABLE['use'])}\s+)?"
    rf"(?:{any_of(_TABLE['all'])}\s*{_THE}(?:{_LIMITED[_ROWS]})|{any_of(_TABLE['whole'])}){_END}"
)
_UNLIMITED: Final = {
    pointer: re.compile(
        rf"{_BEGIN}(?:{_OFF}\s+{_THE}(?:(?:{noun})[\s-]{_LIMIT}|{_LIMIT}\s+{any_of(_TABLE['of'])}\s*{_THE}(?:{noun}))"
        rf"|{any_of(_TABLE['stop'])}\s+{any_of(_TABLE['limiting'])}\s+{_THE}(?:{noun})){_END}"
    )
    for pointer, noun in _LIMITED.items()
}
_ANY_LIMIT: Final = re.compile(
    rf"{_BEGIN}(?:{any_of(_TABLE['unlimited'])}|{_OFF}\s+{_THE}{_LIMIT}){_END}"
)


def read_removed(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the limits and other values of the draft that a message removes."""
    match = _WHOLE.search(message.folded)
    alone = match is not None and match.span() == (0, len(message.folded.rstrip(" .!")))
    if value_at(draft, _ROWS) is not None or (alone and value_at(draft, "/data/source")):
        yield from _remove(message, _ROWS, _WHOLE)
    limits = [pointer for pointer in _LIMITED if value_at(draft, pointer) is not None]
    for pointer in limits:
        yield from _remove(message, pointer, _UNLIMITED[pointer])
    if len(limits) == 1:
        yield from _remove(message, limits[0], _ANY_LIMIT)
    for pointer, name in _removable():
        if value_at(draft, pointer) is not None:
            yield from _remove(message, pointer, name)


def _remove(message: Message, pointer: str, pattern: re.Pattern[str]) -> Iterator[Change]:
    match = pattern.search(message.folded)
    if match is None:
        return
    words = message.words(*match.span()).strip()
    message.cross_out(*match.span())
    yield Change(pointer=pointer, value=None, words=words)


@cache
def _removable() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the pattern that removes each field by its name, the longest name first.

    A list, a switch and a field that can be off are not among them: "remove the exports" empties
    the list, and "remove duplicates" turns a switch on.
    """
    spoken = dict(field_names())
    found = []
    for field in fields():
        if kinds_of(field) & {"array", "boolean", "object"} or "none" in choices(field.schema):
            continue
        names = {re.escape(fold(name_field(field.pointer, each))) for each in LANGUAGES}
        key = field.pointer.rpartition("/")[2]
        names |= {key.replace("_", "[ _-]"), re.escape(field.pointer[1:].replace("/", "."))}
        if field.pointer in spoken:
            names.add(spoken[field.pointer].pattern)
        name = "|".join(sorted(names, key=lambda each: -len(each)))
        pattern = re.compile(rf"{_BEGIN}{_REMOVE}\s+{_THE}(?:{name}){_END}")
        found.append((field.pointer, pattern))
    return tuple(found)
