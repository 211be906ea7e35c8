"""Parts of a line whose every word belongs to one field: "scale 50", "7 negatives per query".

The words of a field are those of its key, its title, its aliases and its spoken names, in three
languages; each may be abbreviated or inflected. A part of a message is read if exactly one field
explains all its words and its value. Words that few fields have count more.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import log
from typing import Any, Final

from ftc.spec.schema import Field, branches, fields
from ftc.spec.values.admission import admits
from ftc.spec.values.expectation import types_of
from ftc.tui.languages.field_names import name_field
from ftc.tui.languages.voice import LANGUAGES
from ftc.tui.understanding.applying import applies
from ftc.tui.understanding.certainty import find_doubt
from ftc.tui.understanding.fields.spoken import spoken_words, value_words
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.lexicon import NEGATORS
from ftc.tui.understanding.text.message import SENTENCE_END, Message, find_around, fold
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.text.ordinary import is_ordinary

_PART: Final = re.compile(r"(?:(?!->|=>|\s/\s|\.\s)(?:[^,;|+()\[\]\n\x00\u2192]|(?<=\d),(?=\d)))+")
_TOKEN: Final = re.compile(r"[a-z]+\d?(?:'[a-z]+)?")
_NUMBER: Final = re.compile(r"(?<![\w.])(?:\d+(?:[.,]\d+)?(?:e-?\d+)?k?|\.\d+)(?:\s?%)?(?![\w.])")
#: A number with a unit of one letter, as in "15 s per call", is left to other readers.
_UNIT: Final = re.compile(r"\d\s?[a-z]\b(?<!k)")
_LETTERS: Final = re.compile(r"[a-z]{2,}")
#: The maximum number of characters and words in a part.
_LONGEST: Final = 80
_MOST_WORDS: Final = 6
#: The number of letters that must agree in two words, and their share of the shorter word.
_STEM: Final = 3
_SAME: Final = 0.7
#: The minimum weight of a name: the sum of log(all fields / fields with the word) over its words.
_LEAST: Final = 2.5
_AHEAD: Final = 0.8
#: The maximum number of ordinary words beside the name of a switch.
_MOST_ORDINARY: Final = 2
_YES: Final = frozenset({"ok", "on", "yes", "si", "please", "true"})
_LENGTH: Final = "/data/max_length"
#: Fields with readers of their own.
_OWN: Final = (
    *("/model/id", "/data/source", "/data/sources", "/data/columns"),
    *("/hardware", "/name", "/ftc"),
)


#: Words without which a part is about something else: "pes 1", "grado 2.5", "cárgalo en 16 bits".
_NEEDED: Final[Mapping[str, re.Pattern[str]]] = {
    "/training/weight_decay": re.compile(r"dec|wd|regular"),
    "/training/global_batch": re.compile(r"batch|lot|bs\b|ac+um|rows?\b|fil|step|pas"),
    "/training/max_grad_norm": re.compile(r"grad(?:i|\b)|norm|clip|retall|recort"),
    "/training/loader_workers": re.compile(r"work|proc|hilo|fil|thread|treballador|trabajador"),
}
#: Words that switch a field off although they resemble its name: "public" and "publish".
_OPPOSITES: Final[Mapping[str, re.Pattern[str]]] = {
    "/publish/private": re.compile(
        r"\b(?:public(?:ly|[oa]s?)?|publi(?:c|ques)|open|obert[ao]?|abiert[ao])\b"
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Covering:
    """A field that explains a part, with its value and the weight of the words."""

    pointer: str
    value: Any
    weight: float


def read_covered(
    message: Message, draft: Mapping[str, Any], found: Sequence[Change | Choice]
) -> Iterator[Change]:
    """Yield the fields of unread parts that exactly one field explains."""
    has = {each.pointer for each in found}
    for match in list(_PART.finditer(message.folded)):
        text = match[0]
        if not text.strip() or message.denied(match.start()):
            continue
        if len(text) > _LONGEST or find_doubt(
            message.plain[slice(*find_around(SENTENCE_END, message.plain, match.span()))]
        ):
            continue
        covering = _cover(text.strip(), message, draft, has)
        if covering is None:
            continue
        start = match.start() + len(text) - len(text.lstrip())
        end = match.end() - len(text) + len(text.rstrip())
        words = message.words(start, end)
        message.cross_out(start, end)
        has.add(covering.pointer)
        yield Change(pointer=covering.pointer, value=covering.value, words=words)


def _cover(
    text: str, message: Message, draft: Mapping[str, Any], has: set[str]
) -> _Covering | None:
    if _UNIT.search(text):
        return None
    numbers = _NUMBER.findall(text)
    tokens = [token for token in _TOKEN.findall(_NUMBER.sub(" ", text)) if len(token) > 1]
    if len(numbers) > 1 or not tokens or len(tokens) > _MOST_WORDS or re.search(r"[@/<>]", text):
        return None
    named = {pointer for token in tokens for pointer in _fits(token)}
    explained = [
        (field, covering)
        for field in _candidates()
        if field.pointer in named
        and field.pointer not in has
        and (covering := _explain(field, text, tokens, numbers)) is not None
    ]
    fits = [
        covering
        for field, covering in explained
        if (may := applies(field, message, draft)) is not False
        and (may or covering.weight >= 2 * _LEAST or not field.schema.get("x-when"))
    ]
    fits.sort(key=lambda each: -each.weight)
    if not fits or (len(fits) > 1 and fits[0].weight - fits[1].weight < _AHEAD):
        return None
    return fits[0] if fits[0].weight >= _LEAST else None


def _explain(
    field: Field, text: str, tokens: Sequence[str], numbers: Sequence[str]
) -> _Covering | None:
    """Return the value if a field explains every word of a part, else None."""
    value, rest = _value(field, text, tokens, numbers)
    if value is None or not admits(field.pointer, value):
        return None
    telling = [token for token in rest if not is_ordinary(token)]
    key = field.name.rpartition(".")[2].split("_")
    if list(rest) != key and not any(
        _likeness(token, word) > 0 for token in telling for word in _own()[field.pointer]
    ):
        return None
    needed = _NEEDED.get(field.pointer)
    if needed is not None and needed.search(text) is None:
        return None
    opposite = _OPPOSITES.get(field.pointer)
    if opposite is not None and opposite.search(text) is not None:
        value = False
    weight = 0.0
    if isinstance(value, bool) and not _is_named(field, rest):
        return None
    for token in rest:
        best = _weigh(field.pointer, token)
        if best <= 0 and not is_ordinary(token):
            return None
        weight += best
    return _Covering(pointer=field.pointer, value=value, weight=weight)


def _is_named(field: Field, tokens: Sequence[str]) -> bool:
    """Return whether words name a switch: by its whole key, or by two words of its titles."""
    key = field.name.rpartition(".")[2]
    if list(tokens) in ([key], key.split("_")):
        return True
    telling = [token for token in tokens if not is_ordinary(token)]
    if telling in ([key], key.split("_")):
        return True
    return (
        sum(any(_likeness(token, word) > 0 for word in _own()[field.pointer]) for token in telling)
        > 1
    )


@cache
def _own() -> Mapping[str, frozenset[str]]:
    """Return the words of each field's key, titles and other names."""
    return {
        field.pointer: frozenset(
            word
            for name in (
                field.name.rpartition(".")[2],
                *_titles(field),
                *field.schema.get("x-aliases", ()),
            )
            for word in _LETTERS.findall(fold(name))
        )
        for field in _candidates()
    }


def _titles(field: Field) -> Sequence[str]:
    """Return the name of a field in all languages."""
    return [name_field(field.pointer, language) for language in LANGUAGES]


def _value(
    field: Field, text: str, tokens: Sequence[str], numbers: Sequence[str]
) -> tuple[Any, Sequence[str]]:
    """Return the value of a part for a field, and the remaining words for its name."""
    kinds = {kind for branch in branches(field.schema) for kind in types_of(branch)}
    if numbers and NEGATORS.search(text):
        return None, tokens  # "not 42"
    if numbers:
        number = _amount(field.pointer, numbers[0])
        if number is None or not kinds & {"number", "integer"}:
            return None, tokens
        return number, tokens
    for value, pattern in _words(field.pointer):
        match = pattern.search(text)
        if match is not None:
            rest = f"{text[: match.start()]} {text[match.end() :]}"
            kept = [token for token in _TOKEN.findall(rest) if len(token) > 1]
            listed = "array" in kinds and not kinds & {"string"}
            return [value] if listed else value, kept
    if kinds <= {"boolean", "null"} and sum(map(is_ordinary, tokens)) <= _MOST_ORDINARY:
        denied = NEGATORS.search(text) is not None
        return not denied, [token for token in tokens if token not in _YES]
    return None, tokens


def _amount(pointer: str, text: str) -> int | float | None:
    number = read_number(text.rstrip("% "), kilo=1024 if pointer == _LENGTH else 1000)
    if number is None:
        return None
    return as_written(round(number / 100, 8) if text.endswith("%") else number)


@cache
def _words(pointer: str) -> Sequence[tuple[str, re.Pattern[str]]]:
    """Return the words of each value of a field with a fixed set of values."""
    return [
        (value, re.compile(rf"(?<![\w-])(?:{said})(?![\w-])"))
        for value, said in value_words().get(pointer, {}).items()
        if value not in ("true", "false")
    ]


@cache
def _candidates() -> tuple[Field, ...]:
    return tuple(field for field in fields() if not field.pointer.startswith(_OWN))


@lru_cache(maxsize=2048)
def _fits(token: str) -> Mapping[str, float]:
    """Return the fields that have a similar word, with the similarity, which is at most 1."""
    found: dict[str, float] = {}
    for name, pointers in _fields_by_word().get(token[0], {}).items():
        like = _likeness(token, name)
        if like > 0:
            found.update({at: max(like, found.get(at, 0.0)) for at in pointers})
    return found


@cache
def _fields_by_word() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the fields of each word by its first letter, which similar words share."""
    found: dict[str, dict[str, list[str]]] = {}
    for pointer, names in _vocabulary().items():
        for name in names:
            found.setdefault(name[0], {}).setdefault(name, []).append(pointer)
    return found


def _weigh(pointer: str, token: str) -> float:
    """Return the weight of a word for a field; 0 if the field has no such word."""
    fits = _fits(token)
    if pointer not in fits or (is_ordinary(token) and token not in pointer):
        return 0.0
    rarity = log(len(_vocabulary()) / len(fits))
    return max(0.05, rarity * fits[pointer])


def _likeness(token: str, name: str) -> float:
    if token == name:
        return 1.0
    shorter, longer = sorted((token, name), key=len)
    if len(shorter) < _STEM:
        return 0.0
    if longer.startswith(shorter) and (shorter == token or _is_inflected(token, name)):
        return 0.9
    same = next(
        (at for at, (one, two) in enumerate(zip(token, name, strict=False)) if one != two),
        len(shorter),
    )
    if same >= _STEM + 1 and same >= _SAME * len(longer):
        return 0.8
    if len(token) <= _STEM + 1 and _is_skeleton(token, name):
        return 0.7
    return 0.0


def _is_inflected(token: str, name: str) -> bool:
    """Return whether a word is a name with an ending: "negatives"; "dropout" is not "drop"."""
    return len(name) > _STEM + 1 and len(token) - len(name) <= _STEM


def _is_skeleton(token: str, name: str) -> bool:
    """Return whether a word is the consonants of another: "ckpt", "chkp"."""
    if token[0] != name[0] or re.search(r"[aeiou]", token):
        return False
    rest = iter(name)
    return all(letter in rest for letter in token)


@cache
def _vocabulary() -> Mapping[str, frozenset[str]]:
    """Return the words of each field, in three languages."""
    spoken = spoken_words()
    found = {}
    for field in _candidates():
        own = field.name.rpartition(".")
        said = [own[2], *_titles(field), *field.schema.get("x-aliases", ())]
        said += spoken.get(field.pointer, ())
        said += own[0].split(".")[1:]
        found[field.pointer] = frozenset(
            word
            for name in said
            for word in _LETTERS.findall(fold(name))
            if not is_ordinary(word) or name == own[2]
        )
    return found
