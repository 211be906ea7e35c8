"""Reads how many rows of the data are used: "don't use more than 3000 of the tickets".

Rows can be called by the name of their file: the rows of "tickets.csv" are tickets.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Final

from ftc.tui.understanding.reading import Change, value_at
from ftc.tui.understanding.text.lexicon import NUMBER
from ftc.tui.understanding.text.message import Message, fold
from ftc.tui.understanding.text.numbers import as_written, read_number

_POINTER: Final = "/data/max_rows"
_FILE: Final = re.compile(r"(?<![\w./-])(?P<stem>[\w./-]+)\.(?:csv|tsv|jsonl?|parquet)\b")
_WORD: Final = re.compile(r"[a-z]{4,}")
_ROWS: Final = (
    r"(?:random |first )?(?:rows|examples|samples|lines|records|files|filas|exemples|ejemplos"
    r"|mostres|muestras|registres|registros|linies|lineas)"
)
_OF: Final = r"(?:(?:of|de|d')\s?)?(?:(?:the|my|our|those|els|les|los|las|mis|nuestr\w+)\s)?"
#: Words that limit a number: "at most", "don't use more than", "only".
_LIMIT: Final = (
    r"(?:(?:more than|over|above|mes de|mes d'|mas de|at most|up to|no passis de|no pases de|only"
    r"|just|nomes|solo|com a molt|como mucho|como maximo|com a maxim|fins a|hasta"
    r"|limit\w* (?:it |yourself )?to|limita\S* a)\s?)"
)
#: Words that say that a number is enough: "5000 rows are plenty", "n'hi ha prou amb 300 files".
_ENOUGH: Final = (
    r"(?:plenty|enough|sufficient|will do|would do|de sobra|sobran?|bast(?:a|en|an|ara|aran)"
    r"|suficients?|suficientes?|n'hi ha prou|en tinc prou|ja va be|ja en tinc prou|me vale|me llega"
    r"|tengo bastante|va be|va bien|suffices?|ja (?:fariem|fem|faig|faria)|vale|me apano"
    r"|nos apanamos"
    r"|hay de sobra|n'hi ha de sobr\w+|ens arreglem)"
)
#: Words for a beginning, which only rows can have.
_BEGINNING: Final = (
    r"(?:(?:just )?(?:to|for a) (?:start|begin)(?: with| off)?|for (?:now|starters|a start)"
    r"|(?:per|para|pa) (?:comencar|empezar|arrencar|arrancar)|de moment[o]?|per ara|por ahora"
    r"|d'entrada|de entrada)"
)
_LITTLE: Final = (
    r"(?:(?:it'?s|is|are|ja|ya|me|em|nos|ens|en|n'|hi|that|more than|fem|faig)\s?){0,3}"
)
#: The text after a number of rows without a noun.
_BARE_END: Final = (
    r"(?:\s(?:of (?:them|those|these)|d'elles|d'ells|de (?:ellas|ellos|esas|esos)))?"
    r"(?=\s*(?:$|[.,;:!?)]|(?:and|but|so|i|y|e|pero|que|ja|ya)\b))"
)
#: "start with the first 5k", "comença amb les primeres dues mil".
_STARTS: Final = (
    r"(?:(?:start|begin)(?:ing)? (?:off )?(?:with|on)|(?:comen[cg]\w+|empie[cz]\w+|empe[cz]\w+"
    r"|arran\w+"
    r"|arrenq?\w+) (?:amb|con))"
)
#: A number for a part of the run: "at most 300 rows per step", "only 500 rows for validation".
_PARTIAL: Final = re.compile(
    r"\s(?:per|each|every|at|por|cada|for|para|of|as|com a|como|in|en|a|al|alhora)\b"
)
#: Units other than rows: "don't use more than 100 tokens".
_NO_UNIT: Final = (
    r"(?!(?:tokens|steps|epochs|hours|euros|gigas|gigues|words|pixels|passos|pasos|hores|horas|paraules"
    r"|palabras|caracters|caracteres|characters|layers|capes|capas|gpus|nodes|cards|times|veces"
    r"|vegades|seconds|segons|segundos|minutes|minuts|minutos|dies|days|dias|points|punts|puntos"
    r"|epoques|epocas|targetes|tarjetas|checkpoints|generations|workers|threads|bits)\b)"
)
#: "we've only got 300 rows", "it's only 300 rows": the number that exists, and not a limit.
_HAVING: Final = re.compile(
    r"(?:\b(?:ha(?:ve|s)|got|there (?:are|is)|tinc|tenim|te|tenen|tengo|tenemos|tiene|tienen|hay"
    r"|hi ha|it'?s|it is|they'?re|they are|these are|those are|son|eren|eran)|'ve)"
    r"(?:\s(?:only|just|got|solo|nomes|unicament|unicamente|sols))*\s*$"
)
#: "the first 300 rows": ftc draws a random sample, and does not select rows by order.
_ORDER: Final = r"\b(?:first|last|top|primer(?:es|s|as|os)|ultim(?:es|s|as|os)|darrer(?:es|s))"
_FIRST: Final = re.compile(rf"{_ORDER} $")
_ORDERED: Final = re.compile(rf"{_ORDER} \w")
_LEAST: Final = 16
#: A smaller number always comes with its noun.
_LEAST_BARE: Final = 200


def read_row_limits(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the maximum number of rows; the number may be beside the name of the rows."""
    for pattern in _patterns(tuple(sorted(_names(message, draft)))):
        for match in list(pattern.finditer(message.folded)):
            number = read_number(match["number"], kilo=1000)
            least = _LEAST_BARE if match.groupdict().get("bare") else _LEAST
            if number is None or number < least or number != int(number):
                continue
            if _PARTIAL.match(message.folded, match.end()) and not match.groupdict().get("enough"):
                continue
            if is_possession(message.folded[: match.start()]):
                continue
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Change(pointer=_POINTER, value=as_written(number), words=words)
            return


def find_start(message: Message, match: re.Match[str]) -> int:
    """Return the start of a number of rows, including "first" before it."""
    first = _FIRST.search(message.folded[: match.start()])
    return match.start() if first is None else first.start()


def takes_by_order(change: Change) -> bool:
    """Return whether the words request rows by their order: "the first 300 rows"."""
    return change.pointer == _POINTER and _ORDERED.search(fold(change.words)) is not None


def is_possession(before: str) -> bool:
    """Return whether the folded words before a number of rows say that these rows exist."""
    return _HAVING.search(before) is not None


def _names(message: Message, draft: Mapping[str, Any]) -> set[str]:
    """Return the words of the message that are in the data's name, which can name its rows."""
    sources = [str(value_at(draft, "/data/source") or "")]
    sources += [match["stem"] for match in _FILE.finditer(message.plain)]
    named = {word for name in sources for word in _WORD.findall(PurePath(fold(name)).stem)}
    return named.intersection(_WORD.findall(_FILE.sub(" ", message.folded)))


@lru_cache(maxsize=8)
def _patterns(names: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    noun = f"(?:{'|'.join((_ROWS, *map(re.escape, names)))})"
    counted = rf"(?P<number>{NUMBER})\s{_OF}{noun}(?!\w)"
    used = (
        r"(?:use|take|train on|learn from|facis servir|agafis|usis|entrenis amb|uses|cojas|tomes"
        r"|entrenes con)\s(?:more than|over|mes de|mas de|at most|up to|com a molt|como mucho)\s"
    )
    negated = r"(?:(?:no|not|don'?t|dont|do not|never|nunca|mai)\s(?:[a-z']+\s){0,2}?)?"
    return (
        re.compile(rf"(?<!\w){negated}{_LIMIT}{counted}"),
        re.compile(
            rf"(?<!\w){negated}{used}(?P<number>{NUMBER})\s{_OF}{_NO_UNIT}[a-z]{{4,}}s(?!\w)"
        ),
        re.compile(
            rf"(?<![\w.,]){counted}\s(?:(?:is|are|will be|would be|more than|son|es|seran|ja|ya|me"
            rf"|em|nos|ens|en|n')\s?){{0,3}}(?P<enough>{_ENOUGH})"
        ),
        re.compile(rf"(?<!\w)(?P<enough>{_ENOUGH})\s(?:with|amb|con)\s{counted}"),
        re.compile(
            rf"(?<!\w)(?:with|amb|con)\s{counted},?\s(?:(?:is|there is|ja|ya|me|em|nos|ens|en|n'"
            rf"|hi)\s?){{0,3}}(?P<enough>{_ENOUGH})"
        ),
        re.compile(
            rf"(?<!\w)(?:with|amb|con)\s{counted}(?:\s(?:of|from|del?"
            rf"|de la)\s(?:the\s)?[\w.]+)?,?\s"
            rf"{_LITTLE}(?P<enough>{_ENOUGH})"
        ),
        re.compile(
            r"(?<!\w)(?:all (?:of )?(?:the|those|our)?|every|totes les|tots els|todas las"
            r"|todos los)\s?"
            rf"{noun}(?!\w)[^.;!?\n\d]{{0,40}}?[,;:.]\s?(?:(?:with|amb|con)\s)?(?P<bare>(?P<number>{NUMBER}))"
            rf",?\s{_LITTLE}(?P<enough>{_ENOUGH})"
        ),
        *_BARE_PATTERNS,
    )


def _bare_patterns() -> Iterator[re.Pattern[str]]:
    """Yield the patterns of a number without its noun: "20k will do", "only 9k at random"."""
    number = rf"(?P<bare>(?P<number>{NUMBER}))"
    with_it = r"(?:with|amb|con)\s(?:(?:some|about|unes|uns|unas|unos)\s)?"
    yield re.compile(
        rf"(?<!\w){_BEGINNING},?\s{_LITTLE}(?P<enough>{_ENOUGH})\s{with_it}{number}{_BARE_END}"
    )
    yield re.compile(
        rf"(?<!\w){_BEGINNING},?\s{with_it}{number},?\s{_LITTLE}"
        rf"(?P<enough>{_ENOUGH}|tir(?:o|em|amos)|far(?:e|em|iem)|hare(?:mos)?|anir\w+|vamos)\b"
    )
    yield re.compile(rf"(?<![\w.,-]){number}\s{_LITTLE}(?P<enough>{_ENOUGH})\s{_BEGINNING}\b")
    yield re.compile(rf"(?<!\w){_BEGINNING},?\s{number}\s{_LITTLE}(?P<enough>{_ENOUGH})\b")
    drawn = r"(?:at random|(?:picked|chosen|drawn|taken) (?:at random|randomly)|a l'atzar|al azar)"
    yield re.compile(rf"(?<!\w){_LIMIT}{number}(?:\sof (?:them|those|these))?,?\s{drawn}(?!\w)")
    first = r"(?:the|les|els|las|los)\s(?:first|primer(?:es|s|as|os))\s"
    yield re.compile(rf"(?<!\w){_STARTS}\s{first}{number}{_BARE_END}")


_BARE_PATTERNS: Final = tuple(_bare_patterns())
