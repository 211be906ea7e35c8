"""Scores whether a value is requested or only reported, by logistic regression on its sentence.

`.ci/requested.py` learns the weights from annotated messages. A word that occurs in none of them
has no weight, so unknown words alone do not turn a request into a report.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final

from ftc.tui.understanding.text.message import SENTENCE_END, Span, find_around

#: Words are compared by their first letters, because endings of verbs and nouns mean little.
_STEM: Final = 6
_CLAUSE_END: Final = re.compile(
    r"[!?;:,\n()]|\.(?=\s|$)|\s[-\u2013\u2014]\s"
    r"|\b(?:but|pero|sino|because|since|porque|pues|perque|and|then|so|y|luego|llavors)\b"
)
_WORD: Final = re.compile(r"_+|[a-z]+(?:'[a-z]+)?|\d+|[?\",:;.!()]")


def find_features(bare: str, place: Span, pointer: str) -> frozenset[str]:
    """Return the features of a value at a place: its field, and the words of its sentence.

    `bare` is the folded message with underscores for the letters that were read.
    """
    return frozenset(_features(bare, place, pointer))


def report_score(features: frozenset[str]) -> float:
    """Return the log-odds that a value with these features is only reported."""
    weights = _read_weights()
    return weights[""] + sum(weights.get(feature, 0.0) for feature in sorted(features))


def _features(bare: str, place: Span, pointer: str) -> Iterator[str]:
    start, end = place
    first, last = find_around(SENTENCE_END, bare, place)
    begin, stop = find_around(_CLAUSE_END, bare, place)
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


def _words(text: str) -> Sequence[str]:
    return [
        "_" if word[0] == "_" else "#" if word.isdigit() else word[:_STEM]
        for word in _WORD.findall(text)
    ]


@cache
def _read_weights() -> Mapping[str, float]:
    """Return the weight of each feature; the empty name has the bias."""
    text = (files("ftc.tui.understanding.learned") / "requested.json").read_text(encoding="utf-8")
    weights: dict[str, float] = json.loads(text)
    return weights
