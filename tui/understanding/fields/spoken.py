"""Fields by their spoken names: "pooling mean", "0.7 as the temperature", "no streaming".

`names.json` has the names of each field in three languages, and the words for its values. The
field's schema determines the type of a value: a number, a word of a set, a switch, a text, a list.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Final

from ftc.spec.schema import Field, branches, choices, find_field
from ftc.spec.values.admission import admits
from ftc.spec.values.expectation import types_of
from ftc.tui.languages.voice import LANGUAGES
from ftc.tui.understanding.applying import SPOKEN, applies
from ftc.tui.understanding.columns.columns import is_value
from ftc.tui.understanding.exports.publishing import publishes
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import NUMBER, WORDS, any_of
from ftc.tui.understanding.text.listed import find_order
from ftc.tui.understanding.text.message import Message, fold
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.text.ordinary import is_ordinary

_LINKS: Final = any_of(WORDS["links"])
_SAID: Final = rf"(?:\s*(?:=|:|->|@)\s*|\s+(?:{_LINKS}\s+)*)"
_LINK: Final = rf"(?:\s*-\s*|\s+(?:{_LINKS}\s+)*)"
_QUOTES: Final = "\"'\u201c\u201d\u00ab\u00bb`"
_QUOTED: Final = re.compile(
    rf"{_SAID}(?:[\"\u201c\u201d](?P<a>[^\"\u201c\u201d]+)[\"\u201c\u201d]|\u00ab(?P<b>[^\u00bb]+)\u00bb"
    r"|`(?P<c>[^`]+)`|'(?P<d>[^'\n]+)'(?!\w))"
)
_NAMED: Final = re.compile(
    rf"{_SAID}[{_QUOTES}]?(?P<value>[a-z0-9./~][\w.:/@+-]*\w|[a-z0-9])[{_QUOTES}]?"
    r"(?=\s*(?:$|[,;!)@\n\x00]|\.(?=\s|$)|\b(?:and|i|y|with|amb|con|on|for|so|to|per|para|en|but|pero|privately|as|com|como)\b))"
)
_NUMBER_AFTER: Final = re.compile(
    rf"{_SAID}(?:x(?=\d))?(?P<value>{NUMBER}\s*%?)(?P<unit>\s*(?:days?|dies|dias?)\b)?"
    r"(?P<speed>\s*(?:gbit|gbps|gb/s|gigabits?)(?:/s)?\b)?"
)
_NUMBER_BEFORE: Final = re.compile(
    rf"(?<![\w.,-])(?P<value>{NUMBER}\s*%?)(?:\s+{any_of(WORDS['recent'])})?{_LINK}$"
)
#: "un límite de 12 horas": "un" is not a number.
_ARTICLE: Final = re.compile(r"una?|one|single|a single")
_ON: Final = frozenset({"true", "on", "yes", "si", "activat", "activado", "enabled"})
_OFF: Final = frozenset({"false", "off", "no", "none", "desactivat", "desactivado", "disabled"})
_SWITCH: Final = re.compile(rf"{_SAID}(?P<value>{'|'.join(sorted(_ON | _OFF))})(?!\w)")
_ACTIVATED: Final = re.compile(rf"\b{any_of(WORDS['activate'])}\s+(?:the |el |la )?$")
_ITEM: Final = r"[`\"'\u201c]?(?:<[^>\s]+>|\[[^\]\s]+\]|[\w./+-]*\w)[`\"'\u201d]?"
_AND: Final = (
    r"(?:\s*(?:,|\b(?:and|i|y)\b|\+)\s*|(?<=[>\]])\s+(?=[<\[])"
    r"|(?<=\d)\s+(?=[a-z]\w*/\d))"
)
_VALUE: Final = re.compile(r"\s*[=:]?\s*\d")
#: A value or a path, which shows that the word before it is a name and not a list item.
_NEXT: Final = re.compile(r"\s*[=:]?\s*[\d/]")
_ENDS: Final = re.compile(rf"\s*(?:$|[.;|)\n\x00]|{_AND})")
#: A module of the model, not of the environment: "modules q_proj".
_WEIGHT: Final = re.compile(r"_proj\b")
_ITEMS: Final = re.compile(rf"{_SAID}(?P<value>{_ITEM}(?:(?:{_AND})+{_ITEM})*)")
_ITEMS_BEFORE: Final = re.compile(rf"(?P<value>{_ITEM}(?:(?:{_AND})+{_ITEM})*){_LINK}$")
#: A list has a single separator: "256/512, 4 negatives" is a list of two.
_NUMBERS: Final = re.compile(
    rf"{_SAID}(?P<value>\d+(?:(?:\s*/\s*\d+)+(?![\w.%])|(?:\s+\d{{2,}})+(?=\s*(?:$|[,;.|)\n]))|(?:(?:{_AND})+\d+)*))(?![\w.%])"
)
#: The last number of a list has its own noun: "256, 512, 3 hard negatives".
_COUNTED_BEHIND: Final = re.compile(
    r"\s+(?!(?:please|pls|plz|thanks|for|with|on|in|as|at|to|of|or|too|also|only|each|so|but|because"
    r"|per|para|por|com|como|con|amb|en|de|sisplau|porfa|pero|que|tambe|tambien|i|y|and|dim\w*|d)\b)"
    r"[a-z]{2,}"
)
_LAST: Final = re.compile(rf"(?:{_AND})+\d+$")
_WORDS_BETWEEN: Final = r"(?:\s+(?!and\b|i\b|y\b|but\b|pero\b)[\w']+){0,6}?"
#: "hellaswag + arc_easy": a plus joins the items of a list.
_PLUS: Final = re.compile(r"\s?[+]\s?[a-z]+[_\d]|,\s?[a-z]{3,}\w*[_\d]\w*(?=\s*(?:$|[,;]))")
_THE: Final = r"the |el |la |els |les |los |las "
_NEAR: Final = 80
_LICENCE: Final = "/publish/licence"
_LAUNCH: Final = "/launch/"
_HOURS: Final = "/launch/hours"
_HOURS_A_DAY: Final = 24
_DENIED: Final = re.compile(
    r"\b(?:not|no|don'?t|never|ni|mai|nunca)\s(?:les |los |las |els |l[oa] )?$"
)
#: A switch that is negated after its name: "duplicates are not removed".
_UNDONE: Final = re.compile(r"(?<=\w )(?:not|never|no)(?: (?:be|get|es|se))?(?: \w+)?$")
#: A name after the words that describe it.
_CODE_BEHIND: Final = re.compile(
    rf"\s*[,:(]\s*[{_QUOTES}]?(?P<value>[a-z]\w*(?:[-_]\w+)+)[{_QUOTES}]?(?=\s*(?:$|[.,;!)]))"
)
#: A name that is recognisable by itself: it has a sign, a digit or a separator.
_TELLING: Final = re.compile(r"[\d_:/.@<\[-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """The name of a field in a message."""

    pointer: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A value with the range of its words, the name included."""

    value: Any
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spoken:
    """A field of `names.json`: its kinds of values, and the words for those of a fixed set."""

    field: Field
    kinds: frozenset[str]
    vague: bool
    words: Mapping[str, str]
    whole: frozenset[str]
    lists_numbers: bool


def spoken_names() -> Mapping[str, str]:
    """Return the pattern of each field's unambiguous names in three languages."""
    return {pointer: any_of(entry) for pointer, entry in SPOKEN.items() if not entry.get("vague")}


def vague_names() -> frozenset[str]:
    """Return the fields with ambiguous names."""
    return frozenset(pointer for pointer, entry in SPOKEN.items() if entry.get("vague"))


def spoken_words() -> Mapping[str, Sequence[str]]:
    """Return the patterns of each field's names, for the words in them."""
    return {
        pointer: [pattern for language in LANGUAGES for pattern in entry.get(language, ())]
        for pointer, entry in SPOKEN.items()
    }


def value_words() -> Mapping[str, Mapping[str, str]]:
    """Return the pattern of each value with its own words, by field."""
    return {pointer: spoken.words for pointer, spoken in _table().items()}


def read_spoken(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the fields named with a value that the schema accepts, the longest name first.

    A text without a sign is read only for a field that applies to the draft or the message.
    """
    mentions = find_mentions(message)
    for mention in mentions:
        spoken = _table().get(mention.pointer)
        if mention.pointer == _LICENCE and not publishes(message, draft):
            continue
        if spoken is None or "\x00" in message.folded[mention.start : mention.end]:
            continue
        place = {"start": mention.start, "end": mention.end}
        if names_another(spoken.field, message, draft, **place):
            continue
        found = _value(spoken, mention, message, draft, mentions)
        found = _as_ordered(found, mention, message, draft)
        if found is None or not admits(mention.pointer, found.value):
            continue
        words = message.words(found.start, found.end)
        message.cross_out(found.start, found.end)
        yield Change(pointer=mention.pointer, value=found.value, words=words)


def _as_ordered(
    found: _Found | None, mention: Mention, message: Message, draft: Mapping[str, Any]
) -> _Found | None:
    """Return the value that the order of a list gives to a name that has none beside it."""
    if found is not None and (found.start < mention.start or found.end > mention.end):
        return found
    order = find_order(message.plain, mention.start, mention.end)
    if order is None:
        return found
    alone = Message(f"{order} {message.words(mention.start, mention.end)}")
    same = (each for each in read_spoken(alone, draft) if each.pointer == mention.pointer)
    value = next(same, None)
    return (
        None if value is None else _Found(value=value.value, start=mention.start, end=mention.end)
    )


def names_another(
    field: Field, message: Message, draft: Mapping[str, Any], *, start: int, end: int
) -> bool:
    """Return whether these words name another field that applies, while this one does not."""
    if applies(field, message, draft) is not False:
        return False
    overlapping = (
        _table()[each.pointer].field
        for each in find_mentions(message)
        if each.pointer in _table() and each.start < end and start < each.end
    )
    return any(applies(each, message, draft) for each in overlapping)


def find_mentions(message: Message) -> Sequence[Mention]:
    """Return the names of fields in a message, the longest first and without overlaps."""
    return _find_mentions(message.folded)


def find_all_mentions(message: Message) -> Sequence[Mention]:
    """Return the names of fields in a message, including those already read."""
    return _find_mentions(message.plain)


@lru_cache(maxsize=8)
def _find_mentions(folded: str) -> Sequence[Mention]:
    found = sorted(
        (
            Mention(pointer=pointer, start=match.start(), end=match.end())
            for pointer, pattern in _patterns()
            for match in pattern.finditer(folded)
        ),
        key=lambda each: (each.start - each.end, each.start),
    )
    kept: list[Mention] = []
    for each in found:
        inside = (each.start < other.end and other.start < each.end for other in kept)
        same = any((each.start, each.end) == (other.start, other.end) for other in kept)
        if same or not any(inside):
            kept.append(each)
    return kept


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the names of all fields, except those that `quantities` reads."""
    named = [*((at, any_of(words)) for at, words in WORDS["quantities"].items())]
    named += [(at, any_of(entry)) for at, entry in SPOKEN.items()]
    return tuple((at, re.compile(rf"(?<![\w-]){name}(?![\w-])")) for at, name in named)


@cache
def _table() -> Mapping[str, _Spoken]:
    return {pointer: _make(find_field(pointer), entry) for pointer, entry in SPOKEN.items()}


def _make(field: Field, entry: Mapping[str, Any]) -> _Spoken:
    kinds = frozenset(kind for branch in branches(field.schema) for kind in types_of(branch))
    words = {
        str(choice): str(choice).replace("_", "[ _-]?").replace("8bit", "8[ -]?bits?")
        for branch in (*branches(field.schema), *_items(field.schema))
        for choice in branch.get("enum", ())
    }
    for value, said in entry.get("values", {}).items():
        words[value] = f"{words[value]}|{any_of(said)}" if value in words else any_of(said)
    whole = map(str, choices(field.schema))
    return _Spoken(
        field=field,
        kinds=kinds,
        vague=bool(entry.get("vague")),
        words=words,
        whole=frozenset(whole),
        lists_numbers=any("integer" in types_of(each) for each in _items(field.schema)),
    )


def _items(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for branch in branches(schema):
        if "items" in branch:
            yield from branches(branch["items"])


def _value(
    spoken: _Spoken,
    mention: Mention,
    message: Message,
    draft: Mapping[str, Any],
    mentions: Sequence[Mention],
) -> _Found | None:
    """Return the value beside a name, or None."""
    found = _word(spoken, mention, message)
    if found is None and spoken.kinds & {"number", "integer"}:
        found = _number(spoken, mention, message, mentions)
        if found is not None and not _may_launch(spoken, message, draft):
            return None
    if found is None and "array" in spoken.kinds and not spoken.words:
        found = (_list_numbers if spoken.lists_numbers else _list)(mention, message)
    if found is None and "string" in spoken.kinds and not spoken.whole:
        found = _text(spoken, mention, message, draft)
    if found is not None and message.denied(found.start, found.end):
        found = None
    if (
        found is not None
        and found.value is True
        and _UNDONE.search(message.folded[found.start : found.end])
    ):
        found = replace(found, value=False)  # "duplicates are not removed"
    if found is None and "boolean" in spoken.kinds:
        found = _switch(spoken, mention, message)
    return found


def _may_launch(spoken: _Spoken, message: Message, draft: Mapping[str, Any]) -> bool:
    """Return whether a number may belong to the launcher, since "4 hours" is ambiguous."""
    launches = spoken.field.pointer.startswith(_LAUNCH)
    return not launches or applies(spoken.field, message, draft) is True


def _word(spoken: _Spoken, mention: Mention, message: Message) -> _Found | None:
    """Return the value of the field nearest to its name, after it or before it."""
    between = "" if spoken.vague else _WORDS_BETWEEN
    near_start = max(message.folded.rfind("\x00", 0, mention.start) + 1, mention.start - _NEAR)
    before = message.folded[near_start : mention.start]
    near: list[tuple[int, _Found]] = []
    for value, said in spoken.words.items():
        pause = ",?" if between else ""
        after = _compiled(rf"(?:{_SAID}|{pause}{between}\s+)(?P<said>{said})(?!\w)")
        if match := after.match(message.folded, mention.end):
            gap = match.start("said") - mention.end
            wanted = message.denied(mention.start) and not message.denied(match.start("said"))
            if not message.denied(mention.start) and _DENIED.search(
                match[0][: -len(match["said"])]
            ):
                continue  # "long rows: do not cut them"
            start = match.start("said") if wanted else mention.start
            near.append((gap, _Found(value=value, start=start, end=match.end())))
        ahead = _compiled(rf"(?<!\w)(?P<said>{said})(?:{between}{_LINK})$")
        for match in ahead.finditer(before):
            place = near_start + match.start()
            gap = mention.start - near_start - match.end("said")
            near.append((gap, _Found(value=value, start=place, end=mention.end)))
    if message.denied(mention.start, mention.end):  # "don't drop the long ones, just cut them"
        apart = [each for each in near if not message.denied(each[1].start, each[1].end)]
        near = apart or near
    if not near:
        return None
    found = min(near, key=lambda pair: (pair[0], pair[1].start - pair[1].end))[1]
    if "array" not in spoken.kinds or found.value in spoken.whole:
        return _as_kind(spoken, found)
    return _joined(spoken, found, message)


def _as_kind(spoken: _Spoken, found: _Found) -> _Found:
    """Return the value of a switch that has words for its values."""
    if found.value in ("true", "false") and "boolean" in spoken.kinds:
        return replace(found, value=found.value == "true")
    return found


def _joined(spoken: _Spoken, found: _Found, message: Message) -> _Found:
    """Return the list of a value and those joined to it by "and"."""
    values, end = [found.value], found.end
    for value, said in spoken.words.items():
        match = _compiled(rf"{_AND}(?:{_THE})?(?:{said})(?!\w)").match(message.folded, end)
        if match is not None and value not in values:
            values.append(value)
            end = match.end()
    return replace(found, value=values, end=end)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _number(
    spoken: _Spoken, mention: Mention, message: Message, mentions: Sequence[Mention]
) -> _Found | None:
    """Return the number after a name, or before it unless it belongs to another name."""
    ahead = _ahead(mention, message, mentions)
    if ahead is not None and _ARTICLE.fullmatch(ahead["value"].strip()):
        ahead = None
    match = _NUMBER_AFTER.match(message.folded, mention.end)
    if match and message.replaced(match.start("value")):
        match = None  # "five checkpoints instead of two"
    if match and not (ahead and message.folded[mention.end : match.start("value")].isspace()):
        value = _amount(match["value"])
        if value is not None and match["unit"] and spoken.field.pointer == _HOURS:
            return _Found(value=value * _HOURS_A_DAY, start=mention.start, end=match.end())
        if value is not None:
            return _Found(
                value=value,
                start=mention.start,
                end=match.end("speed" if match["speed"] else "value"),
            )
    if ahead is None or (spoken.vague and not spoken.field.pointer.startswith(_LAUNCH)):
        return None
    value = _amount(ahead["value"])
    return None if value is None else _Found(value=value, start=ahead.start(), end=mention.end)


def _ahead(mention: Mention, message: Message, mentions: Sequence[Mention]) -> re.Match[str] | None:
    """Return the number before a name, unless it is the value of the name before it."""
    match = _NUMBER_BEFORE.search(message.folded[: mention.start])
    if match is None:
        return None
    for other in mentions:
        between = message.folded[other.end : match.start()]
        if other.end <= match.start() and re.fullmatch(_SAID, between):
            return None
    return match


def _amount(text: str) -> int | float | None:
    text = text.strip()
    number = read_number(text.rstrip("% "), kilo=1000)
    if number is None:
        return None
    return as_written(round(number / 100, 8) if text.endswith("%") else number)


def _list(mention: Mention, message: Message) -> _Found | None:
    """Return the items after a name; a sign in each shows that it is not an ordinary word."""
    match = _ITEMS.match(message.folded, mention.end)
    items, end = _told(message, *match.span("value")) if match else ([], 0)
    if items:
        return _Found(value=items, start=mention.start, end=end)
    before = _ITEMS_BEFORE.search(message.folded[: mention.start])
    if before is None:
        return None
    items, end = _told(message, *before.span("value"))
    whole = end == before.end("value")
    return _Found(value=items, start=before.start(), end=mention.end) if items and whole else None


def _list_numbers(mention: Mention, message: Message) -> _Found | None:
    """Return the whole numbers after a name: "matryoshka 512, 256 and 128"."""
    match = _NUMBERS.match(message.folded, mention.end)
    if match is None:
        return None
    said, end = match["value"], match.end()
    last = _LAST.search(said)
    if last is not None and _COUNTED_BEHIND.match(message.folded, end):
        said, end = said[: last.start()], match.start("value") + last.start()
    numbers = [int(each) for each in re.findall(r"\d+", said)]
    return _Found(value=numbers, start=mention.start, end=end)


def _told(message: Message, start: int, end: int) -> tuple[list[str], int]:
    """Return the first items of a list that are not ordinary words, and their end."""
    items: list[str] = []
    stop = start
    for match in re.finditer(_ITEM, message.folded[start:end]):
        written = message.words(start + match.start(), start + match.end()).strip(f"{_QUOTES} ")
        if re.fullmatch(r"and|i|y", match[0]):
            continue
        if written.isdigit() or _WEIGHT.search(written) or (items and is_value(written)):
            break  # "modules cuda/12.6 gcc/13.2, fp16", "..., wandb project triage"
        if not (
            _TELLING.search(written) or items or _PLUS.match(message.folded, start + match.end())
        ):
            break
        if not _TELLING.search(written) and is_ordinary(fold(written)):
            break
        if not _TELLING.search(written) and not _ENDS.match(message.folded, start + match.end()):
            break  # "arc_easy, answers for 100 rows": another part begins
        if not _TELLING.search(written) and _NEXT.match(message.folded, start + match.end()):
            break  # "harness a_b and c, seed 2024": another field
        modules = [each for each in written.split("+") if "/" in each]  # "cuda/12+python/3"
        items += modules if len(modules) > 1 else [written]
        stop = start + match.end()
    return items, stop


def _text(
    spoken: _Spoken, mention: Mention, message: Message, draft: Mapping[str, Any]
) -> _Found | None:
    """Return the text after a name: in quotes, or one word that is not an ordinary word."""
    if match := _QUOTED.match(message.folded, mention.end):
        group = next(name for name in "abcd" if match[name] is not None)
        start, end = match.span(group)
        written = message.written[message.origin[start][0] : message.origin[end - 1][1]]
        return _Found(value=written, start=mention.start, end=match.end())
    match = _NAMED.match(message.folded, mention.end)
    if match is None:
        return None
    written = message.words(*match.span("value")).strip(_QUOTES)
    if not _TELLING.search(written):  # "the secret with the token, hub-token"
        behind = _CODE_BEHIND.match(message.folded, match.end())
        if behind is not None:
            name = message.words(*behind.span("value"))
            return _Found(value=name, start=mention.start, end=behind.end())
    signed = re.search(rf"[=:{_QUOTES}]", message.folded[mention.end : match.start("value")])
    if not (signed or _TELLING.search(written) or applies(spoken.field, message, draft)):
        return None
    return _Found(value=written, start=mention.start, end=match.end())


def _switch(spoken: _Spoken, mention: Mention, message: Message) -> _Found | None:
    """Return whether a field is switched on or off; its name alone switches it on."""
    if match := _SWITCH.match(message.folded, mention.end):
        on = match["value"] in _ON and not message.denied(mention.start)
        return _Found(value=on, start=mention.start, end=match.end())
    place = {"start": mention.start, "end": mention.end}
    if message.denied(mention.start, mention.end):
        return _Found(value=False, **place)
    if spoken.vague and not _ACTIVATED.search(message.folded[: mention.start]):
        return None
    return _Found(value=True, **place)
