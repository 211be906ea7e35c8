"""Numbers in words, in English, Catalan and Spanish: "sixty four", "dos mil", "2 e minus 5".

`find_numerals` finds phrases that digits can replace. Single words up to twelve stay words,
because they are also articles and pronouns; the readers of counts know them (`lexicon.py`).
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_UNITS: Final[Mapping[str, int]] = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fourty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90,
    "un": 1, "una": 1, "dos": 2, "dues": 2, "tres": 3, "quatre": 4, "cinc": 5, "sis": 6, "set": 7,
    "vuit": 8, "nou": 9, "deu": 10, "onze": 11, "dotze": 12, "tretze": 13, "catorze": 14,
    "quinze": 15, "setze": 16, "disset": 17, "divuit": 18, "dinou": 19, "vint": 20, "trenta": 30,
    "quaranta": 40, "cinquanta": 50, "seixanta": 60, "setanta": 70, "vuitanta": 80,
    "noranta": 90,
    "cero": 0, "uno": 1, "cuatro": 4, "cinco": 5, "seis": 6,
    "siete": 7, "ocho": 8, "nueve": 9, "diez": 10,
    "once": 11, "doce": 12, "trece": 13, "catorce": 14, "quince": 15, "dieciseis": 16,
    "diecisiete": 17, "dieciocho": 18, "diecinueve": 19, "veinte": 20, "veintiun": 21,
    "veintiuno": 21, "veintidos": 22, "veintitres": 23, "veinticuatro": 24, "veinticinco": 25,
    "veintiseis": 26, "veintisiete": 27, "veintiocho": 28, "veintinueve": 29, "treinta": 30,
    "cuarenta": 40, "cincuenta": 50, "sesenta": 60, "setenta": 70, "ochenta": 80, "noventa": 90,
    "doscientos": 200, "doscientas": 200, "trescientos": 300, "trescientas": 300,
    "cuatrocientos": 400, "cuatrocientas": 400, "quinientos": 500, "quinientas": 500,
    "seiscientos": 600, "seiscientas": 600, "setecientos": 700, "ochocientos": 800,
    "novecientos": 900,
    **{f"{word}mil": number * 1000 for word, number in {
        "dos": 2, "tres": 3, "quatre": 4, "cuatro": 4, "cinc": 5, "cinco": 5, "sis": 6, "seis": 6,
        "vuit": 8, "ocho": 8, "deu": 10, "diez": 10}.items()},
    "trentados": 32, "trentadues": 32, "treintaidos": 32, "treintaydos": 32, "seixantaquatre": 64,
    "sesentaicuatro": 64, "sesentaycuatro": 64,
}  # fmt: skip
_SCALES: Final[Mapping[str, int]] = {
    "hundred": 100, "cent": 100, "cents": 100, "centes": 100, "cien": 100, "ciento": 100,
    "thousand": 1000, "mil": 1000,
    "million": 10**6, "milio": 10**6, "milions": 10**6, "millon": 10**6, "millones": 10**6,
    "billion": 10**9,
}  # fmt: skip
#: Fractions of one; the plural follows a number.
_FRACTION: Final[Mapping[str, float]] = {
    "tenth": 0.1, "hundredth": 0.01, "thousandth": 0.001, "ten thousandth": 1e-4,
    "hundred thousandth": 1e-5, "millionth": 1e-6,
    "decima": 0.1, "centesima": 0.01, "milesima": 0.001, "diezmilesima": 1e-4,
    "cienmilesima": 1e-5, "millonesima": 1e-6,
    "desena part": 0.1, "millesima": 0.001, "mil·lesima": 0.001, "deumil·lesima": 1e-4,

    "deumillesima": 1e-4, "centmil·lesima": 1e-5, "cent-mil·lesima": 1e-5, "deu-mil·lesima": 1e-4,
    "centmillesima": 1e-5, "milionesima": 1e-6,
}  # fmt: skip
_FRACTIONS: Final[Mapping[str, float]] = {
    **_FRACTION,
    **{f"{word}s": value for word, value in _FRACTION.items()},
    **{f"{word[:-1]}es": value for word, value in _FRACTION.items() if word.endswith("a")},
}
#: Catalan and English share these words; alone between other words they are not numbers.
_HOMOGRAPHS: Final = frozenset({"set", "once", "deu", "nou", "mil", "six", "sis", "un", "una"})
_JOINING: Final = frozenset({"and", "i", "y"})
_MINUS: Final = r"(?:minus|menos|menys|-)"
_BILLION: Final = 10**9
_LARGEST_PLAIN: Final = 12
_TEN, _TWENTY, _HUNDRED, _THOUSAND = 10, 20, 100, 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeral:
    """A range of the folded text, and the digits that it means."""

    start: int
    end: int
    digits: str


def _alternatives(words: Mapping[str, object]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


#: "80 cents an hour": "cents" is not the Catalan "hundreds".
_COINS: Final = r"cents? ?(?:/|(?:an?|per|each|every) (?:hour|h)\b)"
_NUMBER: Final = rf"(?:(?!{_COINS})(?:{_alternatives({**_UNITS, **_SCALES})}))"
_PHRASE: Final = rf"{_NUMBER}(?:(?:[ -]+|-i-|[ ]+(?:and|i|y)[ ]+){_NUMBER})*"
_TIMES_TEN: Final = (
    r"times (?:ten|10) to the(?: power(?: of)?)?|por (?:diez|10) (?:elevado )?a(?: la)?"
    r"|per (?:deu|10) (?:elevat )?a(?: la)?"
)
_NUMERAL: Final = re.compile(
    rf"(?<![\w·-])(?:"
    rf"(?P<share>{_PHRASE})[ ](?:per ?cent|por ciento|percent)"
    rf"|(?P<base>\d+(?:[.,]\d+)?|{_PHRASE})[ ]?(?:e|{_TIMES_TEN})"
    rf"[ ]?{_MINUS}[ ]?(?P<exponent>\d+|{_NUMBER})"
    rf"|(?:(?P<times>\d+(?:[.,]\d+)?)[ ]?[x*\u00d7\u00b7][ ]?)?10[ ]?(?:\^|\*\*)?[ ]?"
    rf"(?:[-\u2212]|\u207b)[ ]?(?P<power>[1-9]|[\u2074-\u2079])"
    rf"|(?P<top>\d)/(?P<bottom>10{{2,6}})"
    rf"|(?:(?P<many>\d+(?:[.,]\d+)?|{_PHRASE})[ -]+|(?:a|d')[ ]?)??"
    rf"(?P<part>{_alternatives(_FRACTIONS)})"
    rf"|(?P<digits>\d+(?:[.,]\d+)?)[ ](?!{_COINS})"
    rf"(?P<scale>mil millones|mil milions|{_alternatives(_SCALES)})"
    rf"|(?P<whole>{_PHRASE})"
    rf"(?:[ ](?:point|coma|punto|punt|con|amb)[ ](?P<decimals>{_PHRASE}|\d+))?"
    rf"|(?<!\d )point[ ](?P<part_only>{_PHRASE}|\d+)"
    rf")(?![\w·])"
)
_HALF: Final = 0.5
_TIMED: Final = (
    r"(?:epochs?|epoca|epoques|epocas|pass(?:es)?|vueltas?|volta|voltes|pasadas?|passad(?:a|es)"
    r"|rounds?|laps?|sweeps?|rondas?|rondes|hours?|hora|hores|horas|days?|dies?|dias?)"
)
_AND_HALF: Final = r"(?:and a half|i mig|i mitja|y medi[oa])"
_HALVES: Final = re.compile(
    rf"(?<![\w.,])(?:(?P<before>\d+|{_PHRASE})[ -]{_AND_HALF}"
    rf"|(?:(?P<after>\d+|an?|{_PHRASE})[ ])?(?P<unit>{_TIMED})[ ]{_AND_HALF}"
    rf"|(?:half an?|half|mitja|mig|media|medio)[ ](?P<half>{_TIMED}))\b"
)
_SHARES: Final[Mapping[str, float]] = {
    "half": 50, "third": 33.3333, "quarter": 25, "fifth": 20, "sixth": 16.6667, "eighth": 12.5,
    "terc": 33.3333, "quart": 25, "cinque": 20, "quinta part": 20, "cinquena part": 20,
    "tercio": 33.3333, "cuarto": 25, "quinto": 20, "quinta parte": 20, "tercera part": 33.3333,
    "tercera parte": 33.3333, "quarta part": 25, "cuarta parte": 25,
}  # fmt: skip
#: "a fifth for testing": a share, unless it is an ordinal ("a third GPU").
_SHARED: Final = re.compile(
    rf"(?<![\w-])(?:an?|one|una?|la)[ ](?P<share>{_alternatives(_SHARES)})"
    r"(?=[ ](?:for|as|of|del?|held|kept|per|para|com|como)\b|\s*$|[,.;](?:\s|$))"
)
#: "a tenth of the data": of a rate it is a factor, and stays 0.1.
_TENTH: Final = re.compile(
    r"(?<![\w-])(?:an?|one|una?|la|el)[ ](?:tenth|desena part|decima part[e]?|decimo|dese)"
    r"(?=[ ](?:of|del?|dels|de)[ ](?:(?:the|my|our|all|els?|les|los|las?|mis|meves|totes)[ ])*"
    r"(?:data(?:set)?|rows|examples|samples|dades|files|exemples|datos|filas|ejemplos)\b"
    r"|[ ](?:for|per|para|as|com|como)[ ](?:a |al |la |el )?(?:test|valid|eval|aval|pro[vb]|prueb))"
)
_JOINED: Final = re.compile(r"\b(\w{3,})mil\b")
#: Two parts of a number without "hundred", as in spoken English sizes.
_PAIR: Final = re.compile(
    r"(?<![\w.-])(?P<hundreds>one|two|five|seven|ten|twenty|forty|eighty)[ -]"
    r"(?P<tens>(?:twenty|thirty|forty|fifty|sixty|ninety)[ -](?:two|four|six|eight)|twelve|sixty)"
    r"(?![\w-])"
)
_PERCENT: Final = re.compile(r"(?<=\d) ?(?:per ?cent|por ciento|percent)\b")


def find_numerals(folded: str) -> Iterator[Numeral]:
    """Yield the phrases of a folded text that digits replace, from left to right."""
    halves = [*_find_halves(folded), *_find_shares(folded), *_find_pairs(folded)]
    found = [*halves]
    for match in _NUMERAL.finditer(folded):
        digits = _digits(match)
        if digits is None or any(match.start() < h.end and h.start < match.end() for h in halves):
            continue
        found.append(Numeral(start=match.start(), end=match.end(), digits=digits))
    yield from sorted(found, key=lambda numeral: numeral.start)


def _find_pairs(folded: str) -> Iterator[Numeral]:
    """Yield "one twenty-eight" as 128, "ten twenty-four" as 1024."""
    for match in _PAIR.finditer(folded):
        last = _amount(match["tens"])
        if last is not None:
            number = _UNITS[match["hundreds"]] * _HUNDRED + int(last)
            yield Numeral(start=match.start(), end=match.end(), digits=str(number))


def _find_shares(folded: str) -> Iterator[Numeral]:
    """Yield "a fifth" as "20%"."""
    for match in _SHARED.finditer(folded):
        digits = f"{_SHARES[match['share']]:g}%"
        yield Numeral(start=match.start(), end=match.end(), digits=digits)
    for match in _TENTH.finditer(folded):
        yield Numeral(start=match.start(), end=match.end(), digits="10%")


def _find_halves(folded: str) -> Iterator[Numeral]:
    """Yield "one and a half" and "epoca i mitja" as numbers with a fraction, with their unit."""
    for match in _HALVES.finditer(folded):
        if match["half"] is not None:
            amount: float | None = 0.0
        else:
            said = match["before"] or match["after"]
            amount = 1.0 if said in (None, "a", "an") else _amount(said)
        if amount is not None:
            unit = match["half"] or match["unit"]
            digits = f"{amount + _HALF:g}" + (f" {unit}" if unit else "")
            yield Numeral(start=match.start(), end=match.end(), digits=digits)


def replace_percent(folded: str) -> str:
    """Return the text with "20 percent" as "20       %", which has the same length."""
    return _PERCENT.sub(lambda match: "%".rjust(len(match[0])), folded)


def _digits(match: re.Match[str]) -> str | None:
    if match["share"] is not None:
        share = _amount(match["share"])
        return None if share is None else f"{share:g}%"
    if match["exponent"] is not None:
        base, power = _amount(match["base"]), _amount(match["exponent"])
        return None if base is None or power is None else f"{base:g}e-{power:g}"
    if match["power"] is not None:
        return (
            f"{float((match['times'] or '1').replace(',', '.')):g}e-{int(_plain(match['power']))}"
        )
    if match["bottom"] is not None:
        return f"{int(match['top']) / int(match['bottom']):g}"
    if match["part"] is not None:
        many = 1.0 if match["many"] is None else _amount(match["many"])
        return None if many is None else f"{many * _FRACTIONS[match['part']]:.12g}"
    if match["digits"] is not None:
        scale = 1
        for word in match["scale"].split():
            scale *= _SCALES[word]
        amount = _amount(match["digits"])
        return None if amount is None else _whole(amount * scale)
    if match["part_only"] is not None:
        return f"0.{_decimals(match['part_only'])}"
    whole = _amount(match["whole"])
    if whole is None:
        return None
    if match["decimals"] is not None:
        decimals = _decimals(match["decimals"])
        joined = whole == 0 or not re.search(r" (?:con|amb) ", match[0])
        return f"{whole:g}.{decimals}" if decimals and joined else None
    words = _words(match["whole"])
    alone = len(words) == 1
    if alone and (whole <= _LARGEST_PLAIN or words[0] in _SCALES or words[0] in _HOMOGRAPHS):
        return None
    return _whole(whole)


def _decimals(said: str) -> str:
    """Return the digits after a point, which are spoken one by one or as one number."""
    return "".join(word if word.isdigit() else str(_UNITS.get(word, "")) for word in said.split())


def _plain(digit: str) -> str:
    """Return the digit of a superscript."""
    return unicodedata.normalize("NFKC", digit)


def _whole(amount: float) -> str:
    """Return the digits of a number; billions become the size of a model, such as "7b"."""
    if amount >= _BILLION and amount % 10**8 == 0:
        return f"{amount / _BILLION:g}b"
    return f"{amount:.12g}"


def _words(text: str) -> Sequence[str]:
    return [word for word in re.findall(r"[a-z·]+", text) if word not in _JOINING]


def _amount(text: str) -> float | None:
    """Return the number that digits or words name, or None if the words are in no valid order."""
    if text[0].isdigit():
        return float(text.replace(",", "."))
    total, group, room = 0, 0, _THOUSAND  # `room`: the next word must be smaller
    for word in _words(_JOINED.sub(r"\g<1> mil", text)):
        scale = _SCALES.get(word)
        if scale is None:
            value = _UNITS[word]
            if value >= room:
                return None
            group += value
            room = _HUNDRED if value >= _HUNDRED else _TEN if value >= _TWENTY else 0
        elif scale == _HUNDRED:
            group = max(group, 1) * scale
            room = _HUNDRED
        else:
            thousands = total + group if scale > _THOUSAND and total < scale else max(group, 1)
            total = thousands * scale if total < scale else total + thousands * scale
            group, room = 0, _THOUSAND
    return float(total + group)
