"""Ranks, nDCG and BM25, against numbers that are worked out by hand."""

from math import log, log2

import numpy as np
import pytest

from ftc.runtime.metric import retrieval

ROWS = [
    {"anchor": "red card", "positive": "a red card", "negative": "a blue car"},
    {"anchor": "blue car", "positive": "the blue car"},
    {"anchor": "red card", "positive": "cards are red"},
]


def test_a_query_of_several_rows_is_searched_for_once() -> None:
    """Documents are listed once, negatives among them, and both of its documents are right."""
    search = retrieval.make_search(ROWS)

    assert search.queries == ["red card", "blue car"]
    assert search.documents == ["a red card", "a blue car", "the blue car", "cards are red"]
    assert search.right == [frozenset({0, 3}), frozenset({2})]


def test_many_queries_are_searched_for_among_all_documents() -> None:
    """Only the first queries are judged: the time and memory of all would grow by their square."""
    many = retrieval.MOST_QUERIES + 200
    rows = [{"anchor": f"query {row}", "positive": f"text {row}"} for row in range(many)]
    search = retrieval.make_search(rows)
    found = retrieval.measure(search, retrieval.score_words(search.queries, search.documents))

    assert search.queries == [row["anchor"] for row in rows[: retrieval.MOST_QUERIES]]
    assert len(search.documents) == many
    assert found["ndcg_at_10"].value == 1.0


def test_measures_of_known_ranks() -> None:
    """Right documents on the ranks 1 and 3, and on rank 2."""
    search = retrieval.make_search(ROWS)
    found = retrieval.measure(search, [[0.9, 0.8, 0.1, 0.7], [0.2, 0.9, 0.8, 0.1]])
    first = (1 + 1 / log2(4)) / (1 + 1 / log2(3))

    assert found["ndcg_at_10"].parts == pytest.approx([first, 1 / log2(3)])
    assert found["mrr_at_10"].parts == [1.0, 0.5]
    assert found["recall_at_10"].value == 1.0


def test_a_document_beyond_the_tenth_is_not_found() -> None:
    """It counts as nothing in all three numbers."""
    rows = [{"anchor": "a", "positive": "right"}]
    rows += [{"anchor": "b", "positive": f"wrong {number}"} for number in range(10)]
    search = retrieval.make_search(rows)
    found = retrieval.measure(search, [[0.0, *range(1, 11)], [1.0] * 11])

    assert [measured.parts[0] for measured in found.values()] == [0.0, 0.0, 0.0]


def test_scores_of_words() -> None:
    """BM25 of two documents by the formula; a word that no document has counts as nothing."""
    (scores,) = retrieval.score_words(["card unseen"], ["card", "a blue car"])
    long = 1.2 * (0.25 + 0.75 * 1 / 2)
    weight = log(1 + (2 - 1 + 0.5) / (1 + 0.5))

    assert scores.tolist() == pytest.approx([weight * 2.2 / (1 + long), 0.0])


def test_correlation_of_ranks() -> None:
    """It is 1 for any rising relation and -1 for a falling one; ties share a rank."""
    rising = retrieval.correlate([1, 10, 100, 1000], [0.1, 0.2, 0.3, 0.9])
    falling = retrieval.correlate([4, 3, 2, 1], [0.1, 0.2, 0.3, 0.9])
    tied = retrieval.correlate([1, 1, 2, 2], [0, 0, 1, 1])

    assert rising["spearman"].value == pytest.approx(1)
    assert falling["spearman"].value == pytest.approx(-1)
    assert tied["spearman"].value == pytest.approx(1)
    assert retrieval.correlate([1, 1], [0, 1])["spearman"].value == 0.0
    assert np.isfinite(rising["spearman"].measure(np.array([2.0, 0, 1, 1])))
