"""Signs that people write instead of words: "top1 >= 0.95", "r -> 64", "r/alpha 128/256"."""

import re
from collections.abc import Iterator
from typing import Final

from ftc.tui.understanding.text.numerals import Numeral

_LETTERS: Final = {
    "\u03b1": "alpha",
    "\u03b2": "beta",
    "\u03b3": "gamma",
    "\u03b5": "epsilon",
    "\u03bb": "lambda",
    "\u03c4": "temperature",
}
_GREEK: Final = re.compile(rf"(?<![a-z\u0370-\u03ff])[{''.join(_LETTERS)}](?![a-z\u0370-\u03ff])")
#: Which of Adam's betas, before its value: "\u03b22 0.98".
_OF_ADAM: Final = re.compile(r"[12]\s*[=:]?\s*(?:0?[.,]\d|\s1\b)")
#: A sign between a name and its number. Between two numbers it is a change: "8 -> 16".
_BETWEEN: Final = re.compile(
    r"(?:(?<=[a-z] )|(?<=[a-z]\d ))(?:[-=]>|\u2192|[<>]=|[\u2264\u2265])(?= ?\.?\d)"
    r"|(?:(?<=\bkl )|(?<=ppl )|(?<=ratio )|(?<=divergence )|(?<=agreement )|(?<=top1 )|(?<=top-1 )"
    r"|(?<=drop ))[<>](?= ?\.?\d)"
)
_JOINED: Final = re.compile(r"(?<=[a-z])(?:\u2192|[<>]=|[\u2264\u2265])(?=\d)")
#: A bound before a number whose name follows: "≤1024 new tokens".
_BOUND: Final = re.compile(r"(?:(?<=^)|(?<=[,;(|] )|(?<=[,;(|]))(?:[<>]=|[\u2264\u2265]) ?(?=\d)")
#: Dots and bullets that separate the settings of a line.
_BULLET: Final = re.compile(r"(?<=\s)[\u00b7\u2022\u2027\u2219](?=\s)")
_NUMBER: Final = r"(?:\d+(?:\.\d+)?|\.\d+)(?:e-?\d+)?k?"
#: Names and their numbers in the same order: "lr/wd 1e-4/0.01", "micro/global batch 1/32".
_PAIRED: Final = re.compile(
    r"(?<![\w/.-])(?P<names>[a-z\u03b1-\u03c9][a-z_]*(?:\s?/\s?[a-z\u03b1-\u03c9][a-z_]*)+)"
    r"(?P<noun> (?:batch(?: size)?|lots?|lotes?))?"
    rf"(?:\s*[=:]\s*|\s+)(?P<values>{_NUMBER}(?:\s?/\s?{_NUMBER})+)(?![\w/])"
)
#: "c/200 pasos", as people write "cada" or "con".
_EACH: Final = re.compile(r"(?<![\w/])c/ ?(?=\d)")
#: Abbreviated words: "w/ 8 cards", "layers 36 thru 39", "incl. the experts".
_SHORTENED: Final = {
    "w/o": "without ",
    "w/": "with ",
    "thru": "to",
    "incl.": "including",
    "inc.": "including",
    "excl.": "excluding",
    "tb": "tambien",
    "tmb": "tambien",
    "&": "and",
}
_CUT_SHORT: Final = re.compile(
    r"(?<![^\s,;(])(?:(?P<with>w/o?)(?:\s+|(?=\d|[a-z]+(?:[\s,;]|$)))"
    r"|(?P<word>thru|(?:incl?|excl)\.|(?<!\d )tm?b|&)(?=[\s,]))"
)
#: A part or a multiple of a number: "half of 2e-4", "el doble de 16".
_FACTORS: Final = {"half": 0.5, "quarter": 0.25, "third": 1 / 3, "tenth": 0.1, "twice": 2.0}
_FACTOR_OF: Final = re.compile(
    r"(?<![\w-])(?:(?P<half>(?:a )?half of|(?:a )?la m(?:eitat|itad) d(?:e |'))"
    r"|(?P<quarter>(?:a|one) (?:quarter|fourth) of|(?:la |una )?(?:quarta|cuarta) part?e? d(?:e |')"
    r"|un (?:quart|cuarto) d(?:e |'))"
    r"|(?P<third>(?:a|one) third of|(?:la |una )?tercera parte? d(?:e |')"
    r"|un ter[cz](?:io)? d(?:e |'))"
    r"|(?P<tenth>(?:a|one) tenth of|(?:la |una )?(?:desena|decima) parte? d(?:e |'))"
    r"|(?P<twice>twice|double|(?:el )?doble d(?:e |')))\s*"
    r"(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)(?![\w%]|[.,]\d|\s?(?:%|[kmb]\b))"
)
#: "drop rows > 4096 tokens".
_OVER: Final = re.compile(r"(?<=[a-z] )>\s?(?=\d+k?\s?tok)")
_PARTS: Final = " / "
_SLASH: Final = re.compile(r"\s?/\s?")
#: Shares of the rows, which have their own reader.
_SPLITS: Final = frozenset({"train", "training"})


def find_signs(folded: str) -> Iterator[Numeral]:
    """Yield the signs of a folded text with the words that they mean."""
    for match in _PAIRED.finditer(folded):
        if folded.count(_PARTS) > match[0].count(_PARTS):
            continue  # "qlora / ctx 4k / 3 ep": slashes separate the settings
        names, values = _SLASH.split(match["names"]), _SLASH.split(match["values"])
        if len(names) == len(values) and _SPLITS.isdisjoint(names):
            noun = match["noun"] or ""
            pairs = (
                f"{_LETTERS.get(name, name)}{noun} {value}"
                for name, value in zip(names, values, strict=True)
            )
            yield Numeral(start=match.start(), end=match.end(), digits=", ".join(pairs))
    for match in _FACTOR_OF.finditer(folded):
        factor = next(value for name, value in _FACTORS.items() if match[name])
        digits = f"{factor * float(match['number']):.6g}"
        yield Numeral(start=match.start(), end=match.end(), digits=digits)
    for match in _CUT_SHORT.finditer(folded):
        said = _SHORTENED[match["with"] or match["word"]]
        yield Numeral(start=match.start(), end=match.end(), digits=said)
    for match in _GREEK.finditer(folded):
        said = _LETTERS[match[0]]
        joined = said == "beta" and _OF_ADAM.match(folded, match.end()) is not None
        apart = folded[match.end() : match.end() + 1].isdigit() and not joined
        yield Numeral(start=match.start(), end=match.end(), digits=f"{said} " if apart else said)
    for pattern, said in (
        (_EACH, "cada "),
        (_BETWEEN, "="),
        (_JOINED, "="),
        (_BOUND, ""),
        (_BULLET, ","),
        (_OVER, "over "),
    ):
        for match in pattern.finditer(folded):
            yield Numeral(start=match.start(), end=match.end(), digits=said)
