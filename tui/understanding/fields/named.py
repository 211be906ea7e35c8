"""Fields that a message names without a readable value: ftc asks about them."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from ftc.compiler.knowledge.objectives import has_teacher
from ftc.spec.schema import choices, fields
from ftc.spec.values.admission import admits
from ftc.tui.understanding.certainty import find_hedge
from ftc.tui.understanding.fields.relative import numeric_fields
from ftc.tui.understanding.fields.spoken import spoken_names
from ftc.tui.understanding.reading import UNSURE, Change, Choice, value_at
from ftc.tui.understanding.text.lexicon import NEGATORS, NUMBER, WORDS, any_of
from ftc.tui.understanding.text.message import Message, Span
from ftc.tui.understanding.text.numbers import as_written, read_number

#: Words that are too ambiguous to be a field's name on their own.
_VAGUE: Final = frozenset({"/data/max_rows", "/hardware/disk_gib", "/distribution/strategy"})

#: Words that leave a field to ftc: "remove the alpha", "the default rank".
_REMOVED: Final = re.compile(rf"(?:^|(?<=[\s,.;:\x00])){any_of(WORDS['remove'])}\b[\s]*(?:\S+ )?$")
_DEFAULT: Final = re.compile(rf"\b{any_of(WORDS['default'])}(?!\w)")
_TO_DEFAULT: Final = re.compile(
    r"[^;,:.!?\x00\n\d]{0,24}?(?:back )?(?:to |in |on |as |a |en |al? )*"
    rf"{any_of(WORDS['default'])}(?!\w)"
)
_ARTICLE: Final = re.compile(r"(?:the |my |that |el |la |l'|els |les |los |las )+$")
_TO_VALUE: Final = re.compile(r"\s+(?:down |back )?(?:to|a|fins a|hasta)\s+\d")
#: Words that leave a field unchanged: "leave the learning rate alone".
_KEPT: Final = re.compile(rf"\b{any_of(WORDS['kept'])}\b")


_TAUGHT: Final = "/objective/teacher/"
_LENGTH: Final = "/data/max_length"
_SPLITS: Final = "/data/splits/"
_MOST_PERCENT: Final = 50
_LEFT: Final = r"[^;,:.!?\x00\n()\d]"
#: "the sequence length capped at 1024", "el lr me lo bajas a 5e-5", "la llavor posa-la a 2024".
_PLACED: Final = re.compile(
    rf"(?P<between>{_LEFT}{{0,36}}?)"
    r"(?:(?<=\s)(?:(?:(?:back |down |up )?to|at|al?|als|en|of|del?|hasta|fins(?: a)?|es|is|be"
    r"|sea|sigui)\s+(?:the |el |la |los |les |un )?)|\s*[=:]\s*)"
    rf"(?P<number>{NUMBER})\s*(?P<share>%)?(?:\s+tokens?\b)?"
    r"(?=\s*(?:$|[;!?)\n]|\.(?!\d)|,(?!\d)|\b(?:and|i|y|e|but|pero|since|because|cause|so|then|que|perque"
    r"|porque|please|pls|sisplau|porfa|por favor|si us plau|as well|too|tambe|tambien)\b))"
)
#: "fewer epochs, say 2".
_MORE_OF: Final = re.compile(
    r"\b(?:more|less|fewer|smaller|bigger|larger|higher|lower|shorter|longer|mes|menys|menos|mas"
    r"|some|a little(?: bit of)?|(?:a (?:bit|touch|tad)|una? (?:poc|poco|poquito|mica|miqueta"
    r"|pelin|pizca|toque)) (?:of|de))\s+$"
)
_SAY: Final = re.compile(
    rf"(?P<between>),\s*(?:(?:say|like|try|e\.g\.|for example|make it|{any_of(WORDS['put'])}"
    r"|digamos|pongamos|por ejemplo|tipo|posem|diguem|per exemple|com ara),?\s+)?"
    rf"(?:un |el |a )?(?P<number>{NUMBER})\s*(?P<share>%)?"
    r"(?=\s*(?:$|[;!)\n]|\.(?!\d)|,(?!\d)|\b(?:por ejemplo|per exemple|or so|say|como|com|like"
    r"|as)\b))"
)
#: "42 is a boring seed, put 1337".
_PUT: Final = re.compile(
    r"(?P<between>)\s*,\s*(?:(?:so|just|better|doncs|pues|mejor|millor)\s+)*"
    r"(?:put(?: it (?:to|at|on))?|set it to|make it|use|go with|posa(?:-hi|-li|-la|'l|-ne|'n)?"
    rf"|fes servir|pon(?:le|me|la|lo)?|usa)\s+(?:(?:to|at|a|en)\s+)?"
    rf"(?P<number>{NUMBER})\s*(?P<share>%)?(?=\s*(?:$|[;!)\n]|\.(?!\d)|,(?!\d)))"
)
#: "test" is ambiguous; with a share it is the test split.
_TEST: Final = re.compile(r"(?<![\w-])(?:test|prova|prueba)(?![\w-])")
#: A number further on in the sentence, at the end of its clause.
_LONE: Final = re.compile(
    r"(?P<between>[^;:.!?\x00\n()\d]{0,40}?)(?<![\w.,-])(?P<number>\d+(?:[.,]\d+)?(?:e-?\d+)?)"
    r"(?P<share>\s*%)?(?:\s+(?:or so|o asi|mes o menys|mas o menos))?(?=\s*(?:$|[;!)\n]|\.(?!\d)))"
)
_ANY_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
#: The next number is the old or current value: "the rank, which was at 8".
_KEPT_AS: Final = re.compile(
    r"\b(?:was|were|used|had|era|eren|eran|estava|estaba|tenia|from|desde|des de|leave|why|than)\b"
)


def read_named(message: Message, draft: Mapping[str, Any]) -> Iterator[Change | Choice]:
    """Yield a question for each field whose name is in an unread clause.

    A field that the words remove, or leave at its default, is left to ftc.
    """
    for test in list(_TEST.finditer(message.folded)):
        found = _PLACED.match(message.folded, test.end())
        if found is not None and found["share"]:
            placed = _placed(message, "/data/splits/test", test)
            yield from () if placed is None else (placed,)
    for pointer, pattern in field_names():
        match = pattern.search(message.folded)
        if match is None or (pointer.startswith(_TAUGHT) and not _is_distilled(message, draft)):
            continue
        if message.is_read_around(*match.span()):
            if (placed := _placed(message, pointer, match)) is not None:
                yield placed
            continue
        if (span := _removed_from(message, match)) is not None:
            words = message.words(*span)
            message.cross_out(*span)
            yield Change(pointer=pointer, value=None, words=words)
            continue
        placed = _placed(message, pointer, match) or _lone(message, pointer, match)
        if placed is not None:
            yield placed
            continue
        if pointer in _switched_off() and message.denied(*match.span()):
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Change(pointer=pointer, value="none", words=words)
            continue
        if not _KEPT.search(message.clause(*match.span())):
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Choice(pointer=pointer, values=(), words=words)


@cache
def _switched_off() -> frozenset[str]:
    """Return the fields whose only value for "not at all" is "none"."""
    return frozenset(
        field.pointer
        for field in fields()
        if field.name.endswith(".type") and "none" in choices(field.schema)
    )


def _is_distilled(message: Message, draft: Mapping[str, Any]) -> bool:
    """Return whether a teacher is a model, since people also mention other teachers."""
    return has_teacher(value_at(draft, "/objective/type")) or "distil" in message.written.lower()


def _placed(message: Message, pointer: str, match: re.Match[str]) -> Change | Choice | None:
    """Return the number to which the clause sets a named field: "la llavor posa-la a 2024"."""
    found = _PLACED.match(message.folded, match.end())
    if found is None and _MORE_OF.search(message.folded[: match.start()]):
        found = _SAY.match(message.folded, match.end())
    if found is None:
        found = _PUT.match(message.folded, match.end())
    if found is None or pointer not in numeric_fields():
        return None
    if message.replaced(found.start("number")):
        return None  # "the five last checkpoints instead of two"
    begins = message.denied(match.start(), None)
    if begins or NEGATORS.search(found["between"]) or _KEPT_AS.search(found["between"]):
        return None
    said, share = found["number"], found["share"]
    number = read_number(said.strip(), kilo=1024 if pointer == _LENGTH else 1000)
    if number is None:
        return None
    value = as_written(round(number / 100, 6) if share else number)
    words = message.words(match.start(), found.end())
    if pointer.startswith(_SPLITS) and not share and number >= 1:
        part = as_written(round(number / 100, 6))
        if "%" not in message.written or number > _MOST_PERCENT:
            message.cross_out(match.start(), found.end())
            return Choice(pointer=pointer, values=(part,), words=words, why=UNSURE)
        value = part
    if not admits(pointer, value):
        return None
    message.cross_out(match.start(), found.end())
    return Change(pointer=pointer, value=value, words=words)


def _lone(message: Message, pointer: str, match: re.Match[str]) -> Change | None:
    """Return the only number of a message, after its only field: "dropout, 0.1"."""
    found = _LONE.match(message.folded, match.end())
    numbers = _ANY_NUMBER.findall(message.folded)
    if found is None or len(numbers) != 1 or pointer not in numeric_fields():
        return None
    if message.denied(match.start()) or _KEPT_AS.search(found["between"]):
        return None
    number = read_number(found["number"], kilo=1024 if pointer == _LENGTH else 1000)
    if number is None or find_hedge(found["between"]):
        return None
    value = as_written(round(number / 100, 6) if found["share"] else number)
    if not admits(pointer, value):
        return None
    words = ", ".join((message.words(*match.span()), message.words(*found.span("number"))))
    message.cross_out(*match.span())
    message.cross_out(*found.span("number"))
    return Change(pointer=pointer, value=value, words=words)


def _removed_from(message: Message, match: re.Match[str]) -> Span | None:
    """Return the range of the words that remove a named field; None if they do not."""
    if _TO_VALUE.match(message.folded, match.end()):
        return None  # "drop the rank to 8" lowers it
    before = _ARTICLE.sub("", message.folded[: match.start()])
    found = _REMOVED.search(before)
    if found is not None and "\x00" not in found[0] and not message.denied(found.start()):
        return found.start(), match.end()
    if not _DEFAULT.search(message.clause(*match.span())):
        return None
    after = _TO_DEFAULT.match(message.folded, match.end())
    return match.start(), after.end() if after else match.end()


@cache
def field_names() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the patterns of the names of each field, the longest first."""
    kept: dict[str, str] = {}
    for pointer, words in (*WORDS["quantities"].items(), *WORDS["named"].items()):
        kept[pointer] = "|".join(filter(None, (kept.get(pointer), any_of(words))))
    kept = {**spoken_names(), **kept}
    kept = {pointer: name for pointer, name in kept.items() if pointer not in _VAGUE}
    return tuple(
        (pointer, re.compile(rf"(?<![\w-])(?:{name})(?![\w-])"))
        for pointer, name in sorted(kept.items(), key=lambda pair: -len(pair[1]))
    )
