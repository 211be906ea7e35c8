"""Data sets of the Hub with their options: 'load_dataset("acme/web", "es")'.

The brackets after an id hold its split, its subset, a row limit or its weight, as in "acme/web
(train_sft, capped at 20k rows)". Such an id is a data set and not a model.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ftc.compiler.knowledge.well_known.model_names import names_a_family
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import NUMBER
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import as_written, read_number

_ID: Final = r"(?<![\w./\\-])(?P<id>[a-z0-9][\w.-]*/[a-z][\w.-]*\w)"
_BESIDE: Final = re.compile(rf"{_ID}\s?[(\[](?P<items>[^()\[\]\n\x00]{{1,80}})[)\]]")
_ALONE: Final = re.compile(
    rf"{_ID}(?![\w/\\])"
    r"(?P<pairs>(?:\s+(?:split|subset|config|cfg|name|max_rows|rows|weight|w|revision|rev)\s?=\s?[\w.-]+)*)"
)
_PAIR: Final = re.compile(r"\w+\s?=\s?[\w.-]+")
_CALL: Final = re.compile(
    r"(?:datasets\.)?load_dataset\(\s*[\"'](?P<id>[\w.-]+/[\w.-]+)[\"']"
    r"(?:\s*,\s*(?:name\s*=\s*)?[\"'](?P<subset>[\w.-]+)[\"'])?"
    r"(?P<rest>(?:\s*,\s*\w+\s*=\s*(?:[\"'][^\"'\n]*[\"']|[\w.-]+))*)\s*\)?"
)
_KEYWORD: Final = re.compile(
    r"(?P<key>\w+)\s*=\s*(?:[\"'](?P<text>[^\"'\n]*)[\"']|(?P<word>[\w.-]+))"
)
#: Words that only apply to rows.
_OF_ROWS: Final = frozenset({"split", "max_rows", "streaming"})
_KEYS: Final = {"name": "subset", "split": "split", "revision": "revision"}
#: A mixture of data sets; a model beside them is known or belongs to a known family.
_MIXED: Final = re.compile(r"\b(?:mix(?:ed|es|ing|ture)?|blend\w*|mezcl\w*|barrej\w*)\b")
_ROWS: Final = re.compile(
    r"(?:(?:only|just|the|first|capped|cap|max(?:_rows|\w*)|up|at|most|to|limit\w*|nomes|solo|com|como|a|molt"
    rf"|mucho|las|les|primer[ae]s|hasta|fins|n|rows)\s?[=:]?\s?)*(?P<rows>{NUMBER})"
    r"(?:\s?(?:rows|examples|samples|lines|files|filas|exemples|ejemplos|linies|lineas))?"
)
_SPLIT: Final = re.compile(
    r"(?:(?:split|particio|particion)\s?[=:]?\s?[\"']?(?P<any>[\w.-]+)[\"']?"
    r"|(?P<split>(?:train|test|valid|val|dev|eval)\w*))(?: split)?"
)
_SUBSET: Final = re.compile(
    r"(?:(?:config\w*|cfg|sub-?set|name|subconj\w*)\s?[=:]?\s?[\"']?(?P<named>[\w.-]+)[\"']?"
    r"|[\"'](?P<quoted>[\w.-]+)[\"']|(?P<code>main|default|all|[a-z]{2}|[a-z]+(?:_[a-z0-9]+)+))"
    r"(?: (?:sub-?set|config))?"
)
_WEIGHT: Final = re.compile(
    rf"(?P<named>(?:weight|peso?|w)\s?[=:]?\s?)?(?P<weight>{NUMBER})\s?(?P<share>%)?"
)
_STREAMED: Final = re.compile(r"(?:en |in )?streaming(?:\s?=\s?true)?")
_SEPARATOR: Final = re.compile(r"\s*[,;/]\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class HubData:
    """A data set of the Hub: its id, its options by the keys of a source, and its words."""

    id: str
    options: Mapping[str, Any]
    words: str


def take_hub_data(message: Message) -> dict[int, HubData]:
    """Return the ids that the message shows to be data sets, by place, and cross them out."""
    found: dict[int, HubData] = {}
    for match in list(_CALL.finditer(message.folded)):
        options = {"subset": message.words(*match.span("subset"))} if match["subset"] else {}
        options |= dict(_keywords(message, *match.span("rest")))
        _add(found, message, match, options)
    for match in list(_BESIDE.finditer(message.folded)):
        options = _options(message, match)
        if names_a_family(match["id"]) and not options.keys() & _OF_ROWS:
            continue  # "acme/llama-tuned (main)"
        if options and find_model(message.words(*match.span("id"))) is None:
            _add(found, message, match, options)
    if _MIXED.search(message.plain):
        for match in list(_ALONE.finditer(message.folded)):
            name = message.words(*match.span("id"))
            if find_model(name) is None and not names_a_family(match["id"]):
                _add(found, message, match, _pairs(message, match))
    return found


def read_hub_data(data: HubData) -> Iterator[Change]:
    """Yield the only source of a message with its options."""
    yield Change(pointer="/data/source", value=data.id, words=data.id)
    for key, value in data.options.items():
        if key != "weight":
            yield Change(pointer=f"/data/{key}", value=value, words=data.words)


def _add(
    found: dict[int, HubData], message: Message, match: re.Match[str], options: Mapping[str, Any]
) -> None:
    if message.denied(match.start()):
        return
    words = message.words(*match.span())
    name = message.words(*match.span("id"))
    message.cross_out(*match.span())
    found[match.start("id")] = HubData(id=name, options=options, words=words)


def _keywords(message: Message, start: int, end: int) -> Iterator[tuple[str, Any]]:
    for match in _KEYWORD.finditer(message.folded, start, end):
        group = "text" if match["text"] is not None else "word"
        if match["key"] == "streaming":
            yield "streaming", match[group] == "true"
        elif match["key"] in _KEYS:
            yield _KEYS[match["key"]], message.words(*match.span(group))


def _options(message: Message, match: re.Match[str]) -> dict[str, Any]:
    """Return the options in the brackets after an id, or none if a part is not understood."""
    options: dict[str, Any] = {}
    place = match.start("items")
    for item in _SEPARATOR.split(match["items"]):
        start = message.folded.find(item, place)
        place = start + len(item)
        option = _option(message, start, item)
        if option is None or option[0] in options:
            return {}
        options[option[0]] = option[1]
    return options


def _pairs(message: Message, match: re.Match[str]) -> dict[str, Any]:
    """Return the options that follow an id as name=value pairs: "split=train w=1"."""
    options: dict[str, Any] = {}
    for pair in _PAIR.finditer(message.folded, *match.span("pairs")):
        option = _option(message, pair.start(), pair[0])
        options |= dict([option]) if option is not None else {}
    return options


def _option(message: Message, start: int, item: str) -> tuple[str, Any] | None:
    """Return the key and the value of one item in brackets."""

    def written(found: re.Match[str], *groups: str) -> str:
        group = next(name for name in groups if found[name] is not None)
        return message.words(start + found.start(group), start + found.end(group))

    if (found := _STREAMED.fullmatch(item)) is not None:
        return "streaming", True
    if (found := _SPLIT.fullmatch(item)) is not None:
        return "split", written(found, "any", "split")
    if (found := _WEIGHT.fullmatch(item)) is not None and (
        found["share"] or "." in item or found["named"]
    ):
        number = read_number(found["weight"])
        return None if number is None else ("weight", as_written(number))
    if (found := _ROWS.fullmatch(item)) is not None:
        number = read_number(found["rows"], kilo=1000)
        return None if number is None else ("max_rows", as_written(number))
    if (found := _SUBSET.fullmatch(item)) is not None:
        return "subset", written(found, "named", "quoted", "code")
    return None
