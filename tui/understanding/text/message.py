"""A message while it is read: folded character by character, with read parts crossed out."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from ftc.tui.understanding.text.lexicon import NEGATORS
from ftc.tui.understanding.text.listed import is_listed_off
from ftc.tui.understanding.text.numerals import find_numerals, replace_percent
from ftc.tui.understanding.text.signs import find_signs
from ftc.tui.understanding.text.typos import find_typos

_MARKS: Final = "\"'\u201c\u201d\u00ab\u00bb`"
_CROSSED: Final = "\x00"
_LONGEST_CLAUSE: Final = 160
_CLAUSE_END: Final = re.compile(
    r"[;:!?)\x00]|\.(?=\s|$)|,|\s[-\u2013\u2014]\s"
    r"|\b(?:(?<!anything )(?<!anyone )but|and|(?<!not )(?<!n't )(?<!dont )(?<!never )use|per[oò]"
    r"|sino|i|y|(?<!no )amb|(?<!no )con)\b"
)

PART_END: Final = re.compile(r"[;:!?,\n]|\.(?=\s|$)|\b(?:but|and|per[oò]|sino|i|y)\b")

#: Fillers that may follow a "no": "qlora no quiero eh".
_PARTICLES: Final = (
    "eh|oi|oye|hombre|home|tio|tia|tu|va|vale|ok|okay|please|thanks|gracias|gracies|por favor"
    "|si us plau|sisplau|really|honestly|lol|jaja"
)
#: "drop duplicates no, keep them".
_NO_AFTER: Final = re.compile(
    r"(?:\s+(?:ones?|files?|version|build|copy))?"
    r"\s+(?:ni (?:en broma|de (?:broma|conya|cona)|regalad[oa]|regalat|en pintura)|no|not|none|off"
    r"|fora|fuera|cap|gens|ningun[oa]?|(?:quita|elimina)l[oa]"
    r"|(?:treu|elimina)(?:-lo|-la|'l)|(?:drop|remove|skip) it|sobr(?:a|en|an)|(?:can|has to|must)"
    r" go|(?:pot|puede) (?:marxar|plegar|irse|volar|fora|fuera)|se puede ir"
    r"|(?:is|are|'s) out|(?:is|are)(?: not|n't|nt) (?:needed|necessary|required|wanted)"
    r"|(?:is|are) (?:gone|no longer (?:ours|available|there|in use))"
    r"|(?:i|we) (?:don'?t|do not|no longer) (?:want|need|have)(?: it| one| any| them)?"
    r"|(?:ja |ya )?no (?:en |n'|el |la |els |les |lo |los |las |me |nos |em |ens )*"
    r"(?:vull|volem|tinc|tenim|hi es|existeix|calen?|cal pas|poses?|posis"
    r"|tengo|tenemos|existe|quiero|queremos|necesito|necessito|pongas|f(?:a"
    r"|an) falta"
    r"|hacen? falta)(?: (?:gens|cap|nada|mes|mas))?)"
    rf"(?:\s+(?:{_PARTICLES}))?"
    r"\s*(?:[,.;!]|$|(?:que|perque|porque|because|since|amb|con)\b)"
)
#: "de 4090 res", "de test nada": negates the words between the two.
_OF: Final = re.compile(r"(?<![\w'])(?:de (?:la |el |els |les |los |las |l')?|del |d')$")
_NONE: Final = re.compile(
    r"\s+(?:res|nada)(?: de (?:res|nada))?"
    rf"(?:\s+(?:{_PARTICLES}))?\s*(?:[,.;!]|$|(?:que|perque|porque)\b)"
)
#: "instead of q4" negates only the next words; the words after them are wanted.
_INSTEAD: Final = re.compile(
    r"\b(?:(?:instead|in place) of|rather than"
    r"|(?:en vez|en lugar|en lloc|en comptes|enlloc) del?s?)"
    r"\s+(?:\S+\s+){1,3}?(?:[^\w\s]|\x00|pon\w*|usa\w*|use|posa\S*|fes|haz\w*|quiero|vull"
    r"|make|give|export|dame|dona\S*|treu\S*|saca\S*)\S*"
)
_REPLACED: Final = re.compile(
    r"\b(?:instead of|rather than|in place of|en vez de(?:l)?|en lugar de(?:l)?|en lloc de(?:l|ls)?"
    r"|en comptes de(?:l|ls)?|enlloc de(?:l|ls)?|en lloc d'|en comptes d')\s*"
    r"(?:(?:the|that|this|el|la|els|les|los|las|l'|un|una|a|aquell?a?|aquest|aquesta|es[ea])\s*)?$"
)
#: "change 4 bits to 8 bits".
_SWAPS: Final = re.compile(
    r"\b(?:chang\w+|switch\w*|swap\w*|replac\w+|mov\w+|go|canvi\w*|pass\w+|substitu\w*|cambi\w*"
    r"|pas\w+|sustitu\w*)\s+(?:from |de |del |the |el |la |els |les |los |las )*$"
)
_FOR: Final = re.compile(r"\s+(?:to|for|with|into|by|a|al|por|per|amb|con)\s")
#: "no wait, rank 32" is a correction, and not a negation.
_CORRECTS: Final = re.compile(
    r"\bno,? (?=(?:wait|sorry|actually|better|make it|i mean|espera|perdona?|mejor|millor|ara"
    r"|ahora)\b)"
)
#: "I don't want you to not pack them": a double negation, and thus wanted.
_TWICE_DENIED: Final = re.compile(
    r"\b(?:(?:do not|don'?t|dont) (?:want|like|wish)(?: (?:you|it|them|us|this|that))?(?: to)?"
    r" (?:not|never|skip|avoid|forget)(?: to)?"
    r"|no (?:vull|volem|voldria)(?: pas)? que (?:\w+ )?(?:no|deixis de|deixi de)(?: (?:em|me|ens"
    r"|els|les|ho))?"
    r"|no (?:quiero|queremos|querria) que (?:\w+ )?(?:no|dejes de|deje de)(?: (?:me|nos|los|las"
    r"|lo))?)\b"
)
#: "It's not that I like mlflow": a reason follows, which is not negated.
_NOT_THAT: Final = re.compile(
    r"\b(?:it(?:'s| is) not|it isn'?t|not) (?:that|because|as if|like) (?:i|we|they|he|she|it|you)"
    r"\b|\bno (?:es|era|sera) (?:pas )?(?:que|perque|porque)\b"
)
#: "Remove all the tracking, tensorboard included": an example for the clause before.
_INCLUDED: Final = re.compile(
    r"(?:'s)? (?:included|inclos\w*|incloent|incluid\w+|inclusive|and all|i tot|y todo)"
    r"(?=\s*(?:$|[.,;!)]))"
)
#: "1,5b", the size of a model.
_SIZE_COMMA: Final = re.compile(r"(?<=\d),(?=\d{1,2} ?b\b)")
_RESPELT: Final = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u00b4": "'"})


#: The articles and pronouns of Majorca and those of the standard, of the same length.
_STANDARD: Final = {"ses": "les", "sa": "la", "mos": "ens"}
_BALEARIC: Final = re.compile(r"\b(?:ses|sa|mos)\b")
_MAJORCAN: Final = re.compile(r"\b(?:ses|mos)\b|\b(?:amb|per|i|de|a|que) sa\b")
#: A range of a message as written, with the end excluded.
Span = tuple[int, int]
#: The text after a question mark in a regular expression or an address, where it ends no sentence:
#: "-?\d+$".
IN_PATTERN: Final = r"[\\\d\[(^$*+=&|{]"
SENTENCE_END: Final = re.compile(
    rf"[!;\n]|\?(?!{IN_PATTERN})|(?<!\bpag)(?<!\bart)(?<!\bnum)(?<!\bcap)\.(?=\s|$)"
)


@lru_cache(maxsize=256)
def fold(text: str) -> str:
    """Return lowercase letters without accents, one for each character of `text`."""
    plain = "".join(
        unicodedata.normalize("NFD", letter)[0].lower()[0] for letter in text.translate(_RESPELT)
    )
    return (
        _BALEARIC.sub(lambda match: _STANDARD[match[0]], plain)
        if _MAJORCAN.search(plain)
        else plain
    )


def find_around(ends: re.Pattern[str], text: str, place: Span) -> Span:
    """Return the part of a text around a range, between the previous and the next separator."""
    start, end = place
    first = max((match.end() for match in ends.finditer(text, 0, start)), default=0)
    last = ends.search(text, end)
    return first, last.start() if last else len(text)


def find_words(text: str, words: str) -> int:
    """Return the index of words in a text, as whole words if possible, or -1."""
    first = place = text.find(words)
    while place >= 0:
        end = place + len(words)
        if not _is_inside_word(text, place) and not _is_inside_word(text, end):
            return place
        place = text.find(words, place + 1)
    return first


def find_places(text: str, words: str) -> list[Span]:
    """Return the ranges of words in a text; parts joined by commas may be separate."""
    place = find_words(text, words) if words else -1
    if place >= 0:
        return [(place, place + len(words))]
    found = ((find_words(text, part), part) for part in words.split(", ") if part)
    return [(at, at + len(part)) for at, part in found if at >= 0]


def _is_inside_word(text: str, place: int) -> bool:
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()


@dataclass(slots=True)
class Message:
    """A user's message; each reader crosses out its words, which later readers do not see.

    `folded` is the text for patterns: lowercase, without accents, numbers in words as digits.
    `plain` is the same text with nothing crossed out. `origin` holds the range of `written` behind
    each character of `folded`.
    """

    written: str
    folded: str = field(init=False)
    plain: str = field(init=False)
    origin: list[tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        plain = _SIZE_COMMA.sub(".", replace_percent(fold(self.written)))
        text, origin, done = [], [], 0
        found = sorted(
            (*find_signs(plain), *find_numerals(plain), *find_typos(plain)),
            key=lambda each: each.start,
        )
        for number in found:
            if number.start < done:
                continue
            text.append(plain[done : number.start] + number.digits)
            origin += [(place, place + 1) for place in range(done, number.start)]
            origin += [(number.start, number.end)] * len(number.digits)
            done = number.end
        self.folded = self.plain = "".join([*text, plain[done:]])
        self.origin = [*origin, *((place, place + 1) for place in range(done, len(plain)))]

    def take(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield each match in the folded text, and cross it out when the reader continues."""
        position = 0
        while match := pattern.search(self.folded, position):
            yield match
            self.cross_out(*match.span())
            position = max(match.end(), position + 1)

    def cross_out(self, start: int, end: int) -> None:
        """Hide a range from all later readers."""
        end = min(end, len(self.folded))
        if start >= end:
            return
        self.folded = self.folded[:start] + _CROSSED * (end - start) + self.folded[end:]

    def cut(self, end: int) -> None:
        """Drop the folded text after `end`."""
        self.folded, self.plain = self.folded[:end], self.plain[:end]
        self.origin = self.origin[:end]

    def restore(self, start: int, end: int) -> None:
        """Restore a hidden range."""
        self.folded = self.folded[:start] + self.plain[start:end] + self.folded[end:]

    def words(self, start: int, end: int) -> str:
        """Return a range of the folded text as written."""
        if start >= min(end, len(self.origin)):
            return ""
        stop = min(end, len(self.origin)) - 1
        return self.written[self.origin[start][0] : self.origin[stop][1]].strip()

    def denied(self, start: int, end: int | None = None) -> bool:
        """Return whether the clause before `start` negates what follows, or a "no" after `end`."""
        if end is not None and _NO_AFTER.match(self.folded, end):
            return True
        clause = self.folded[max(0, start - _LONGEST_CLAUSE) : start]
        if end is not None and _OF.search(clause) and _NONE.match(self.folded, end):
            return True
        for twisted in (_INSTEAD, _CORRECTS, _TWICE_DENIED, _NOT_THAT):
            clause = twisted.sub(" ", clause)
        ends = [match.end() for match in _CLAUSE_END.finditer(clause)]
        if len(ends) > 1 and end is not None and _INCLUDED.match(self.folded, end):
            ends.pop()
        elif end is not None and _INCLUDED.match(self.folded, end):
            ends = []
        if NEGATORS.search(clause[ends[-1] if ends else 0 :]):
            return True
        return is_listed_off(self.plain, start, start if end is None else end)

    def replaced(self, start: int, end: int | None = None) -> bool:
        """Return whether another value replaces the next words: "instead of X", "change X to Y"."""
        before = self.folded[max(0, start - _LONGEST_CLAUSE) : start]
        if end is not None and _SWAPS.search(before) and _FOR.match(self.folded, end):
            return True
        return _REPLACED.search(before) is not None

    def quoted(self, start: int, end: int) -> bool:
        """Return whether exactly a range is in quotation marks."""
        around = self.plain[max(0, start - 1) : start], self.plain[end : end + 1]
        return all(mark and mark in _MARKS for mark in around)

    def is_read_around(self, start: int, end: int) -> bool:
        """Return whether a reader took a part of the clause around a range."""
        return _CROSSED in self.clause(start, end)

    def clause(self, start: int, end: int) -> str:
        """Return the clause around a range of the folded text."""
        ends = [each.end() for each in PART_END.finditer(self.folded, 0, start)]
        after = PART_END.search(self.folded, end)
        stop = after.start() if after else len(self.folded)
        return self.folded[ends[-1] if ends else 0 : stop]

    def rest(self) -> str:
        """Return the words that no reader took."""
        kept, last = [], (-1, -1)
        for mark, place in zip(self.folded, self.origin, strict=True):
            if mark == _CROSSED:
                kept.append(" ")
            elif place != last:
                kept.append(self.written[slice(*place)])
            last = place
        return " ".join("".join(kept).split()).strip(" ,.;:!?")
