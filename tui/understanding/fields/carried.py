"""A value or a unit that applies to a second field as well.

"Validation 5 % and the test too", "same for alpha", "validation at 5 % and the test at 15".
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ftc.spec.values.admission import admits
from ftc.tui.understanding.fields.relative import numeric_fields
from ftc.tui.understanding.fields.spoken import Mention, find_all_mentions
from ftc.tui.understanding.reading import Change, Choice, value_at
from ftc.tui.understanding.text.lexicon import NUMBER
from ftc.tui.understanding.text.message import Message, find_places, find_words, fold
from ftc.tui.understanding.text.numbers import as_written, read_number

_AND: Final = r"(?:\s*[,;.]?\s*(?:(?:and|i|y|e|also|tambe|tambien|but|pero)\s+)*)"
_THE: Final = (
    r"(?:(?:the|el|la|els|les|los|las|al|del?|a|en|per|para|por|con|amb|for|with|of|to|a l'|l')"
    r"\s*)*"
)
_ALIKE: Final = (
    r"(?:(?:the |el |lo |la )?(?:same|mateix|mateixa|mismo|misma|igual)"
    r"(?: (?:number|value|thing|valor|numero|nombre|cosa|amount|percentage))?"
    r"(?: (?:goes|applies|holds))?|likewise|idem|ditto)"
)
#: Before the name: "and the same for alpha", "and also test".
_BEFORE: Final = re.compile(
    rf"{_AND}(?:(?:do )?{_ALIKE}|(?<=also )|(?<=tambe )|(?<=tambien ))\s*{_THE}$"
)
#: After the name: "the test too", "alpha the same number", "el test també".
_AFTER: Final = re.compile(
    rf"\s*,?\s*(?:is |es |to |at |a |en |al? |be )?(?:too|as well|also|tambe|tambien|{_ALIKE})"
    r"(?=\s*(?:$|[.,;!)\x00]|\b(?:and|i|y|please|pls|sisplau|porfa)\b))"
)
#: After the name: a number without a unit, which has the unit of the value before it.
_NUMBERED: Final = re.compile(
    rf"\s*(?:[=:]|(?:at|to|is|of|with|a|al|als|en|de|del|amb|con|es)\s)?\s*(?P<number>{NUMBER})"
    r"(?=\s*(?:$|[.;!)\x00]|,(?!\d)|\b(?:and|i|y|please|pls|sisplau|porfa)\b))"
)
#: The text between the value and the name.
_JOINED: Final = re.compile(rf"(?:\s*[,;]\s*|\s+(?:and|i|y|amb|con|with)\s+){{1,2}}{_THE}")
_PERCENT: Final = re.compile(r"%|\b(?:per ?cent|por ciento)\b")
_TEST: Final = re.compile(
    r"(?<![\w-])(?:test|prova|prueba|validation|validacio|validacion)(?![\w-])"
)
_SPLIT: Final = {"t": "/data/splits/test", "p": "/data/splits/test", "v": "/data/splits/validation"}


def read_carried(
    message: Message, said: Sequence[Change | Choice], draft: Mapping[str, Any]
) -> Iterator[Change]:
    """Yield the fields that have the value of the number before them, and cross out their words."""
    numbers = [
        (find_words(message.written, each.words), each)
        for each in said
        if isinstance(each, Change)
        and isinstance(each.value, int | float)
        and not isinstance(each.value, bool)
    ]
    has = {each.pointer for _, each in numbers}
    read = [
        span
        for each in said
        if isinstance(each, Change)
        for span in find_places(message.written, each.words)
    ]
    for mention in _mentions(message):
        place = message.origin[mention.start][0]
        if mention.pointer in has or any(start <= place < end for start, end in read):
            continue
        earlier = [pair for pair in numbers if 0 <= pair[0] < place]
        if not earlier or message.denied(mention.start):
            continue
        at, source = max(earlier, key=lambda pair: pair[0])
        if (numbered := _numbered(message, mention, at, source)) is not None:
            has.add(mention.pointer)
            yield numbered
            continue
        before = _BEFORE.search(message.plain[: mention.start])
        after = _AFTER.match(message.plain, mention.end)
        found = before if before is not None and before[0].strip(" ,.;") else after
        if found is None:
            continue
        value = _carry(source, mention.pointer, draft)
        if value is None or not admits(mention.pointer, value):
            continue
        first = found.start() if found is before else mention.start
        last = mention.end if found is before else found.end()
        first += len(message.plain[first:last]) - len(message.plain[first:last].lstrip(" ,.;"))
        words = message.words(first, last)
        message.cross_out(first, last)
        has.add(mention.pointer)
        yield Change(pointer=mention.pointer, value=value, words=words)


def _numbered(message: Message, mention: Mention, at: int, source: Change) -> Change | None:
    """Return the share of a field that is named right after another share, without its "%"."""
    match = _NUMBERED.match(message.plain, mention.end)
    between = message.written[at + len(source.words) : message.origin[mention.start][0]]
    if match is None or not (
        _PERCENT.search(fold(source.words)) and _JOINED.fullmatch(fold(between))
    ):
        return None
    value = as_written(round((read_number(match["number"].strip()) or 0.0) / 100, 6))
    if not admits(mention.pointer, value):
        return None
    words = message.words(mention.start, match.end())
    message.cross_out(mention.start, match.end())
    return Change(pointer=mention.pointer, value=value, words=words)


def _mentions(message: Message) -> Sequence[Mention]:
    """Return the names of fields of numbers; beside shares, "test" is one of the splits."""
    named = [each for each in find_all_mentions(message) if each.pointer in numeric_fields()]
    split = [
        Mention(pointer=_SPLIT[match[0][0]], start=match.start(), end=match.end())
        for match in _TEST.finditer(message.plain)
        if not any(each.start < match.end() and match.start() < each.end for each in named)
    ]
    return sorted((*named, *split), key=lambda each: each.start)


def _carry(source: Change, pointer: str, draft: Mapping[str, Any]) -> Any:
    """Return the value for the second field: the number itself, or the same relative change."""
    if re.search(r"\d", fold(Message(source.words).folded)):
        return source.value
    was, now = value_at(draft, source.pointer), value_at(draft, pointer)
    if not isinstance(was, int | float) or not isinstance(now, int | float) or not was:
        return None
    return type(now)(now * source.value / was)
