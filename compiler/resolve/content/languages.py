"""Detects the languages of the texts by their script or their most frequent words."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final, TypedDict

from ftc.compiler.resolve.content.near_duplicates import draw, split_words
from ftc.compiler.resolve.rows.example import Example

_SAMPLE_ROWS: Final = 300
_FEWEST_HITS: Final = 2
_LEAST_SHARE: Final = 0.02
_CHARS: Final = 400


class _Table(TypedDict):
    words: dict[str, str]
    scripts: dict[str, tuple[str, str]]


def find_languages(examples: Sequence[Example]) -> Mapping[str, float]:
    """Return the share of each language among sampled rows with a clear language, most first.

    Rows that are too short, and languages of less than one row in fifty, are left out. A row that
    could be in two languages counts for the one that is more frequent in other rows.
    """
    rows = [_count_hits(examples[place]) for place in draw(examples, _SAMPLE_ROWS)]
    usual: Counter[str] = Counter()
    for hits in rows:
        usual.update(hits)
    told = [max(hits, key=lambda code: (hits[code], usual[code])) for hits in rows if hits]
    ordered = sorted(Counter(told).items(), key=lambda item: (-item[1], item[0]))
    shares = {code: round(rows / len(told), 2) for code, rows in ordered}
    return {code: share for code, share in shares.items() if share >= _LEAST_SHARE}


def _count_hits(example: Example) -> Counter[str]:
    """Count the hits for each language, by ISO 639-1 code; a single hit is ignored."""
    text = " ".join(text for _, text in example.turns)[:_CHARS]
    if not text.isascii() and (code := _by_script(text)) is not None:
        return Counter({code: _FEWEST_HITS})
    words = set(split_words(example))
    hits = {code: len(words & usual) for code, usual in _words().items()}
    return Counter({code: count for code, count in hits.items() if count >= _FEWEST_HITS})


def _by_script(text: str) -> str | None:
    """Return the language whose letters are a quarter of the text or more; kana before kanji."""
    letters = [letter for letter in text if not letter.isascii()]
    for code, (first, last) in _table()["scripts"].items():
        share = 0.1 if code == "ja" else 0.25
        if sum(first <= letter <= last for letter in letters) > share * len(text):
            return code
    return None


@cache
def _words() -> Mapping[str, frozenset[str]]:
    return {code: frozenset(words.split()) for code, words in _table()["words"].items()}


@cache
def _table() -> _Table:
    text = (files("ftc.compiler.knowledge.text") / "languages.json").read_text(encoding="utf-8")
    table: _Table = json.loads(text)
    return table
