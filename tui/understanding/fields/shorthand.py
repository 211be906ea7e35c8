"""Experts' shorthand: "bs2 ga16 lr 2e-4 wu .03", "r=64 a=128 seqlen 8k".

An abbreviation of `shorthand.json` precedes its number, with or without a space; a single letter
needs a sign. Full names in the same line are read in the same way, so in "lr 1e-5 warmup .1" each
name gets the number after it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from ftc.spec.values.admission import admits
from ftc.tui.understanding.machines.chips import is_chip
from ftc.tui.understanding.reading import Change, Choice, value_at
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.text.word_tables import word_table

#: The placeholder for gradient accumulation, which a spec does not have.
ACCUMULATION: Final = "@accumulation"
_GLOBAL, _MICRO = "/training/global_batch", "/training/micro_batch"
_LENGTH: Final = "/data/max_length"
_WARMUP: Final = "/training/warmup"
_ANSWERS: Final = "/objective/num_generations"
_SPLITS: Final = "/data/splits/"
_TABLE: Final[Mapping[str, Mapping[str, list[str]]]] = word_table("shorthand")
_VALUE: Final = (
    r"(?P<value>\d+(?:[.,]\d+)?(?:e-?\d+)?k?|\.\d+)(?P<share> ?%)?"
    r"(?![\w%]|[.,]\w|/\w(?!\w*\s?[=:]))"
)
#: Signs that the number is not the whole value: a unit, the other end of a range.
_GOES_ON: Final = re.compile(
    r"\s*(?:(?:steps|passos|pasos)\b|(?:->|\u2192|-|\u2013|\bto\b|\bfins a\b|\bhasta\b|\bx\b)\s*\d"
    r"|(?:gpus?|cards?|x|of|del?|d'\w+)\b)"
)
#: "mbs 2 x ga 4 x 2 gpus": the cards are not part of the steps.
_ON_CARDS: Final = re.compile(r"\s*[x*\u00d7]\s*\d{1,3}\s?(?:gpus?|cards?|targetes|tarjetas)\b")
#: A warm-up may be counted in steps.
_STEPS: Final = re.compile(r"\s*(?:steps|passos|pasos)\b")
#: "betas (.9, .98)"
_BETAS: Final = re.compile(
    r"(?<![\w.])(?:adam[ _-]?)?betas?\s?[=:]?\s?[(\[]?\s?0?\.\d+\s?[,/]\s?(?P<second>0?\.\d+)"
    r"\s?[)\]]?"
)
#: "alpha=r", "alpha=2r"
_ALPHA_OF_RANK: Final = re.compile(
    r"(?<![\w.-])(?:(?:lora_)?a(?:lpha)?\s?=\s?|(?:lora_)?alpha\s)(?:(?P<times>\d)\s?[*x\u00d7]?\s?)?r(?:ank)?(?![\w.-])"
)
#: "bs 4x8": a batch, and the number of accumulated batches.
_ACCUMULATED: Final = re.compile(
    r"(?<![\w.-])(?:bsz?|batch(?:[ _-]?size)?|lote?s?)\s?[=:]?\s?(?P<micro>\d{1,4})\s?[x*\u00d7]\s?"
    r"(?P<steps>\d{1,4})(?![\w.])"
)
#: A full name belongs to a line of shorthand if it follows another pair.
_FOLLOWS: Final = re.compile(r"\x00[\s,;/|+]*$")
#: "r32", a rank; "r32/a64", "r32 a64", with its alpha.
_GLUED_RANK: Final = re.compile(
    r"(?<![\w.-])r(?P<rank>[2-9]|\d{2,4})(?:\s?[/,;+]?\s?a(?P<alpha>\d{1,4}))?(?![\w.-])"
    r"|(?<![\w.-])r\s(?P<apart>[2-9]|\d{2,4})[\s,/;]+a(?:l(?:f|ph)a)?\s?(?P<beside>\d{1,4})(?![\w.])"
    r"|(?<![\w.-])r (?:de|of|at|to|is|a) (?P<of>[2-9]|\d{2,4})(?![\w.])"
    r"|(?<![\w.-])a(?P<other>\d{1,4})\s?[/,;+]?\s?r(?P<second>\d{1,4})(?![\w.])"
)
#: "r16, A100 40GB": a card, and not an alpha. A capital letter beside a lower-case one also shows
#: this.
_CARD: Final = re.compile(r"^(?:\s?[x\u00d7]\s?\d|[\s-]\d+ ?gi?b?\b|[\s-](?:pcie|sxm\d?)\b)")
_LONGEST_ALPHA: Final = 3
_CARDS: Final = frozenset({"2", "10", "16", "30", "40", "100", "800"})
#: "beta2 0.95": the digit belongs to the name.
_NUMBERED: Final = re.compile(r"\s*[=:]?\s*\.?\d")
_KILO, _KILO_TOKENS = 1000, 1024


def read_shorthand(message: Message) -> Iterator[Change]:
    """Yield the abbreviated fields with their numbers; accumulation has its own pointer."""
    for betas in message.take(_BETAS):
        second = read_number(betas["second"])
        words = message.words(*betas.span())
        yield Change(pointer="/training/adam_beta2", value=second, words=words)
    yield from _read_alpha(message)
    yield from _read_ranks(message)
    for pair in message.take(_ACCUMULATED):
        words = message.words(*pair.span())
        yield Change(pointer=_MICRO, value=int(pair["micro"]), words=words)
        yield Change(pointer=ACCUMULATION, value=int(pair["steps"]), words=words)
    position = 0
    while match := _pattern().search(message.folded, position):
        position = match.end("name")
        pointer, kind = _pointer(match)
        before = message.folded[: match.start()]
        glued = kind == "full" and match.end("name") == match.start("value")
        if glued and _NUMBERED.match(message.folded, match.end()):
            continue
        goes_on = _GOES_ON.match(message.folded, match.end())
        if (kind == "full" and not _FOLLOWS.search(before)) or (
            goes_on
            and not (pointer == _WARMUP and _STEPS.match(goes_on[0]))
            and not (pointer == ACCUMULATION and _ON_CARDS.match(message.folded, match.end()))
        ):
            continue
        value = _value(pointer, match["value"], share=match["share"] is not None)
        fits = value is not None and (
            pointer in (ACCUMULATION, _WARMUP) or goes_on is not None or admits(pointer, value)
        )
        ends = None if pointer == _ANSWERS else match.end()  # "16 gens": not the Catalan word
        if not fits or message.denied(match.start(), ends):
            continue
        words = message.words(*match.span())
        message.cross_out(*match.span())
        position = match.end()
        yield Change(pointer=pointer, value=value, words=words)


def _read_alpha(message: Message) -> Iterator[Change]:
    """Yield the alpha that is given relative to the rank in the same message."""
    rank = re.search(r"(?<![\w.-])r(?:ank)?\s?[=:]?\s?(\d+)(?![\w.])", message.plain)
    for match in message.take(_ALPHA_OF_RANK) if rank else ():
        value = int(match["times"] or 1) * int(rank[1]) if rank else 0
        yield Change(pointer="/method/alpha", value=value, words=message.words(*match.span()))


def _read_ranks(message: Message) -> Iterator[Change]:
    """Yield the rank of "r32", and the alpha beside it."""
    for match in list(_GLUED_RANK.finditer(message.folded)):
        rank, alpha = (
            match["rank"] or match["second"] or match["apart"] or match["of"],
            match["alpha"] or match["other"] or match["beside"],
        )
        end = match.end()
        if match["alpha"] and _is_card(message, match):
            alpha, end = None, match.end("rank")
        words = message.words(match.start(), end)
        message.cross_out(match.start(), end)
        yield Change(pointer="/method/rank", value=int(rank), words=words)
        if alpha:
            yield Change(pointer="/method/alpha", value=int(alpha), words=words)


def _is_card(message: Message, match: re.Match[str]) -> bool:
    """Return whether a GPU follows a rank: "r16, A100 40GB", "r16 A10"."""
    written = message.words(match.start("alpha") - 1, match.end("alpha"))
    capital = written[0].isupper() and not message.words(*match.span())[0].isupper()
    if len(match["alpha"]) > _LONGEST_ALPHA and is_chip(f"a{match['alpha']}"):
        return True  # "r16, A6000"
    known = match["alpha"] in _CARDS
    return known and (capital or _CARD.match(message.folded[match.end() :]) is not None)


def settle_batches(said: list[Change | Choice], draft: Mapping[str, Any]) -> list[Change | Choice]:
    """Replace accumulation steps, which a spec does not have, by the resulting global batch.

    A batch size beside accumulation steps is the micro-batch. Without one in the message, the
    draft's micro-batch is used; if the draft has none either, ftc asks.
    """
    steps = next((each for each in said if each.pointer == ACCUMULATION), None)
    if not isinstance(steps, Change):
        return said
    rest = [each for each in said if each is not steps]
    passes = [each for each in rest if each.pointer in (_MICRO, _GLOBAL) and _is_count(each)]
    micro = next((each for each in passes if each.pointer == _MICRO), None)
    both = micro is not None and any(each.pointer == _GLOBAL for each in passes)
    if both:  # both batches are given, and the accumulation follows from them
        return rest
    own = micro or next(iter(passes), None)
    now = value_at(draft, _MICRO) if own is None else own.value  # type: ignore[union-attr]
    if not isinstance(now, int):
        return [*rest, Choice(pointer=_GLOBAL, values=(), words=steps.words)]
    value = now * int(steps.value) * _machines(said, draft)
    kept = [replace(each, pointer=_MICRO) if each is own else each for each in rest]
    return [*kept, Change(pointer=_GLOBAL, value=value, words=steps.words)]


def _is_count(said: Change | Choice) -> bool:
    return isinstance(said, Change) and isinstance(said.value, int)


def _machines(said: list[Change | Choice], draft: Mapping[str, Any]) -> int:
    """Return the GPUs of all nodes, those of the message before those of the draft."""
    total = 1
    for pointer in ("/hardware/count", "/hardware/nodes"):
        stated = [
            each.value for each in said if isinstance(each, Change) and each.pointer == pointer
        ]
        value = stated[0] if stated else value_at(draft, pointer)
        total *= value if isinstance(value, int) else 1
    return total


def _value(pointer: str, text: str, *, share: bool) -> int | float | None:
    kilo = _KILO_TOKENS if pointer == _LENGTH else _KILO
    number = read_number(text, kilo=kilo)
    if number is None:
        return None
    share = share or (pointer.startswith(_SPLITS) and number >= 1)
    return as_written(round(number / 100, 6) if share else number)


def _pointer(match: re.Match[str]) -> tuple[str, str]:
    """Return the field that a match names, and whether the name is short or full."""
    group = next(
        name
        for name in match.groupdict()
        if name[0] == "n" and name[1:].isdigit() and match[name] is not None
    )
    return _names()[int(group[1:])][:2]


@cache
def _names() -> tuple[tuple[str, str, str], ...]:
    """Return each field with the type and the pattern of its short or full names."""
    kinds = {"full": {at: [any_of(words)] for at, words in WORDS["quantities"].items()}, **_TABLE}
    return tuple(
        (pointer, kind, "|".join(names))
        for kind in ("terse", "signed", "full")
        for pointer, names in kinds[kind].items()
    )


@cache
def _pattern() -> re.Pattern[str]:
    parts = [
        rf"(?P<n{index}>{names}){'(?=' + chr(92) + 's?[=:])' if kind == 'signed' else ''}"
        for index, (_, kind, names) in enumerate(_names())
    ]
    return re.compile(
        rf"(?<![\w.,/\\-])(?:--?)?(?P<name>{'|'.join(parts)})(?:\s?[=:]\s?|[ \t]*){_VALUE}"
    )
