"""Reads wishes about an unnamed model: its size, maker, origin, languages and licence.

"something under 3B", "from Mistral", "que no sea china", "don't use qwen", "que parli català".
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from ftc.compiler.knowledge.well_known.model_names import names_a_family
from ftc.compiler.knowledge.well_known.models import Model, all_models, find_model
from ftc.tui.understanding.reading import Change, Choice, ModelWish, value_at
from ftc.tui.understanding.text.lexicon import any_of
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.word_tables import word_table

_TABLE: Final[Mapping[str, Any]] = word_table("makers")
_MODEL: Final = any_of(_TABLE["model"])
_NOTHING: Final = re.compile(rf"\b{any_of(_TABLE['nothing'])}\b")
_SIZE: Final = r"(?P<size>\d+(?:[.,]\d+)?) ?(?P<unit>b|bn|m)(?: of)?(?: param\w*)?(?![\w.])"
_BOUNDS: Final = (
    (
        "below",
        re.compile(rf"\b{any_of(_TABLE['below'])}(?: |(?<='))(?:an? |un |els |los )?{_SIZE}"),
    ),
    ("most", re.compile(rf"\b{any_of(_TABLE['at_most'])} (?:an? |un |els |los )?{_SIZE}")),
    ("least", re.compile(rf"\b{any_of(_TABLE['at_least'])} (?:an? |un |els |los )?{_SIZE}")),
)
_BETWEEN: Final = re.compile(
    r"\b(?:(?:between|entre) (?P<low>\d+(?:[.,]\d+)?) ?(?:b|bn)? (?:and|to|i|y|a) "
    rf"|(?:^|(?<![\w.-])(?:{_MODEL}|of|de|size|mida|tamano|range|rang|rango) )"
    rf"(?P<from>\d+(?:[.,]\d+)?) ?(?:b|bn)? ?[-\u2013] ?){_SIZE}"
)
_ABOUT: Final = re.compile(
    rf"\b(?:{any_of(_TABLE['about'])} |{_MODEL} (?:of |de |d'|with |amb |con )){_SIZE}"
    rf"|\b(?:an? |un )?{_SIZE.replace('size', 'own').replace('unit', 'its')} (?:models?|modelos?)\b"
)
#: "one from Qwen with 7B".
_OF_MAKER: Final = re.compile(
    rf"\b{_MODEL} (?:\w+ )?{any_of(_TABLE['by'])} ?[\w-]+,? (?:of |de |d'|with |amb |con ){_SIZE}"
)
#: By how much a model may be smaller than its name says: one of 1B is not below 1B.
_ROUNDING: Final = 0.03
_SPREAD: Final = 0.25  # relative tolerance of "about" a size
_BY: Final = rf"(?:{any_of(_TABLE['by'])} ?(?:the |la |el )?)"
_SPEAKS: Final = any_of(_TABLE["speaks"])
_FREE: Final = re.compile(rf"\b{any_of(_TABLE['free'])}(?!\w)")
#: A licence as an item of a list: "under 1B, apache".
_FREE_ITEM: Final = re.compile(
    rf"(?:^|[,;(]|\b(?:and|i|y)\b)\s*(?P<name>{any_of(_TABLE['free_name'])})\s*(?=[,;.)!?]|$|\b(?:and|i|y)\b)"
)
_FREE_LICENCES: Final = ("apache", "mit")
_SMALL: Final = re.compile(rf"\b{any_of(_TABLE['small'])}\b")
_SMALLER: Final = re.compile(rf"\b{any_of(_TABLE['smaller'])}\b")
_BIGGER: Final = re.compile(rf"\b{any_of(_TABLE['bigger'])}\b")
_MOST_OF_A_SMALL_ONE: Final = 4_500_000_000
_FEW_WORDS: Final = 7
#: Before a destination: "push it to Google Drive".
_TO: Final = re.compile(r"\b(?:to|onto|into|on|at|al?|en)\s+\Z")
_POINTER: Final = "/model/id"
_MANY: Final = 1_000_000_000
_SMALL_UNIT: Final = 1_000_000


def read_model_wishes(message: Message, draft: Mapping[str, Any]) -> Iterator[Change | Choice]:
    """Yield one question about the model, with all wishes in the message."""
    wish, spans = ModelWish(), list[tuple[int, int]]()
    wishes = [*_find(message, draft)]
    for found, start, end in (*wishes, *(_find_items(message) if wishes else ())):
        wish = wish.joined(found)
        spans.append((start, end))
    if spans:
        words = ", ".join(message.words(*span) for span in sorted(spans))
        for span in spans:
            message.cross_out(*span)
        yield Choice(pointer=_POINTER, values=(), words=words, why="model_wish", wish=wish)


def meets(wish: ModelWish, model: Model) -> bool:
    """Return whether a model meets a wish."""
    owner = model.id.partition("/")[0]
    size = model.shape.parameters
    name = model.id.casefold()
    if any(each == owner or each.casefold() in name for each in wish.without):
        return False
    origin = _TABLE["makers"].get(owner, {}).get("origin", "")
    if origin in wish.without_origins or (wish.origins and origin not in wish.origins):
        return False
    if wish.makers and owner not in wish.makers:
        return False
    if wish.free and not model.licence.casefold().startswith(_FREE_LICENCES):
        return False
    if not (wish.least or 0) <= size <= (wish.most or size):
        return False
    return all(language in model.languages for language in wish.languages)


def list_wished(wish: ModelWish) -> frozenset[str]:
    """Return the ids of the models that meet a wish."""
    return frozenset(model.id for model in all_models() if meets(wish, model))


def _find(message: Message, draft: Mapping[str, Any]) -> Iterator[tuple[ModelWish, int, int]]:
    yield from _find_sizes(message, draft)
    yield from _find_makers(message)
    yield from _find_origins(message)
    for code, pattern in _languages():
        for match in pattern.finditer(message.folded):
            yield ModelWish(languages=(code,)), *match.span()
    for match in _FREE.finditer(message.folded):
        if not message.denied(match.start()):
            yield ModelWish(free=True), *match.span()


def _find_items(message: Message) -> Iterator[tuple[ModelWish, int, int]]:
    """Yield the licences that stand alone beside another wish about the model."""
    for match in _FREE_ITEM.finditer(message.folded):
        yield ModelWish(free=True), *match.span("name")


def _find_sizes(message: Message, draft: Mapping[str, Any]) -> Iterator[tuple[ModelWish, int, int]]:
    """Yield bounds of the size, or an approximate size if there is no model yet."""
    between = _BETWEEN.search(message.folded)
    if between is not None:
        low = float((between["low"] or between["from"]).replace(",", ".")) * _MANY
        yield ModelWish(least=round(low), most=_parameters(between)), *between.span()
        return
    found = False
    for bound, pattern in _BOUNDS:
        for match in pattern.finditer(message.folded):
            size = _parameters(match)
            found = True
            before = message.folded[: match.start()]
            refused = message.denied(match.start()) or _NOTHING.search(before) is not None
            most = (bound != "least") is not refused  # "nothing above 8B"
            if bound == "below" and most:
                size = round(size * (1 - _ROUNDING))
            yield (
                ModelWish(most=size if most else None, least=None if most else size),
                *match.span(),
            )
    if found:
        return
    of_maker = _OF_MAKER.search(message.folded)
    if of_maker is not None:
        yield _about(of_maker), of_maker.start("size"), of_maker.end()
        return
    yield from _find_relative(message, draft)
    if value_at(draft, _POINTER) is not None:
        return
    for match in _ABOUT.finditer(message.folded):
        if names_a_family(message.folded[: match.start()]):
            continue  # "the llama 3.2 3b model"
        yield _about(match), *match.span()


def _about(match: re.Match[str]) -> ModelWish:
    """Return the wish of an approximate size."""
    size = _parameters(match)
    return ModelWish(least=round(size * (1 - _SPREAD)), most=round(size * (1 + _SPREAD)))


def _find_relative(
    message: Message, draft: Mapping[str, Any]
) -> Iterator[tuple[ModelWish, int, int]]:
    """Yield the wish of "a small model", and of one smaller than the draft's."""
    own = find_model(str(value_at(draft, _POINTER)))
    bounds = [(_SMALL, ModelWish(most=_MOST_OF_A_SMALL_ONE))]
    if own is not None:
        size = own.shape.parameters
        bounds += [(_SMALLER, ModelWish(most=size - 1)), (_BIGGER, ModelWish(least=size + 1))]
    for pattern, wish in bounds:
        match = pattern.search(message.folded)
        if match is not None and not message.denied(match.start()):
            yield wish, *match.span()
            return


def _parameters(match: re.Match[str]) -> int:
    groups = match.groupdict()
    size, unit = groups.get("size"), groups.get("unit")
    if size is None:
        size, unit = groups["own"], groups["its"]
    scale = _SMALL_UNIT if unit == "m" else _MANY
    return round(float(str(size).replace(",", ".")) * scale)


def _find_makers(message: Message) -> Iterator[tuple[ModelWish, int, int]]:
    """Yield wanted makers ("a model from Mistral") and unwanted ones ("no qwen").

    A company as a destination rejects nothing: "do not upload it to Hugging Face".
    """
    for owner, alone, wanted in _makers():
        for match in alone.finditer(message.folded):
            if not names_a_family(match["name"]) and _TO.search(message.folded, 0, match.start()):
                continue
            if message.denied(*match.span()) or _NOTHING.search(message.folded[: match.start()]):
                named = re.sub(r"[^a-z0-9]", "", match["name"])
                yield ModelWish(without=(owner, named)), *match.span()
        for match in wanted.finditer(message.folded):
            if not message.denied(match.start()):
                yield ModelWish(makers=(owner,)), *match.span()


def _find_origins(message: Message) -> Iterator[tuple[ModelWish, int, int]]:
    """Yield the wanted and unwanted origins of a model."""
    short = len(message.folded.split()) <= _FEW_WORDS
    about_models = re.search(r"\bmodel(?:o|s|os)?\b", message.folded) is not None
    for origin, alone, wanted in _origins():
        for match in alone.finditer(message.folded):
            before = message.folded[: match.start()]
            denied = message.denied(*match.span()) or _NOTHING.search(before) is not None
            if denied and (short or about_models):
                yield ModelWish(without_origins=(origin,)), *match.span()
                break
        else:
            for match in wanted.finditer(message.folded):
                yield ModelWish(origins=(origin,)), *match.span()


@cache
def _makers() -> tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...]:
    """Return for each maker the pattern of its name, and of a model from it."""
    return tuple(
        (
            owner,
            re.compile(
                rf"(?<![\w/.-])(?P<name>{'|'.join(entry['names'])})(?:'s)?(?: models?| modelos?)?"
                r"(?![\w/.]|[ -]?\d)(?! (?:instruct|base|small|large|mini|nemo|chat)\b)"
            ),
            re.compile(
                rf"\b{_MODEL} (?:\w+ )?{_BY}(?:{'|'.join(entry['names'])})(?![\w/.]|[ -]?\d)"
            ),
        )
        for owner, entry in _TABLE["makers"].items()
    )


@cache
def _origins() -> tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...]:
    """Return for each origin the pattern of its words, and of a model from there."""
    return tuple(
        (
            origin,
            re.compile(rf"\b{any_of(words)}\b"),
            re.compile(
                rf"\b(?:{any_of(words)} (?:models?|ones?)|models?o?s? (?:that (?:is|are) |"
                rf"que sigui |que sea )?{_BY}?{any_of(words)})\b"
            ),
        )
        for origin, words in _TABLE["origins"].items()
    )


#: "which model do you recommend for Catalan?"
_ADVISED: Final = (
    r"(?:which|what|quin|que|cual)\w* models?o?s? [^.;,!?\n]{0,30}?"
    r"(?:recommend|suggest|recoman\w*|recomiend\w*|aconsell\w*|aconsej\w*) (?:\w+ ){0,2}?"
)


@cache
def _languages() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (
            code,
            re.compile(
                rf"\b(?:{_SPEAKS} (?:\w+ ){{0,2}}?(?:el |en )?|models?o? (?:in|en|for|per a|para) "
                rf"|{_ADVISED}(?:for|per a|para) (?:el )?)"
                rf"{any_of(words)}\b"
            ),
        )
        for code, words in _TABLE["languages"].items()
    )
