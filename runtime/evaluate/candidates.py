"""Pairs of a query and a text: those that a reranker learns from, and those that it ranks.

Negatives are drawn for rows with one text. Half of them share words with the query, as the search
results do that a reranker reads.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, Final

import numpy as np

from ..metric import metrics, retrieval
from ..run import Run

CANDIDATES: Final = 30  # texts that are ranked for a query: the best by BM25
RIGHT: Final = 0.5  # a text with at least this score belongs to the query
_DRAWN: Final = 32  # texts to draw per wrong text, to find near ones

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Pairs to score, and how their scores are measured.

    `rows` and `columns` are the places of each pair in the table of the search, `words` the scores
    of BM25. `wanted` are the scores of the data, if they have some.
    """

    search: retrieval.Search
    rows: Sequence[int]
    columns: Sequence[int]
    words: Sequence[float]
    wanted: Sequence[float] | None = None

    @property
    def pairs(self) -> list[Pair]:
        """The texts of each pair."""
        queries, documents = self.search.queries, self.search.documents
        places = zip(self.rows, self.columns, strict=True)
        return [(queries[row], documents[column]) for row, column in places]

    def measure(self, scores: Any) -> dict[str, metrics.Measured]:
        """Return nDCG@10, MRR@10 and recall@10; for scored pairs, Spearman's correlation first."""
        measured = {}
        if self.wanted is not None:
            measured = retrieval.correlate([float(score) for score in scores], self.wanted)
        ranked = [place for place, right in enumerate(self.search.right) if right]
        if not ranked:
            return measured
        table = np.full((len(self.search.queries), len(self.search.documents)), -np.inf)
        table[self.rows, self.columns] = scores
        part = retrieval.Search(
            queries=[self.search.queries[place] for place in ranked],
            documents=self.search.documents,
            right=[self.search.right[place] for place in ranked],
        )
        return measured | retrieval.measure(part, table[ranked])


def pair_up(rows: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the pairs of a table's columns, with the label of each; a triplet is two pairs."""
    queries, texts = list(rows["anchor"]), list(rows["positive"])
    if "score" in rows:
        return _make_table(queries, texts, [float(score) for score in rows["score"]])
    return _join(queries, texts, [[text] for text in rows["negative"]])


def draw_pairs(
    run: Run,
    rows: Mapping[str, Sequence[Any]],
    *,
    seed: int,
    wrong_texts: int,
    others: Sequence[str] = (),
) -> dict[str, list[Any]]:
    """Return the pairs of rows with one text, each followed by its pairs with a wrong text.

    Wrong texts do not belong to the query. They come from this table or from `others`, and are
    repeated if there are too few. Ends the stage if there are none.
    """
    queries, texts = list(rows["anchor"]), list(rows["positive"])
    documents = list(dict.fromkeys([*texts, *others]))
    wrong = _draw_wrong(run, queries, texts, documents, seed=seed, many=wrong_texts)
    return _join(queries, texts, wrong)


def list_candidates(rows: Sequence[Mapping[str, Any]]) -> Listed:
    """Return the pairs to rank: for each query, the texts that BM25 finds, and the right ones.

    Scored pairs are ranked as they are: the texts of a query that has right ones and others.
    """
    kept = _limit(rows)
    if "score" in kept[0]:
        return _list_scored(kept)
    search = retrieval.make_search(kept)
    words = np.stack(list(retrieval.score_words(search.queries, search.documents)))
    found = np.argsort(-words, axis=1, kind="stable")[:, :CANDIDATES].tolist()
    places = [
        (row, column)
        for row, (first, right) in enumerate(zip(found, search.right, strict=True))
        for column in sorted({*first, *right})
    ]
    return _list_places(search, places, words)


def apply_sigmoid(scores: Any) -> Any:
    """Apply the sigmoid to scores, as rerankers and their files do."""
    return 1 / (1 + np.exp(-np.asarray(scores, float)))


def list_pairs(rows: Sequence[Mapping[str, Any]]) -> list[Pair]:
    """Return every pair of the rows once."""
    found = (
        (row["anchor"], row[name])
        for row in rows
        for name in ("positive", "negative")
        if name in row
    )
    return list(dict.fromkeys(found))


def _join(
    queries: Sequence[str], texts: Sequence[str], wrong: Sequence[Sequence[str]]
) -> dict[str, list[Any]]:
    """Return each right pair, followed by the wrong pairs of its row."""
    pairs = [
        (query, text, float(place == 0))
        for query, right, others in zip(queries, texts, wrong, strict=True)
        for place, text in enumerate((right, *others))
    ]
    return _make_table(*(list(column) for column in zip(*pairs, strict=True)))


def _make_table(queries: list[str], texts: list[str], labels: list[float]) -> dict[str, list[Any]]:
    return {"query": queries, "text": texts, "label": labels}


def _draw_wrong(
    run: Run,
    queries: Sequence[str],
    texts: Sequence[str],
    documents: Sequence[str],
    *,
    seed: int,
    many: int,
) -> list[list[str]]:
    """Return wrong texts for each row: half share words with its query, the rest are random."""
    right: dict[str, set[str]] = {}
    for query, text in zip(queries, texts, strict=True):
        right.setdefault(query, set()).add(text)
    held = {text: frozenset(retrieval.words_of(text)) for text in documents}
    counts = Counter(word for words in held.values() for word in words)
    rarity = {word: log(1 + len(documents) / count) for word, count in counts.items()}
    generator, found = random.Random(seed), []  # noqa: S311 - no secret
    for place, query in enumerate(queries):
        drawn = generator.sample(documents, min(len(documents), many * _DRAWN))
        wrong = [text for text in drawn if text not in right[query]]
        wrong = wrong or [text for text in documents if text not in right[query]]
        if not wrong:
            run.stop(f"all texts of the data belong to {query!r}: there is no wrong one to learn")
        asked, near = set(retrieval.words_of(query)), (many + place % 2) // 2
        shared = {text: sum(rarity[word] for word in sorted(asked & held[text])) for text in wrong}
        nearest = sorted(wrong, key=shared.__getitem__, reverse=True)[:near]
        chosen = [*nearest, *(text for text in wrong if text not in nearest)]
        found.append((chosen * many)[:many])
    return found


def _limit(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    queries = list(dict.fromkeys(row["anchor"] for row in rows))[: retrieval.MOST_QUERIES]
    kept = set(queries)
    return [row for row in rows if row["anchor"] in kept]


def _list_scored(rows: Sequence[Mapping[str, Any]]) -> Listed:
    queries = {query: place for place, query in enumerate(dict.fromkeys(r["anchor"] for r in rows))}
    texts = {text: place for place, text in enumerate(dict.fromkeys(r["positive"] for r in rows))}
    scores = {(queries[r["anchor"]], texts[r["positive"]]): float(r["score"]) for r in rows}
    right: list[set[int]] = [set() for _ in queries]
    wrong: list[set[int]] = [set() for _ in queries]
    for (row, column), score in scores.items():
        (right if score >= RIGHT else wrong)[row].add(column)
    told = [frozenset(r) if r and w else frozenset() for r, w in zip(right, wrong, strict=True)]
    search = retrieval.Search(queries=list(queries), documents=list(texts), right=told)
    words = np.stack(list(retrieval.score_words(search.queries, search.documents)))
    return _list_places(search, list(scores), words, wanted=list(scores.values()))


def _list_places(
    search: retrieval.Search,
    places: Sequence[tuple[int, int]],
    words: Any,
    wanted: Sequence[float] | None = None,
) -> Listed:
    rows, columns = [row for row, _ in places], [column for _, column in places]
    by_words = [float(score) for score in words[rows, columns]]
    return Listed(search=search, rows=rows, columns=columns, words=by_words, wanted=wanted)
