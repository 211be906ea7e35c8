"""Whether training rows contain the questions of a benchmark: shared runs of words.

A question overlaps with a row if they share 13 words in a row, as GPT-3's authors compared them
(Brown et al. 2020, appendix C). Of a question with fewer words, all words must be in the row in
this order; one with fewer than 5 words is not compared, because rows share such phrases by chance.
Letter case and punctuation do not count. Standard library only.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

WORDS = 13
LEAST_WORDS = 5
SHOWN_LETTERS = 120  # of an example

_WORD = re.compile(r"\w+")


def split_words(text: str) -> list[str]:
    """Return the words of a text without their case."""
    return _WORD.findall(text.casefold())


def measure(questions: Sequence[str], rows: Iterable[str]) -> dict[str, Any]:
    """Return how many questions share words with a row, and one of them as an example."""
    wanted: dict[tuple[str, ...], dict[tuple[str, ...], set[int]]] = defaultdict(dict)
    compared = 0
    for place, question in enumerate(questions):
        words = split_words(question)
        if len(words) < LEAST_WORDS:
            continue
        compared += 1
        size = min(WORDS, len(words))
        for start in range(len(words) - size + 1):
            run = tuple(words[start : start + size])
            wanted[run[:LEAST_WORDS]].setdefault(run, set()).add(place)
    found: set[int] = set()
    for row in rows:
        words = split_words(row)
        for start in range(len(words) - LEAST_WORDS + 1):
            begun = wanted.get(tuple(words[start : start + LEAST_WORDS]))
            for run, places in begun.items() if begun else ():
                if tuple(words[start : start + len(run)]) == run:
                    found |= places
    example = " ".join(questions[min(found)].split())[:SHOWN_LETTERS] if found else None
    return {
        "questions": len(questions),
        "compared": compared,
        "overlapping": len(found),
        "example": example,
    }


def describe(found: dict[str, Any]) -> str:
    """Return a sentence about what `measure` found."""
    said = (
        f"{found['overlapping']:,} of {found['compared']:,} compared questions are in training rows"
    )
    left = found["questions"] - found["compared"]
    return f"{said}; {left:,} are too short to compare" if left else said
