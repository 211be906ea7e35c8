"""The number that a text means: a percentage, a decimal comma, a unit, or a number in words."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_LONGEST: Final = 40
_WRITTEN: Final = re.compile(
    r"[$€£]?\s*([+-]?\d[\d.,]*(?:[eE][+-]?\d{1,3})?)\s*(%|[$€£]|[^\W\d_]*)"
    r"(?:\s*(?:/|per\s|an\s|a\s)\s*[^\W\d_]+)?"
)
_GROUPS: Final = re.compile(r"[+-]?[1-9]\d{0,2}(?:[.,]\d{3})+")
#: A number of thousands of something: `2k tokens`.
_THOUSANDS: Final = re.compile(r"(?<=\d)\s*([kK])\s+[^\W\d_]+$")
#: What a unit multiplies a number by. Memory is counted in GiB, as the fields of memory are.
_UNITS: Final[Mapping[str, float]] = {
    "%": 1 / 100,
    "mb": 1 / 1024,
    "mib": 1 / 1024,
    "tb": 1024,
    "tib": 1024,
}
#: The seconds of a unit of time, by its first letters.
_TIMES: Final[Mapping[str, int]] = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_CLOCK: Final = re.compile(r"(?:(\d{1,4})-)?(\d{1,5}):(\d{2})(?::(\d{2}))?")
_SPAN: Final = re.compile(
    r"(\d[\d.,]*)\s*(d|days?|h|hrs?|hours?|m|min|mins|minutes?|s|secs?|seconds?)(?![^\W\d_])\s*",
    re.IGNORECASE,
)
#: A rate: a number, a prefix, bits or bytes (`b` is a bit, `B` a byte), and the second.
_RATE: Final = re.compile(
    r"(\d[\d.,]*)\s*([MGTmgt])(?:i?([bB])|([bB]it)s?|([bB]yte)s?)?\s*(?:ps|[eE]|/\s*s(?:ec(?:ond)?)?|)"
)
_GIGA: Final[Mapping[str, float]] = {"m": 1 / 1000, "g": 1, "t": 1000}
#: What Slurm and SkyPilot write: `gpu:4`, `gpu:a100:4`, `H100:8`.
_RESOURCE: Final = re.compile(r"(?:gpu:)?(?:([A-Za-z][\w. -]*):)?([1-9]\d{0,3})")
_WORDS: Final[Mapping[str, int]] = {
    word: number
    for number, words in enumerate(
        (
            "zero cero",
            "one un uno una",
            "two dual dos dues",
            "three tres",
            "four quad cuatro quatre",
            "five cinco cinc",
            "six seis sis",
            "seven siete set",
            "eight ocho vuit",
            "nine nueve nou",
            "ten diez deu",
            "eleven once onze",
            "twelve doce dotze",
        )
    )
    for word in words.split()
}


def read_quantity(text: str, *, kilo: int = 1000) -> int | float | None:
    """Return the number that a text means, or None if it means none.

    `64 GB` is 64, `10 %` is 0.1, `0,0002` is 0.0002 and `three epochs` is 3. `k` stands for `kilo`.
    """
    text = _THOUSANDS.sub(r"\1", text[: _LONGEST + 1].strip())
    if len(text) > _LONGEST:
        return None
    first, _, rest = text.partition(" ")
    if len(rest.split()) <= 1 and (word := read_word(first)) is not None:
        return word
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    number = _number(match[1])
    unit = match[2].casefold()
    factor = kilo if unit == "k" else _UNITS.get(unit, 1)
    return None if number is None else _whole(number * factor)


def read_unit(text: str) -> str:
    """Return the unit after a number, in the singular (`token`), or "" if there is none.

    A number whose separators may be those of thousands is not certain, and has no unit.
    """
    text = _THOUSANDS.sub(r"\1", text[:_LONGEST].strip())
    first, _, rest = text.partition(" ")
    if read_word(first) is not None:
        unit = rest
    else:
        match = _WRITTEN.fullmatch(text)
        unit = match[2] if match is not None and not is_grouped(match[1]) else ""
    unit = unit.casefold()
    return unit.removesuffix("es" if unit.endswith("sses") else "s")


def read_seconds(text: str) -> float | None:
    """Return the seconds of a time with its unit: `24:00:00`, `1-12:00:00`, `24:00`, `1d 12h`.

    Two numbers are hours and minutes.
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if match := _CLOCK.fullmatch(text):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return float(days * 86400 + hours * 3600 + minutes * 60 + seconds)
    spans = list(_SPAN.finditer(text))
    if not spans or "".join(match[0] for match in spans) != text:
        return None
    numbers = [_number(match[1]) for match in spans]
    units = [_TIMES[match[2][0].casefold()] for match in spans]
    return sum(
        (0.0 if number is None else number) * unit
        for number, unit in zip(numbers, units, strict=True)
    )


def read_gbit(text: str) -> int | float | None:
    """Return a rate in Gbit/s, or None: 400 for `400Gb/s`, and for `50 GB/s`, which is in bytes."""
    match = _RATE.fullmatch(text[: _LONGEST + 1].strip())
    number = None if match is None else _number(match[1])
    if match is None or number is None:
        return None
    is_byte = match[3] == "B" or match[5] is not None
    return _whole(number * _GIGA[match[2].lower()] * (8 if is_byte else 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A number of GPUs, and their name, or "" if it is not given."""

    count: int
    kind: str


def read_resource(text: str) -> Resource | None:
    """Return a resource of Slurm or SkyPilot, or None: 4 of `a100` for `gpu:a100:4`."""
    match = _RESOURCE.fullmatch(text[: _LONGEST + 1].strip())
    if match is None or ":" not in text:
        return None
    kind = match[1] or ""
    return Resource(count=int(match[2]), kind="" if kind.casefold() == "gpu" else kind)


def read_word(word: str) -> int | None:
    """Return the small number that a word of one of the three languages names."""
    return _WORDS.get(word.casefold())


def with_point(written: str) -> str:
    """Return a number with a decimal point and without separators of thousands, as JSON has it."""
    comma, point = written.rfind(","), written.rfind(".")
    if comma >= 0 and point >= 0:
        decimal = max(comma, point)
        whole = re.sub(r"[.,]", "", written[:decimal])
        return f"{whole}.{written[decimal + 1 :]}"
    if is_grouped(written) and (comma >= 0 or written.count(".") > 1):
        return re.sub(r"[.,]", "", written)
    return written.replace(",", ".")


def is_grouped(written: str) -> bool:
    """Return whether a number's separators may be those of thousands."""
    return _GROUPS.fullmatch(written) is not None


def _number(written: str) -> float | None:
    try:
        number = float(with_point(written))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _whole(number: float) -> int | float:
    """Return a whole number as such, and another without the dust of its product."""
    number = float(f"{number:.12g}")
    return int(number) if number.is_integer() else number
