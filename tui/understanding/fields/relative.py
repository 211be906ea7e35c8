"""Changes relative to a value: "half the learning rate", "alpha twice the rank", "el doble"."""

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Final

from ftc.spec.schema import branches, fields
from ftc.spec.values.expectation import types_of
from ftc.tui.understanding.fields.shorthand import read_shorthand
from ftc.tui.understanding.fields.spoken import Mention, find_mentions, spoken_names
from ftc.tui.understanding.reading import Change, Choice, value_at
from ftc.tui.understanding.text.lexicon import NUMBER, WORDS, any_of
from ftc.tui.understanding.text.message import Message, fold
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.values.quantities import read_quantities

_FACTORS: Final = tuple(
    (float(factor), any_of(words)) for factor, words in WORDS["factors"].items()
)
_ROWS: Final = "/data/max_rows"
_SEED: Final = "/training/seed"
_RANK, _ALPHA = "/method/rank", "/method/alpha"
#: "alpha 8 and a rank that is double": the other one of two that people set together.
_PARTNERS: Final[Mapping[str, str]] = {
    _RANK: _ALPHA,
    "/data/splits/test": "/data/splits/validation",
    "/data/splits/validation": "/data/splits/test",
    "/training/global_batch": "/training/micro_batch",
    "/training/micro_batch": "/training/global_batch",
}
_BETWEEN: Final = (
    r"(?:[ ]+(?!and\b|but\b|i\b|y\b|pero\b|per\b|each\b|every\b|por\b|cada\b)[\w']+){0,3}?[ ]+"
    r"(?:l')?"
)
_OTHERS: Final = (
    ("/hardware/count", r"(?:gpus|(?:graphics )?cards|targetes|tarjetas|grafiques|graficas)"),
    (_ROWS, r"(?:rows|data|examples|files|dades|exemples|filas|datos|ejemplos)"),
)
_TIMES: Final = (
    rf"(?:(?P<times>{NUMBER}) (?:times|cops|vegades|veces)"
    rf"(?: (?:as \w+ as|(?:bigger|higher|larger|greater|more|mes|mas)(?: \w+)?"
    r"(?: (?:than|que))?))?)"
)
_SHARE_OF: Final = rf"(?:(?P<share>{NUMBER}\s*%) (?:of|del?|dels?|de la))"
_SAME: Final = rf"(?P<same>{any_of(WORDS['same'])})"
_NAMED_FACTORS: Final = "|".join(f"(?P<f{n}>{said})" for n, (_, said) in enumerate(_FACTORS))
_FACTOR: Final = rf"(?:{_TIMES}|{_SHARE_OF}|{_SAME}|{_NAMED_FACTORS})"
_THE: Final = r"(?:(?:the|of|that of|a|as|del?|dels|la|el|els|les|los|las|than|que)\s+|l')*"
_LINKS: Final = r"[\s:=,]+(?!and\b|i\b|y\b)(?:[\w']+\s+){0,2}?"
#: Between two names: "alpha at twice the rank".
_TO_OTHER: Final = re.compile(rf"[\s:=]+(?!and\b|i\b|y\b)(?:[\w']+\s+){{0,2}}?{_FACTOR}\s+{_THE}")
_NOW: Final = any_of(WORDS["what_it_is"])
#: After a name: "the learning rate, a fifth of its value".
_OF_ITSELF: Final = re.compile(
    rf"{_LINKS}{_FACTOR}(?:\s+{_THE}{_NOW}(?!\w)|(?P<alone>)(?=\s*(?:$|[.,;])))"
)
#: After a name, of the field before it: "rank 64 and alpha twice that".
_OF_THAT: Final = re.compile(
    rf"{_LINKS}{_FACTOR}\s+(?:d'|de )?(?:that|this|it|aixo|allo|aquest|eso|ese|este)\b"
)
_ANY: Final = re.compile(rf"\b(?:{_FACTOR})(?!\w)")
_ONLY: Final = re.compile(_FACTOR)
_SMALLEST_COUNT: Final = 1
_LARGEST_PART: Final = 20
#: A smaller number is not a fraction in words, but a rate that was already computed.
_LEAST_PART: Final = 0.03
_ADDED: Final = r"(?:more|extra|additional|further|mes|mas|addicionals?|adicionales?)"
_ADDS: Final = (
    r"(?:add|plus|another|afegeix(?:-hi|-ne)?|suma(?:-hi|-li|le)?|anade(?:le)?|un altre|una altra"
    r"|altres|otro|otra|otr[oa]s)"
)
_LESS: Final = r"(?:less|fewer|menys|menos)"
_RAISES: Final = (
    r"(?:raise|bump|increase|up|puja|pugem|apuja|augmenta|sube|subamos|aumenta)"
    r"(?:-hi|-li|le)?(?: up)?"
)
_LOWERS: Final = (
    r"(?:lower|drop|decrease|reduce|cut|baixa|abaixa|redueix|baja|bajamos|reduce|treu|quita)"
    r"(?:-hi|-li|le)?(?: down)?"
)
_DET: Final = r"(?:(?:the|el|la|els|les|los|las)\s+|l')?"
_COMPARES: Final = (
    r"(?!\s+(?:(?:than|de|que|del|d'|of|or|o)\b"
    r"|(?:gran|petit|llarg|curt|alt|baix|large?|pequen|cort|baj|big|small|long|short|high)))"
)
#: A fraction in words, already converted to a number: "a la quarta part", "a third".
_FRACTION: Final = re.compile(
    r"\b(?:quarter|third|fifth|tenth|(?:tercera|quarta|cuarta|cinquena|quinta|desena|decima) parte?"
    r"|terc|tercio|quart|cuarto|cinque|quinto|decim|decimo)\b"
)
_ADDING: Final = re.compile(rf"\b(?:{_ADDED}|{_ADDS}|{_RAISES}|{_LOWERS}|{_LESS})\b")
#: The groups that subtract.
_TAKEN: Final = frozenset({"cut", "fewer", "less"})
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)%(?: (?:of|del?)(?: \w+)?)?")
_RATES: Final = frozenset({"/training/learning_rate", "/training/embedding_learning_rate"})


def read_relative(
    message: Message, draft: Mapping[str, Any], planned: Mapping[str, Any]
) -> Iterator[Change | Choice]:
    """Yield the current value times the factor, or a question if there is no current value.

    The factor may also apply to another field, whose value in the message takes precedence.
    """
    adds = _ADDING.search(message.folded) is not None
    if not adds and not _ANY.search(message.folded):
        return
    mentions = _numeric_mentions(message)
    if adds:
        yield from _read_added(message, mentions, draft, planned)
    yield from _read_pairs(message, mentions, draft, planned)
    for pointer, factor, pattern in _patterns(frozenset(each.pointer for each in mentions)):
        for match in message.take(pattern):
            now = _present(pointer, draft, planned)
            yield _scaled(pointer, now, factor, message.words(*match.span()))


def scale_fractions(
    said: Sequence[Change | Choice], draft: Mapping[str, Any], planned: Mapping[str, Any]
) -> list[Change | Choice]:
    """Replace a fraction in words by that fraction of the current value.

    "The learning rate to a quarter" is not a rate of 0.25, but a validation share of a quarter is
    0.25.
    """
    return [
        _scaled(each.pointer, _present(each.pointer, draft, planned), _part(each.value), each.words)
        if isinstance(each, Change)
        and isinstance(each.value, float)
        and (each.pointer in _RATES or each.pointer in _counts())
        and _LEAST_PART <= each.value < 1
        and _FRACTION.search(fold(each.words))
        else each
        for each in said
    ]


def _part(value: float) -> float:
    """Return one third exactly, instead of its rounded decimal."""
    return float(Fraction(value).limit_denominator(_LARGEST_PART))


def _read_added(
    message: Message,
    mentions: Sequence[Mention],
    draft: Mapping[str, Any],
    planned: Mapping[str, Any],
) -> Iterator[Change | Choice]:
    """Yield the current value plus an increment: "two more epochs", "un epoch más"."""
    for pointer in dict.fromkeys(each.pointer for each in mentions):
        now = _present(pointer, draft, planned)
        if isinstance(now, bool) or not isinstance(now, int | float) or pointer == _SEED:
            continue
        for match in message.take(_added(pointer)):
            kind = next((name for name, said in match.groupdict().items() if said), "other")
            number = read_number((match[kind] or "1").strip())
            if number is None or number < _SMALLEST_COUNT or message.denied(match.start()):
                continue
            value = now - number if kind in _TAKEN else now + number
            words = message.words(*match.span())
            if value > 0:
                yield Change(pointer=pointer, value=as_written(value), words=words)
            else:
                yield Choice(pointer=pointer, values=(), words=words)


@cache
def _added(pointer: str) -> re.Pattern[str]:
    name = f"(?:{_names()[pointer]})"
    return re.compile(
        rf"\b(?:{_ADDS}\s+)?(?P<more>{NUMBER})\s+{_ADDED}\s+{name}\b"
        rf"|\b(?:{_ADDS}\s+)?(?P<after>{NUMBER})\s+{name}\s+(?:de\s+)?{_ADDED}\b{_COMPARES}"
        rf"|\b{_RAISES}\s+(?P<raised>una?|one)\s+{name}\b"
        rf"|\b{_RAISES}\s+{_DET}{name}\s+(?:by|en|per)\s+(?P<by>{NUMBER})(?=\s*(?:$|[.,;!?]))"
        rf"|\b{_LOWERS}\s+{_DET}{name}\s+(?:by|en|per)\s+(?P<cut>{NUMBER})(?=\s*(?:$|[.,;!?]))"
        rf"|\b(?P<fewer>{NUMBER})\s+{_LESS}\s+{name}\b"
        rf"|\b(?P<less>{NUMBER})\s+{name}\s+(?:de\s+)?{_LESS}\b{_COMPARES}"
        rf"|\b{_ADDS}\s+(?:(?P<other>{NUMBER})\s+)?{name}\b(?!\s+(?:to|a|at)\s+\d)"
    )


def _read_pairs(
    message: Message,
    mentions: Sequence[Mention],
    draft: Mapping[str, Any],
    planned: Mapping[str, Any],
) -> Iterator[Change | Choice]:
    """Yield the fields of "A twice the B" and "A, a fifth of its value"."""
    for index, each in enumerate(mentions):
        match = _OF_ITSELF.match(message.folded, each.end)
        if match is not None and match["alone"] is not None and match["same"]:
            continue
        end, other = (match.end(), each.pointer) if match else (0, "")
        before = _said(message.words(0, each.start)) if match else {}
        named = index and mentions[index - 1].pointer == _RANK
        if match and other == _ALPHA and (named or _RANK in before):
            other = _RANK  # "rank 16, alpha double"
        elif match and match["alone"] is not None and _PARTNERS.get(other) in before:
            other = _PARTNERS[other]
        if match is None and index and (match := _OF_THAT.match(message.folded, each.end)):
            end, other = match.end(), mentions[index - 1].pointer
        if match is None and index + 1 < len(mentions):
            following = mentions[index + 1]
            match = _TO_OTHER.fullmatch(message.folded, each.end, following.start)
            end, other = following.end, following.pointer
        if match is None or "\x00" in message.folded[each.start : end]:
            continue
        words = message.words(each.start, end)
        said = {
            **_said(message.words(end, len(message.folded))),
            **_said(message.words(0, each.start)),
        }
        now = said.get(other, _present(other, draft, planned))
        message.cross_out(each.start, end)
        yield _scaled(each.pointer, now, _factor(match), words)


def _said(text: str) -> Mapping[str, Any]:
    """Return the fields' numbers in a part of a message."""
    message = Message(text)
    found = [*read_shorthand(message), *read_quantities(message)]
    return {each.pointer: each.value for each in found if isinstance(each, Change)}


def _factor(match: re.Match[str]) -> float:
    named = match.groupdict()
    if named["times"] is not None:
        return read_number(named["times"]) or 1.0
    if named["share"] is not None:
        return (read_number(named["share"].rstrip("% ")) or 100.0) / 100
    return next((factor for n, (factor, _) in enumerate(_FACTORS) if named[f"f{n}"]), 1.0)


def _present(pointer: str, draft: Mapping[str, Any], planned: Mapping[str, Any]) -> Any:
    now = value_at(draft, pointer)
    return planned.get(pointer) if now is None else now


def _scaled(pointer: str, now: Any, factor: float, words: str) -> Change | Choice:
    if isinstance(now, bool) or not isinstance(now, int | float):
        return Choice(pointer=pointer, values=(), words=words)
    return Change(pointer=pointer, value=scale(pointer, now, factor), words=words)


def scale(pointer: str, now: float, factor: float) -> int | float:
    """Return a field's value times a factor, rounded to six digits; a count stays a count."""
    value = now * factor
    if pointer in _counts():
        value = max(_SMALLEST_COUNT, round(value))
    return as_written(float(f"{value:.6g}"))


def read_factor(folded: str) -> float | None:
    """Return the factor in folded words that are only a factor, such as "half" or "3 times"."""
    match = _ONLY.fullmatch(folded)
    return None if match is None or match["same"] else _factor(match)


def read_part(text: str) -> float | None:
    """Return the fraction in words that are only a fraction, such as "a third"."""
    part = _PART.fullmatch(Message(text).folded)
    return _part(float(part[1]) / 100) if part and not re.search(r"\d", text) else None


def _numeric_mentions(message: Message) -> Sequence[Mention]:
    """Return the names of numeric fields, in the order of the message."""
    found = (each for each in find_mentions(message) if each.pointer in numeric_fields())
    return sorted(found, key=lambda each: each.start)


@cache
def numeric_fields() -> frozenset[str]:
    """Return the fields that may be numbers."""
    return frozenset(
        field.pointer
        for field in fields()
        if any({"number", "integer"} & {*types_of(branch)} for branch in branches(field.schema))
    )


@cache
def _counts() -> frozenset[str]:
    """Return the fields that are whole numbers."""
    kinds = {
        field.pointer: {kind for branch in branches(field.schema) for kind in types_of(branch)}
        for field in fields()
    }
    return frozenset(at for at, own in kinds.items() if "integer" in own and "number" not in own)


@cache
def _names() -> Mapping[str, str]:
    quantities = {at: any_of(words) for at, words in WORDS["quantities"].items()}
    return {**spoken_names(), **quantities}


@cache
def _patterns(named: frozenset[str]) -> tuple[tuple[str, float, re.Pattern[str]], ...]:
    """Return the patterns of "half the dropout" for the fields that a message names."""
    names = [*((at, name) for at, name in _names().items() if at in named), *_OTHERS]
    return tuple(
        (pointer, factor, re.compile(rf"\b(?:{said}{_BETWEEN}{name}|{name}{_BETWEEN}{said})\b"))
        for pointer, name in names
        for factor, said in _FACTORS
        if pointer != _ROWS or factor < 1
    )
