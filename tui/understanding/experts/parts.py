"""The parts of an expert's line that are only a value: "cpt / full / lasttoken / spot".

A part ends at a comma, a bar, a slash between spaces, a plus, an arrow or a bracket. The text that
no other reader took is read as the value of the one field that has it and applies.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from ftc.spec.schema import Field, branches, choices, fields, fields_by_pointer
from ftc.spec.values.admission import admits
from ftc.tui.understanding.applying import applies
from ftc.tui.understanding.fields.spoken import value_words
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.lexicon import NEGATORS, WORDS, any_of
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.ordinary import is_ordinary
from ftc.tui.understanding.wanted.licence import is_terse

_PART: Final = re.compile(r"(?:(?!->|=>|\s/\s)[^,;|+()\[\]\n\x00\u2192])+")
#: Words around a value that do not belong to it: "embed with", "the mean".
_LEAD: Final = re.compile(
    rf"^(?:(?:{any_of(WORDS['links'])}|{any_of(WORDS['put'])}|w/|only|just|nomes|solo|and|i|y)\s+)+"
)
_TAIL: Final = re.compile(
    r"\s+(?:w/|with|using|amb|con|on|over|sobre|en|de|of|for|per|para|a|at|@|only|just|nomes|solo|and|i|y|:)$"
)
#: Values that are ambiguous without a name.
_COMMON: Final = frozenset(
    {"auto", "none", "all", "default", "drop", "learn", "loss", "metric", "optimizer", "parameters"}
    | {"prompt", "text", "adapter", "merged", "vllm", "gguf", "off", "copy", "server", "exact"}
    | {"head", "embeddings", "completion", "feedback", "preference", "local", "true", "false"}
)
_SWITCH: Final = re.compile(r"true|false|on|off|yes|no|si|(?:en|dis)abled|(?:des)?activa[dt]o?")
_SHORTEST: Final = 4
_DEPTH: Final = 2
#: The minimum number of fields in a line whose parts may be bare values.
_FEWEST: Final = 2
#: The storage for the files of a run in a cloud.
_BUCKET: Final = re.compile(r"(?<!\S)(?:s3|gs|r2|https)://[^\s,;|]+")
#: "8k" between commas: a context.
_LENGTH_ALONE: Final = re.compile(
    r"(?:^|[,;|])\s*(?P<number>(?:[1248]|16|32|64|128)k)\s*(?=$|[,;|])"
)
_LENGTH: Final = "/data/max_length"
_LICENCE, _REPOSITORY = "/publish/licence", "/publish/repo"
_STORE: Final = "/launch/bucket"
_SEPARATORS: Final = re.compile(r"[ _-]+")
#: After a value these words switch it off, and are not values themselves. Names of branches that
#: are also words: "main" before a rate is not a branch.
_BRANCHES: Final = frozenset({"main", "master"})
_OUT: Final = re.compile(r"fora|fuera|off|out|away|gone|no|none")


def read_parts(
    message: Message, draft: Mapping[str, Any], found: Sequence[Change | Choice]
) -> Iterator[Change]:
    """Yield the values that are a whole part of a line of shorthand."""
    has = {each.pointer for each in found}
    if len(has) < _FEWEST or not is_terse(message.written):
        return
    for match in list(_BUCKET.finditer(message.folded)):
        if _STORE not in has and applies(fields_by_pointer()[_STORE], message, draft):
            words = message.words(*match.span())
            message.cross_out(*match.span())
            has.add(_STORE)
            yield Change(pointer=_STORE, value=words, words=words)
    if _LENGTH not in has and (length := _LENGTH_ALONE.search(message.folded)) is not None:
        words = message.words(*length.span("number"))
        message.cross_out(*length.span("number"))
        yield Change(pointer=_LENGTH, value=int(length["number"][:-1]) * 1024, words=words)
    found_here: dict[str, Change] = {}
    for match in list(_PART.finditer(message.folded)):
        start, end = _trimmed(message.folded, *match.span())
        if start >= end:
            continue
        before = message.folded[:start].rstrip()
        after = message.folded[end:].lstrip()
        beside = before.endswith("\0") or after.startswith("\0")
        if beside and _OUT.fullmatch(message.folded[start:end]):
            continue  # "torch.compile out", "fora packing": belongs to the value read beside it
        if after.startswith("\0") and message.folded[start:end] in _BRANCHES:
            continue  # "main lr 4e-5"
        read = _resolve(message.folded[start:end], message, draft)
        if read is None or read[0] in has or (read[0] == _LICENCE and _REPOSITORY not in has):
            continue
        own = found_here.get(read[0])
        if own is not None and not isinstance(own.value, list):
            continue
        words = message.words(start, end)
        message.cross_out(start, end)
        value = read[1] if own is None else [*own.value, *read[1]]  # "LLM + projector"
        said = words if own is None else f"{own.words}, {words}"
        found_here[read[0]] = Change(pointer=read[0], value=value, words=said)
    yield from found_here.values()


def _trimmed(folded: str, start: int, end: int) -> tuple[int, int]:
    """Return a range without leading and trailing words that belong to no value."""
    text = folded[start:end].rstrip(" .:\t")
    while (bare := _TAIL.sub("", text).rstrip(" .:\t")) != text:
        text = bare
    begin = len(text) - len(text.lstrip(" /:\t"))
    begin += len(_LEAD.match(text[begin:])[0]) if _LEAD.match(text[begin:]) else 0  # type: ignore[index]
    return start + begin, start + len(text)


def _resolve(text: str, message: Message, draft: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return the one field that has a text as a value, with the value."""
    denied = NEGATORS.match(text)
    if denied is not None:
        return _denied(text[denied.end() :].strip())
    if _SWITCH.fullmatch(text):
        return None  # "true" alone names no field
    whole = [
        each
        for each in _values()
        if each[2].fullmatch(text) and (each[3] == text or not is_ordinary(text))
    ]
    bare = _SEPARATORS.sub("", text)
    cut = [
        each
        for each in _values()
        if len(bare) >= _SHORTEST
        and text not in _COMMON  # "12 generations/prompt"
        and not is_ordinary(text)  # "at all" is not "all-linear"
        and _SEPARATORS.sub("", each[3]).startswith(bare)
    ]
    for fits in (whole, cut):
        for certain in (True, None):
            kept = {
                each[0]: each[1]
                for each in fits
                if applies(fields_by_pointer()[each[0]], message, draft) is certain
                and admits(each[0], each[1])
            }
            if len(kept) == 1:
                return next(iter(kept.items()))
            if kept:
                return None
    return None


def _denied(text: str) -> tuple[str, Any] | None:
    """Return the field that "no tracking" switches off: its section has a type "none"."""
    for field in fields():
        section, _, key = field.pointer[1:].partition("/")
        if key == "type" and section == text and "none" in _choices(field):
            return field.pointer, "none"
    return None


@cache
def _values() -> tuple[tuple[str, Any, re.Pattern[str], str], ...]:
    """Return field, value, pattern and name of each value that can stand alone."""
    cpu = re.compile(r"cpu(?: only)?")
    found: list[tuple[str, Any, re.Pattern[str], str]] = [("/hardware/gpu", "cpu", cpu, "cpu")]
    said = value_words()
    for field in fields():
        at = field.pointer
        if "anyOf" not in field.schema and field.schema.get("type") == "boolean":
            name = field.name.rpartition(".")[2]
            pattern = re.compile(name.replace("_", "[ _-]?"))
            found.append((at, True, pattern, name))
        for choice in (*_choices(field), *(one for one in said.get(at, {}))):
            if choice in _COMMON or (at.count("/") != _DEPTH and not at.startswith("/training/ev")):
                continue
            plain = re.escape(choice.lower()).replace("_", "[ _-]?").replace(r"\-", "[ _-]?")
            words = said.get(at, {}).get(choice)
            pattern = re.compile(f"(?:{plain}|{words})" if words else plain)
            found.append((at, _typed(field, choice), pattern, choice.lower()))
    return tuple(found)


def _typed(field: Field, choice: str) -> Any:
    """Return a choice in the type of the field: the choice, or a list with it."""
    single = choice in map(str, choices(field.schema))
    listed = any("items" in one for one in branches(field.schema))
    return [choice] if listed and not single else choice


def _choices(field: Field) -> tuple[str, ...]:
    """Return the values of a field, or of an item of its list."""
    items = (
        one for each in branches(field.schema) if "items" in each for one in branches(each["items"])
    )
    return tuple(
        dict.fromkeys(
            choice
            for one in (*branches(field.schema), *items)
            for choice in one.get("enum", ())
            if isinstance(choice, str)
        )
    )
