"""Reads how many layers are frozen or trained, as in "freeze the first 20 layers"."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ftc.compiler.knowledge.well_known.models import find_model
from ftc.tui.understanding.reading import Change, Choice, value_at
from ftc.tui.understanding.text.lexicon import NUMBER, WORDS, any_of
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import read_number

_LAYERS: Final[Mapping[str, Any]] = WORDS["layers"]
_NUMBER: Final = rf"(?P<number>{NUMBER})"
_FIRST, _LAST = any_of(_LAYERS["first"]), any_of(_LAYERS["last"])
_THE: Final = r"(?:the |les |las |los |els )?"
_NOUN: Final = rf"{any_of(_LAYERS['noun'])}(?!\w)"


def _counted(place: str) -> str:
    """Return a pattern for "the first 20 layers", with the words in either order."""
    return rf"{_THE}(?:{place} {_NUMBER.replace('number', 'after')}|{_NUMBER} {place}) {_NOUN}"


_FROZEN: Final = re.compile(rf"\b{any_of(_LAYERS['freeze'])} {_counted(_FIRST)}")
_KEPT: Final = re.compile(
    rf"\b{any_of(_LAYERS['freeze'])} {any_of(_LAYERS['except'])} {_counted(_LAST)}"
    rf"|\b{any_of(_LAYERS['train'])} {_counted(_LAST).replace('number', 'n').replace('after', 'm')}"
)

_INDEX: Final = r"\d{1,3}"
_UP_TO: Final = r"(?:-|\u2013|\.\.\.?|:|to|through|until|al?|(?:fins|hasta)(?: (?:a|al|el))?)"
_SPAN: Final = rf"{_INDEX}(?:\s*{_UP_TO}\s*(?:the |la |el )?{_INDEX})?"
#: "layers 18,19,20 and 21", "layers 24-27", "capes de la 8 a la 11".
_LISTED: Final = re.compile(
    rf"\b{_NOUN}\s+(?:(?:from|de|del|des de|desde)\s+)?(?:(?:the|la|el)\s+)?"
    rf"(?P<all>{_SPAN}(?:\s*(?:,|and|i|y|\+)\s*{_SPAN})*)"
    r"(?![\w%]|[.,]\d)"
)
_EXTENT: Final = re.compile(
    rf"(?P<first>{_INDEX})(?:\s*{_UP_TO}\s*(?:the |la |el )?(?P<last>{_INDEX}))?"
)
_SEVERAL: Final = 2
#: "freeze layers 0-19": the others are trained.
_FREEZES_THEM: Final = re.compile(rf"\b{any_of(_LAYERS['freeze'])}\s+{_THE}$")
#: "the last 6 blocks + lm_head".
_ALSO: Final = {
    "embeddings": r"(?:input |token )?embedd?ings?|embeds?",
    "head": r"(?:lm[_ ]?|output )?head",
}
_PART: Final = rf"(?:{'|'.join(_ALSO.values())})"
_JOIN: Final = (
    r"\s*(?:\+|,|&|\b(?:and|plus|i|y|e|mes|mas|amb|con|with)\b)\s*(?:(?:the|el|la|els|los)\s+)?"
)
_BESIDE: Final = re.compile(rf"{_JOIN}(?P<also>{_PART}(?:{_JOIN}{_PART})*)(?!\w)")
_FREEZES: Final = re.compile(rf"\b{any_of(_LAYERS['freeze'])}\b")
#: "gradient checkpointing every 2nd layer".
_RECOMPUTED: Final = re.compile(
    r"\b(?:(?:grad\w*|act\w*)[ _-])?(?:ckpt\w*|checkpoint\w*|recomput\w*|recalcul\w*|gc)\b"
    r"[^.;,\n\d]{0,32}?(?:\b(?:every|each|cada)\s+|\bc/\s?)"
    rf"(?:(?P<number>\d{{1,2}}|{NUMBER})(?:st|nd|rd|th|a|o)?|second|other)\s+"
    rf"{_NOUN}(?!\w)"
)
#: "recálculo selectivo de activaciones", "selective activation checkpointing".
_SELECTIVE: Final = re.compile(
    r"\bselecti(?:ve|u|us|va|vo|vos|vas)(?:ly)?\s+(?:(?:grad\w*|activation\w*|activacio\w*)\s+)?"
    r"(?:ckpt\w*|checkpoint\w*|recomput\w*|recalcul\w*)"
    r"|\b(?:ckpt\w*|checkpoint\w*|recomput\w*|recalcul\w*)\s+(?:\w+\s+){0,2}?selecti\w+"
)
_CHECKPOINTING: Final = "/training/gradient_checkpointing"


def read_recomputed(message: Message) -> Iterator[Change]:
    """Yield the interval of the recomputed layers, or that recomputation is selective."""
    for match in message.take(_SELECTIVE):
        if not message.denied(match.start()):
            words = message.words(*match.span())
            yield Change(pointer=_CHECKPOINTING, value="selective", words=words)
    for match in message.take(_RECOMPUTED):
        every = read_number(match["number"]) if match["number"] else 2.0
        if every and not message.denied(match.start()):
            words = message.words(*match.span())
            yield Change(pointer=_CHECKPOINTING, value=int(every), words=words)


def read_layers(message: Message, draft: Mapping[str, Any]) -> Iterator[Change | Choice]:
    """Yield the method, and the number of last layers to train.

    Frozen layers are subtracted from the model's layers; ftc asks if the model is not in the table.
    """
    yield from _read_listed(message, draft)
    for match in message.take(_KEPT):
        if not message.denied(match.start()):
            yield from _read_beside(message, match.end())
            yield from _train(_count(match, "number", "after", "n", "m"), message, match)
    for match in message.take(_FROZEN):
        if message.denied(match.start()):
            continue
        model = find_model(str(value_at(draft, "/model/id")))
        frozen = _count(match, "number", "after")
        left = model.shape.layers - frozen if model else 0
        yield from _train(left, message, match)


def _read_listed(message: Message, draft: Mapping[str, Any]) -> Iterator[Change | Choice]:
    """Yield the layers that are listed by number; if they are frozen, the others are trained."""
    for match in list(_LISTED.finditer(message.folded)):
        numbers = list(_numbers(match["all"]))
        if len(numbers) < _SEVERAL or message.denied(match.start()):
            continue
        words = message.words(*match.span())
        frozen = _FREEZES_THEM.search(message.folded[: match.start()]) is not None
        message.cross_out(*match.span())
        if frozen or _FREEZES.search(message.plain):
            yield Change(pointer="/method/type", value="freeze", words=words)
        if not frozen:
            yield Change(pointer="/method/layers", value=numbers, words=words)
            yield from _read_beside(message, match.end())
            continue
        model = find_model(str(value_at(draft, "/model/id")))
        left = sorted({*range(model.shape.layers)} - {*numbers}) if model else []
        if left:
            yield Change(pointer="/method/layers", value=left, words=words)
        else:
            yield Choice(pointer="/method/layers", values=(), words=words)


def _numbers(listed: str) -> Iterator[int]:
    """Yield the numbers of a list of layers and of ranges of them."""
    for match in _EXTENT.finditer(listed):
        first = int(match["first"])
        yield from range(first, int(match["last"] or first) + 1)


def _train(layers: int, message: Message, match: re.Match[str]) -> Iterator[Change | Choice]:
    words = message.words(*match.span())
    yield Change(pointer="/method/type", value="freeze", words=words)
    if layers > 0:
        yield Change(pointer="/method/layers", value=layers, words=words)
    else:
        yield Choice(pointer="/method/layers", values=(), words=words)


def _read_beside(message: Message, end: int) -> Iterator[Change]:
    """Yield the head and the embeddings if they are listed with the trained layers."""
    match = _BESIDE.match(message.folded, end)
    if match is not None:
        names = [name for name, said in _ALSO.items() if re.search(said, match[0])]
        words = message.words(*match.span("also"))
        message.cross_out(*match.span("also"))
        yield Change(pointer="/method/also_train", value=names, words=words)


def _count(match: re.Match[str], *groups: str) -> int:
    said = next(match[group] for group in groups if match[group] is not None)
    return int(read_number(said) or 0)
