"""Misspelt names of settings: "learing rate", "ephocs", "epoqes".

Only long names that resemble no other common word are corrected, if one letter is wrong, missing or
added, or two letters are swapped.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from ftc.tui.understanding.text.numerals import Numeral

_NAMES: Final = (
    *("epoch", "epochs", "learning", "dropout", "warmup", "gradient", "accumulation"),
    *("validation", "checkpoint", "checkpoints", "scheduler", "optimizer", "optimiser"),
    *("attention", "sequence", "epoca", "epoques", "epocas", "aprenentatge", "aprendizaje"),
    *(
        "escalfament",
        "calentamiento",
        "semilla",
        "tokens",
        "alpha",
        "rank",
        "improve",
        "export",
        "quantize",
        "quantise",
        "every",
        "length",
        "batch",
        "weight",
        "accuracy",
        "project",
        "checkpointing",
        "temperature",
        "proyecto",
        "projecte",
    ),
)
_WORD: Final = re.compile(r"(?<![\w./\\-])[a-z]{4,14}(?![\w./\\-])")
#: Correct words and endings that resemble a name.
_RIGHT: Final = re.compile(
    r"earnings?|token|gradients|sequences|optimi[sz]e|schedule[sd]?|epochal|attentions?|tensions?"
    r"|experts?|sevilla|ever|even|emery|epic\w*|validat\w+|warmups?|learnings?|leaning"
    r"|weigh(?:s|ts|ed|ty)?|lengths|lengthy|baths?|botch|bitch|bach|projects|protect(?:ed)?|proyect[oa]s?"
    r"|projectes|pro[jy]ector(?:s|es)?|temperatura|temperatures|checkpoint"
)


_WIDTHS: Final = {
    "two": "2",
    "dos": "2",
    "three": "3",
    "tres": "3",
    "four": "4",
    "quatre": "4",
    "cuatro": "4",
    "five": "5",
    "cinc": "5",
    "cinco": "5",
    "six": "6",
    "sis": "6",
    "seis": "6",
    "eight": "8",
    "vuit": "8",
    "ocho": "8",
}
_SHORT: Final = (
    (re.compile(r"(?<![\w-])(?:teh|hte|th)(?= [a-z])"), "the"),
    (
        re.compile(
            r"(?<=[a-z] )2(?= (?:\d+(?:[.,]\d+)?(?:e-?\d+)?k?%?)"
            r"(?:\s*$|[.,;!]| (?:pls|please|plz|thx|thanks|and|then)\b))"
        ),
        "to",
    ),
    (re.compile(r"(?:(?<=lo )|(?<=hay )|(?<=para )|(?<=tiene ))q(?= [a-z]{2})"), "que"),
    (
        re.compile(
            r"(?:(?<=\bmax)|(?<=\bmin)|(?<=\bpart)|(?<=\bep)|(?<=\bexp)|(?<=\bnum)|(?<=\bact))"
            r"\.(?= ?[a-z\d|,;])"
        ),
        "",
    ),
    (
        re.compile(r"(?<![\w-])gc(?:kpt|heck)?(?=(?:=| )(?:on|off|every|cada|true|false)\b)"),
        "grad ckpt",
    ),
    (
        re.compile(r"(?<=\d )tok(?:en)?s?\s?/\s?(?:resp\w*|answer|reply|completion)"),
        "answer tokens",
    ),
    (re.compile(r"(?<=\d )toks?\b|(?<=[a-z] )toks?\b"), "tokens"),
    (re.compile(rf"(?<![\w-])(?P<width>{'|'.join(_WIDTHS)})(?=[ -]bits?\b)"), None),
)
#: Model families, whose misspelt names count before a number: "gema 3", "mistal 7b".
_FAMILIES: Final = ("gemma", "mistral", "mixtral", "llama", "deepseek", "granite", "falcon")
_BEFORE_NUMBER: Final = re.compile(r"(?<![\w./\\-])[a-z]{4,9}(?=[ -]?\d)")
_NO_FAMILY: Final = frozenset({"gamma", "lambda"})
#: In shorter words, only the order of the letters is corrected.
_SHORTEST: Final = 5


def find_typos(folded: str) -> Iterator[Numeral]:
    """Yield the misspelt names of a folded text, each with the correct name.

    Short forms are also expanded: "bump the seed 2 2024", "lo q contesta", "six-bit".
    """
    for pattern, word in _SHORT:
        for match in pattern.finditer(folded):
            said = _WIDTHS[match["width"]] if word is None else word
            yield Numeral(start=match.start(), end=match.end(), digits=said)
    for match in _BEFORE_NUMBER.finditer(folded):
        family = _correct_family(match[0])
        if family is not None:
            yield Numeral(start=match.start(), end=match.end(), digits=family)
    for match in _WORD.finditer(folded):
        name = _correct(match[0])
        if name is not None:
            yield Numeral(start=match.start(), end=match.end(), digits=name)


@cache
def _correct_family(word: str) -> str | None:
    if word in _FAMILIES or word in _NO_FAMILY:
        return None
    return next((each for each in _FAMILIES if word[0] == each[0] and _is_near(word, each)), None)


@cache
def _correct(word: str) -> str | None:
    if word in _NAMES or _RIGHT.fullmatch(word):
        return None
    near = [name for name in _NAMES if word[0] == name[0] and _is_near(word, name)]
    return near[0] if near else None


def _is_near(word: str, name: str) -> bool:
    """Return whether one edit, or a change of order, turns one word into the other."""
    if sorted(word) == sorted(name):
        return True
    if len(word) < _SHORTEST - 1 or len(name) < _SHORTEST or abs(len(word) - len(name)) > 1:
        return False
    start = 0
    while start < min(len(word), len(name)) and word[start] == name[start]:
        start += 1
    rest = max(0, len(word) - start), max(0, len(name) - start)
    longest = max(rest)
    same = {word[start + 1 :] == name[start:], word[start:] == name[start + 1 :]}
    return longest > 0 and (True in same or word[start + 1 :] == name[start + 1 :])
