"""How much the words around a value look like a request: a logistic regression on them.

The weights are learned from annotated messages by `.ci/requested.py`. A word that no message had
has no weight, so a request in new words stays a request, which no list of words can promise.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final

from ftc.tui.understanding.message import Span

#: Letters of a word that count: endings of verbs and nouns tell little.
_STEM: Final = 6
_SENTENCE_END: Final = re.compile(r"[!?;\n]|\.(?=\s|$)")
_CLAUSE_END: Final = re.compile(
    r"[!?;:,\n()]|\.(?=\s|$)|\s[-\u2013\u2014]\s"
    r"|\b(?:but|pero|sino|because|since|porque|pues|perque|and|then|so|y|luego|llavors)\b"
)
_WORD: Final = re.compile(r"_+|[a-z]+(?:'[a-z]+)?|\d+|[?\",:;.!()]")


def find_features(bare: str, place: Span, pointer: str) -> frozenset[str]:
    """Return what describes a value at a place: its field, and the words of its sentence.

    `bare` is the folded message with an underscore for each letter that was read.
    """
    return frozenset(_features(bare, place, pointer))


def report_score(features: frozenset[str]) -> float:
    """Return the log-odds that a value with these features is told and not requested."""
    weights = _read_weights()
    return weights[""] + sum(weights.get(feature, 0.0) for feature in sorted(features))


def _features(bare: str, place: Span, pointer: str) -> Iterator[str]:
    start, end = place
    first, last = _around(_SENTENCE_END, bare, place)
    begin, stop = _around(_CLAUSE_END, bare, place)
    begin, stop = max(first, begin), min(last, stop)
    before, after = _words(bare[begin:start]), _words(bare[end:stop])
    earlier, later = _words(bare[first:begin]), _words(bare[stop:last])
    parts = {"b": before, "a": after, "p": earlier, "n": later}
    for name, words in parts.items():
        yield from (f"{name}:{word}" for word in words)
    yield from (f"c:{word}" for word in (*before, *after))
    yield from (f"s:{word}" for word in (*earlier, *later))
    for words in (("^", *before), (*after, "$"), ("^", *earlier)):
        yield from (f"2:{one} {next_one}" for one, next_one in pairwise(words))
    opening = (*earlier, *before, "V")
    yield f"first:{opening[0]}"
    yield f"first2:{' '.join(opening[:2])}"
    yield f"prev:{before[-1] if before else '^'}"
    yield f"next:{after[0] if after else '$'}"
    yield f"ptr:{pointer}"
    yield f"sec:{pointer.split('/')[1]}"
    if bare[last : last + 1] == "?":
        yield "ask"


def _around(ends: re.Pattern[str], text: str, place: Span) -> Span:
    start, end = place
    first = max((match.end() for match in ends.finditer(text, 0, start)), default=0)
    last = ends.search(text, end)
    return first, last.start() if last else len(text)


def _words(text: str) -> Sequence[str]:
    return [
        "_" if word[0] == "_" else "#" if word.isdigit() else word[:_STEM]
        for word in _WORD.findall(text)
    ]


@cache
def _read_weights() -> Mapping[str, float]:
    """Return the weight of each feature; the empty name has the bias."""
    text = (files("ftc.tui.understanding") / "requested.json").read_text(encoding="utf-8")
    weights: dict[str, float] = json.loads(text)
    return weights
