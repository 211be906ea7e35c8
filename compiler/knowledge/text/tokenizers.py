"""Tokens per character for each tokenizer family, to estimate lengths without a tokenizer.

Latin letters, punctuation and spaces have a ratio of characters per token. Every other script has a
rate of tokens per character, as do digits; `.ci/token_rates.py` measures both. A character of any
other script counts as its UTF-8 bytes, which is the maximum for a tokenizer with byte fallback.
"""

import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Final, TypedDict, cast

from ftc.compiler.knowledge.tables import read_table

__all__ = ["SCRIPTS", "chars_per_token", "count_tokens", "find_scripts", "tokenizer_families"]

#: The ranges of characters with their own rate, first and last included.
SCRIPTS: Final[Mapping[str, tuple[tuple[int, int], ...]]] = {
    "accented": ((0x1E00, 0x1EFF),),
    "greek": ((0x370, 0x3FF), (0x1F00, 0x1FFF)),
    "cyrillic": ((0x400, 0x52F),),
    "armenian": ((0x530, 0x58F),),
    "hebrew": ((0x590, 0x5FF),),
    "arabic": ((0x600, 0x6FF), (0x750, 0x77F), (0xFB50, 0xFDFF), (0xFE70, 0xFEFF)),
    "devanagari": ((0x900, 0x97F),),
    "bengali": ((0x980, 0x9FF),),
    "gurmukhi": ((0xA00, 0xA7F),),
    "gujarati": ((0xA80, 0xAFF),),
    "odia": ((0xB00, 0xB7F),),
    "tamil": ((0xB80, 0xBFF),),
    "telugu": ((0xC00, 0xC7F),),
    "kannada": ((0xC80, 0xCFF),),
    "malayalam": ((0xD00, 0xD7F),),
    "sinhala": ((0xD80, 0xDFF),),
    "thai": ((0xE00, 0xE7F),),
    "lao": ((0xE80, 0xEFF),),
    "tibetan": ((0xF00, 0xFFF),),
    "burmese": ((0x1000, 0x109F),),
    "georgian": ((0x10A0, 0x10FF),),
    "ethiopic": ((0x1200, 0x137F),),
    "khmer": ((0x1780, 0x17FF),),
    "cjk": ((0x3000, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xFF00, 0xFFEF)),
    "hangul": ((0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7AF)),
    "symbols": ((0x2000, 0x2BFF),),
    "emoji": ((0xFE00, 0xFE0F), (0x1F100, 0x1F1FF), (0x1F300, 0x1FAFF)),
}
#: The last character of the Latin blocks, which the ratios of characters per token are about.
_LAST_LATIN: Final = 0x36F
_NOT_LATIN: Final = re.compile(f"[^\\0-{chr(_LAST_LATIN)}]+")
_NUMBERS: Final = re.compile("[0-9]+")
_BYTES: Final = "bytes"  # the name for characters of other scripts


class _Ratio(TypedDict):
    """`like` names the measured family whose ratios an unmeasured family uses."""

    english: float
    other: float
    like: str | None
    source: str


def chars_per_token(family: str, *, english: bool = True) -> float:
    """Return the characters per token of prose; for an unknown family, the lowest of the table.

    The lowest ratio gives the most tokens, so lengths are not underestimated.
    """
    ratios = _families()
    known = [ratios[family]] if family in ratios else list(ratios.values())
    return min(ratio["english"] if english else ratio["other"] for ratio in known)


def count_tokens(text: str, family: str, latin: float) -> int:
    """Estimate a text's tokens; `latin` is the number of Latin characters per token.

    The rates are 90th percentiles over texts, so a length is rarely too low.
    """
    rates = _rates(family)
    numbers = _NUMBERS.findall(text)
    digits = sum(map(len, numbers))
    tokens, others = rates["digit"] * digits + rates["number"] * len(numbers), 0
    for script, runs in {} if text.isascii() else find_scripts(text).items():
        size = sum(map(len, runs))
        others += size
        bytes_used = sum(len(run.encode("utf-8", "surrogatepass")) for run in runs)
        tokens += rates[script] * size if script in rates else bytes_used
    return math.ceil(tokens + (len(text) - digits - others) / latin)


def find_scripts(text: str) -> Mapping[str, list[str]]:
    """Return the runs of non-Latin characters, by their script."""
    found: dict[str, list[str]] = {}
    for other in _NOT_LATIN.finditer(text):
        for run in _runs().finditer(other[0]):
            found.setdefault(run.lastgroup or _BYTES, []).append(run[0])
    return found


def tokenizer_families() -> tuple[str, ...]:
    """Return the names of all families."""
    return tuple(_families())


@cache
def _runs() -> re.Pattern[str]:
    """Return the pattern of a run of one script, a named group for each."""
    sets = {name: "".join(f"{chr(a)}-{chr(z)}" for a, z in each) for name, each in SCRIPTS.items()}
    every = "".join(sets.values())
    named = (f"(?P<{name}>[{each}]+)" for name, each in sets.items())
    return re.compile("|".join((*named, f"(?P<{_BYTES}>[^{every}]+)")))


@cache
def _rates(family: str) -> Mapping[str, float]:
    """Return the rates of a family, or of the measured family it resembles, or the highest."""
    table = cast("dict[str, dict[str, float]]", read_table(__name__, "token_rates.json"))
    entry = _families().get(family)
    name = family if family in table or entry is None else entry["like"]
    if name in table:
        return table[name]
    return {key: max(rates[key] for rates in table.values()) for key in next(iter(table.values()))}


@cache
def _families() -> Mapping[str, _Ratio]:
    return cast("dict[str, _Ratio]", read_table(__name__, "tokenizers.json")["families"])
