"""Names of columns in prose, each with its most likely role in its sentence.

The words around a name, its own words and its place among the other names are the features of a
linear model, which gives each role a probability. The roles of all names in a message are chosen
together.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from typing import Final

from ftc.spec.schema import fields
from ftc.tui.understanding.columns.column_roles import find_roles, role_of_name
from ftc.tui.understanding.learned.column_names import FILE, find_shapes
from ftc.tui.understanding.learned.linear import NONE, Fit, read_model
from ftc.tui.understanding.learned.stems import field_stems, stem
from ftc.tui.understanding.text.message import Span, fold

SECTION: Final = "/data/columns/"
_TOKEN: Final = re.compile(r"@+|\x02+|[a-z]+|\d+|->|=>|[^\sa-z\d]")
_PARTS: Final = re.compile(r"[a-z]+|\d+")
_BREAK: Final = re.compile(r"[@;!?\n]+|\.(?=\s|$)|,\s|\s(?:and|i|y|e)\s")
_SENTENCE_END: Final = frozenset(".;!?\n")
_CLAUSE_END: Final = frozenset(("@", ",", ":", "(", ")", "and", "i", "y"))
_QUOTES: Final = frozenset("'`\"\u00ab")
#: Words anywhere in the message that show the format of its rows.
_TELLING: Final = frozenset(
    "dpo kto orpo simpo cpo grpo embed rerank prefer sft cpt classi classe clasif vector tool tools"  # noqa: SIM905
    " eines herram chat conver alpaca instru img foto fotos pictur image imatge imagen simila"
    " semeja simili thumbs votes vot voto polze pulgar".split()
)
#: Limits: letters of a word that links a role to a name, letters and tokens beside a name.
_SHORT: Final = 4
_AROUND: Final = 120
_NEAR: Final = 90
_TOKENS: Final = 8
_LINK: Final = 30
_FAR: Final = 4
_MESSAGE: Final = 1000
#: The minimum probability and the maximum number of the roles that are tried.
_LEAST: Final = 0.02
_MOST_ROLES: Final = 5
_TINY: Final = 1e-9
#: Shapes that only names have.
_MARKED: Final = frozenset({"shape:quoted", "shape:known", "shape:column", "shape:code"})
#: Groups of roles that exclude each other in one spec.
_APART: Final = (
    (
        frozenset({"instruction", "output", "input"}),
        frozenset({"prompt", "completion", "chosen", "rejected", "messages", "text"}),
    ),
    (frozenset({"text"}), frozenset({"completion", "chosen", "rejected", "messages", "prompt"})),
    (frozenset({"chosen", "rejected"}), frozenset({"completion", "messages", "score"})),
    (frozenset({"messages"}), frozenset({"prompt", "completion"})),
)
#: The usual roles, each with the roles whose words can mean it: "text" can mean a prompt.
_LIKE: Final[Mapping[str, frozenset[str] | set[str]]] = {
    "prompt": {"prompt", "text"},
    "completion": {"completion", "label", "score"},
    "text": {"text", "prompt"},
    "label": {"label"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A text that may name a column, its range as written, its features and the fit of roles."""

    text: str
    start: int
    end: int
    features: Sequence[str]
    fits: Mapping[str, Fit]
    told: frozenset[str]

    def may_be(self, pointer: str) -> bool:
        """Return whether adjacent words name this role, or name no role and this one is usual."""
        role = pointer.removeprefix(SECTION)
        like = _LIKE.get(role, {role})
        return bool(self.told & like) if self.told else role in _LIKE

    @property
    def is_marked(self) -> bool:
        """Return whether quotes, the word "column" or its own letters mark the text as a name."""
        return self.features[1] in _MARKED

    def weigh(self) -> Mapping[str, float]:
        """Return the probability of each role, and that the text is not a column."""
        return read_model("roles").weigh(self.features, self.fits)


def find_names(text: str, known: Sequence[str]) -> Sequence[Name]:
    """Return the possible names of columns in a message; `known` are the columns of the data."""
    text = text[:_MESSAGE]
    shapes = find_shapes(text, known)
    hidden = list(fold(text))
    for match in FILE.finditer(text):
        hidden[slice(*match.span())] = "\x02" * len(match[0])
    for start, end in shapes:
        hidden[start:end] = "@" * (end - start)
    bare, spans = "".join(hidden), [*shapes]
    said = sorted(_TELLING & set(map(stem, _PARTS.findall(fold(text)))))
    return [
        _make(
            text, bare, spans, at, [f"shape:{shapes[span]}", *(f"message:{each}" for each in said)]
        )
        for at, span in enumerate(spans)
    ]


@cache
def list_roles() -> tuple[str, ...]:
    """Return the pointers of the columns of all row formats."""
    return tuple(field.pointer for field in fields() if field.pointer.startswith(SECTION))


def _make(text: str, bare: str, spans: Sequence[Span], at: int, features: Sequence[str]) -> Name:
    start, end = spans[at]
    shape = features[0].partition(":")[2]
    before = _tokens(bare[max(0, start - _AROUND) : start])[-_TOKENS:][::-1]
    after = _tokens(bare[end : end + _AROUND])[:_TOKENS]
    own = [stem(part) for part in _PARTS.findall(fold(text[start:end]).replace("_", " "))]
    told = _told(bare, start, end, text[start:end])
    for places in told.values():
        places |= {f"{place}, {shape}" for place in places if place.endswith("nearest")}
    roles = {
        role: _fit(field_stems()[role], own, before, after)
        | dict.fromkeys(told.get(role.removeprefix(SECTION), ()), 1.0)
        for role in list_roles()
    }
    return Name(
        text=text[start:end],
        start=start,
        end=end,
        features=[
            *("bias", *features),
            *(f"at {at} of {len(spans)}", f"of {len(spans)}"),
            *(f"own:{each}" for each in sorted(set(own))),
            *_beside("b", before),
            *_beside("a", after),
            *_links(bare, spans, at),
            *sorted(f"{place}:{role}" for role, places in told.items() for place in places),
        ],
        fits=roles,
        told=frozenset(
            role
            for role, places in told.items()
            if role and any(each.endswith(("nearest", "name")) for each in places)
        ),
    )


def _beside(side: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the features of the words on one side of a name, the nearest first."""
    near = _until(words, _SENTENCE_END)
    yield f"{side}1:{words[0] if words else '$'}"
    if len(words) > 1:
        yield f"{side}2:{words[1]}"
        yield f"{side}12:{words[0]} {words[1]}"
    yield from (f"{side}c:{each}" for each in sorted(set(_until(near, _CLAUSE_END))))
    yield from (f"{side}s:{each}" for each in sorted(set(near)))


def _links(bare: str, spans: Sequence[Span], at: int) -> Iterator[str]:
    """Yield the text between a name and its neighbours."""
    start, end = spans[at]
    if at:
        yield f"link:{_between(bare[spans[at - 1][1] : start])}"
    if at + 1 < len(spans):
        yield f"next:{_between(bare[end : spans[at + 1][0]])}"


def _between(text: str) -> str:
    return " ".join(_tokens(text)[:_FAR]) if len(text) < _LINK else "far"


def _told(bare: str, start: int, end: int, name: str) -> dict[str, set[str]]:
    """Return the places of the words that show each role, and whether the name itself shows one."""
    told: dict[str, set[str]] = {}
    before = _BREAK.split(bare[max(0, start - _NEAR) : start])[-1]
    after = _BREAK.split(bare[end : end + _NEAR], maxsplit=1)[0]
    for place, text, first in (("told before", before, False), ("told after", after, True)):
        found = find_roles(text)
        for *_, role in found:
            told.setdefault(role, set()).add(place)
        if found:
            begin, stop, role = found[0 if first else -1]
            gap = len((text[:begin] if first else text[stop:]).split())
            told[role] |= {f"{place} nearest", f"{place} gap {min(gap, _FAR)}"}
            link = _link_word(text, first=first)
            told[role] |= {f"{place} by {link}"} if len(link) <= _SHORT else set()
    if told:
        told[""] = {f"any {each}" for places in told.values() for each in places}
    own = role_of_name(fold(name))
    if own is not None:
        told.setdefault(own, set()).add("told by name")
    return told


def _link_word(text: str, *, first: bool) -> str:
    """Return the word beside a name, which links it to a role: "in", "is"."""
    beside = _tokens(text)
    if not beside:
        return "$"
    link = beside[0] if first else beside[-1]
    return beside[-2] if not first and link in _QUOTES and len(beside) > 1 else link


def _tokens(text: str) -> list[str]:
    """Return the stems of words, with marks for names and for files."""
    marks = {"@": "@", "\x02": "FILE"}
    return [
        marks.get(token[0]) or (stem(token) if token[0].isalnum() else token)
        for token in _TOKEN.findall(text)
    ]


def _until(words: Sequence[str], ends: frozenset[str]) -> Sequence[str]:
    """Return the words before the first stop word."""
    return words[: next((at for at, word in enumerate(words) if word in ends), len(words))]


def _fit(
    stems: Mapping[str, float], own: Sequence[str], before: Sequence[str], after: Sequence[str]
) -> dict[str, float]:
    """Return the measures of how well a name and the words around it name a role."""
    fit: dict[str, float] = {}
    value = sum(stems.get(each, 0.0) for each in set(own))
    if value:
        fit["own"] = value
    for side, words in (("before", before), ("after", after)):
        sentence = _until(words, _SENTENCE_END)
        for near, part in (("clause", _until(sentence, _CLAUSE_END)), ("sentence", sentence)):
            value = max((stems.get(each, 0.0) for each in part), default=0.0)
            if value:
                fit[f"{side} {near}"] = value
    return fit


def assign(
    names: Sequence[Name], shares: Sequence[Mapping[str, float]]
) -> list[tuple[Name, str, float]]:
    """Return each name that has a role, its role and the probability; roles are chosen jointly."""
    roles = _choose([each.text for each in names], shares)
    found = []
    for at, (name, role) in enumerate(zip(names, roles, strict=True)):
        if role != NONE:
            others = [each for each in roles if each != role]
            free = (
                share
                for each, share in shares[at].items()
                if each == NONE or all(may_stand_beside(each, other) for other in others)
            )
            found.append((name, role, shares[at][role] / sum(free)))
    return found


def _choose(names: Sequence[str], shares: Sequence[Mapping[str, float]]) -> Sequence[str]:
    """Return the most likely role of each name, or none, so that one spec can have all of them."""
    best: tuple[float, Sequence[str]] = (float("-inf"), [NONE] * len(names))

    def search(roles: list[str], score: float) -> None:
        nonlocal best
        at = len(roles)
        if score <= best[0]:
            return
        if at == len(names):
            best = (score, roles)
            return
        ranked = sorted(shares[at].items(), key=lambda pair: -pair[1])[:_MOST_ROLES]
        for role, share in (*ranked, (NONE, shares[at][NONE])):
            beside = [
                each
                for each, name in zip(roles, names, strict=False)
                if name != names[at] or each != role
            ]
            likely = role == NONE or share >= _LEAST
            if likely and (role == NONE or all(may_stand_beside(role, each) for each in beside)):
                search([*roles, role], score + log(max(share, _TINY)))

    search([], 0.0)
    return best[1]


def may_stand_beside(one: str, other: str) -> bool:
    """Return whether two names can have these roles in one spec."""
    first, second = one.removeprefix(SECTION), other.removeprefix(SECTION)
    if NONE in (one, other):
        return True
    return one != other and not any(
        (first in these and second in those) or (first in those and second in these)
        for these, those in _APART
    )
