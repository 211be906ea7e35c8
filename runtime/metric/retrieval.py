"""Search by vectors and by words, and measures of where the right documents are ranked.

Every measure has one number per query: see metrics.py for intervals and comparisons.
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, log2
from typing import Any, Final

import numpy as np

from . import metrics

TOP: Final = 10  # results of a query that count
MOST_QUERIES: Final = 1000  # that are judged, at most
K1, B = 1.2, 0.75  # of BM25: the usual values of Robertson and Zaragoza (2009), section 3.5
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Queries, the documents that are searched, and the places of each query's right ones."""

    queries: Sequence[str]
    documents: Sequence[str]
    right: Sequence[frozenset[int]]


def make_search(rows: Sequence[Mapping[str, Any]]) -> Search:
    """Return the search of some rows: each query once, among all texts of all other columns.

    All documents that belong to the same query are right. If there are more than `MOST_QUERIES`
    queries, the first ones are judged.
    """
    places: dict[str, int] = {}
    for row in rows:
        for name in ("positive", "negative"):
            if name in row:
                places.setdefault(row[name], len(places))
    right: dict[str, set[int]] = {}
    for row in rows:
        right.setdefault(row["anchor"], set()).add(places[row["positive"]])
    told = [frozenset(found) for found in right.values()]
    return Search(
        queries=list(right)[:MOST_QUERIES], documents=list(places), right=told[:MOST_QUERIES]
    )


def measure(search: Search, scores: Iterable[Any]) -> dict[str, metrics.Measured]:
    """Return nDCG@10, MRR@10 and recall@10 of each query's scores of all documents.

    nDCG with a gain of 1 for a right document (Järvelin and Kekäläinen 2002). Scores are read query
    by query: a table of all would not fit in memory.
    """
    order = (np.argsort(-np.asarray(row), kind="stable")[:TOP].tolist() for row in scores)
    gains, firsts, shares = [], [], []
    for found, right in zip(order, search.right, strict=True):
        hits = [rank for rank, place in enumerate(found, 1) if place in right]
        best = sum(1 / log2(rank + 1) for rank in range(1, min(TOP, len(right)) + 1))
        gains.append(sum(1 / log2(rank + 1) for rank in hits) / best)
        firsts.append(1 / hits[0] if hits else 0.0)
        shares.append(len(hits) / min(TOP, len(right)))
    return {
        f"ndcg_at_{TOP}": metrics.mean(gains),
        f"mrr_at_{TOP}": metrics.mean(firsts),
        f"recall_at_{TOP}": metrics.mean(shares, percent=True),
    }


def name_cut(measured: Mapping[str, metrics.Measured], size: int) -> dict[str, metrics.Measured]:
    """Return the first measure of cut vectors, under a name that ends with their size."""
    name, found = next(iter(measured.items()))
    return {f"{name}_first_{size}": found}


def correlate(scores: Sequence[float], wanted: Sequence[float]) -> dict[str, metrics.Measured]:
    """Return Spearman's correlation of the scores of pairs with those of the data."""
    first, second = _rank(scores), _rank(wanted)

    def weigh(times: Any) -> float:
        total = max(times.sum(), 1)
        x, y = first - times @ first / total, second - times @ second / total
        spread = float((times @ (x * x)) * (times @ (y * y))) ** 0.5
        return float(times @ (x * y)) / spread if spread else 0.0

    return {"spearman": metrics.Measured(parts=list(scores), measure=weigh, higher=True)}


def score_words(queries: Sequence[str], documents: Sequence[str]) -> Iterator[Any]:
    """Yield BM25's scores of all documents for each query.

    Robertson and Zaragoza (2009), equation 3.15, with Lucene's weight of a word, which is never
    negative: ln(1 + (N - n + 0.5) / (n + 0.5)).
    """
    counts = [Counter(words_of(document)) for document in documents]
    sizes = np.array([count.total() for count in counts], float)
    long = K1 * (1 - B + B * sizes / max(1.0, sizes.mean()))
    held: dict[str, tuple[array[int], array[int]]] = {}
    for place, count in enumerate(counts):
        for word, times in count.items():
            places, many = held.setdefault(word, (array("I"), array("I")))
            places.append(place)
            many.append(times)
    for query in queries:
        scores = np.zeros(len(documents))
        for word in words_of(query):
            if word in held:
                found, repeats = (np.asarray(numbers) for numbers in held[word])
                weight = log(1 + (len(documents) - len(found) + 0.5) / (len(found) + 0.5))
                scores[found] += weight * repeats * (K1 + 1) / (repeats + long[found])
        yield scores


def describe_words(
    measured: Mapping[str, metrics.Measured], by_words: Mapping[str, metrics.Measured]
) -> dict[str, Any]:
    """Return what BM25 reaches on the same rows, and whether the model is better than it."""
    name = next(iter(measured))
    change = metrics.compare(by_words[name], measured[name])
    return {
        **{f"bm25_{key}": found.value for key, found in by_words.items()},
        "bm25_verdict": change["verdict"],
    }


def words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return _WORD.findall(text.casefold())


def _rank(numbers: Sequence[float]) -> Any:
    """Return the rank of each number, equal ones sharing the mean of their ranks."""
    values = np.asarray(numbers, float)
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(count)
    return (ends - (count - 1) / 2)[place]
