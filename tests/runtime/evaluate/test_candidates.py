"""Pairs to learn from and to rank: what is drawn, what is listed, and what scores are worth."""

from pathlib import Path
from typing import Any, NoReturn

import pytest

from ftc.runtime.evaluate import candidates

PAIRS: dict[str, list[Any]] = {
    "anchor": ["red card", "red card", "blue car", "old house"],
    "positive": ["a red card", "cards are red", "the blue car", "a house"],
}


class Stopped(Exception):  # noqa: N818 - it is the end of a stage
    """The stage was ended."""


class Stage:
    """Ends with the sentence that it is given."""

    folder = Path()

    def stop(self, said: str) -> NoReturn:
        """End the stage."""
        raise Stopped(said)


def draw(
    rows: dict[str, list[Any]], *, wrong_texts: int = 1, others: list[str] | None = None
) -> dict[str, list[Any]]:
    """Return the pairs of some columns, with wrong ones."""
    run: Any = Stage()
    return candidates.draw_pairs(run, rows, seed=7, wrong_texts=wrong_texts, others=others or [])


def list_rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the rows of columns."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values())]  # noqa: B905


def test_a_row_becomes_a_right_and_a_wrong_pair() -> None:
    """The wrong text is one of another query, and the same each time."""
    made = draw(PAIRS)

    assert made == draw(PAIRS)
    assert made["query"] == [query for query in PAIRS["anchor"] for _ in range(2)]
    assert made["text"][::2] == PAIRS["positive"]
    assert made["label"] == [1.0, 0.0] * 4
    for query, wrong in zip(made["query"][1::2], made["text"][1::2], strict=True):
        assert (query, wrong) not in set(zip(*PAIRS.values(), strict=True))
        assert wrong in PAIRS["positive"]


def test_every_second_wrong_text_is_near_in_words() -> None:
    """It shares rarer words with the query than any other."""
    columns: dict[str, list[Any]] = {
        "anchor": ["where is my parcel"] * 2,
        "positive": ["it is at the depot", "it was sent"],
    }
    others = ["a parcel of my own", "nothing", "something", "where it is"]
    assert draw(columns, others=others)["text"][3] == "a parcel of my own"


def test_several_wrong_texts_are_half_near_ones() -> None:
    """They are different as long as there are enough, and repeated otherwise."""
    columns: dict[str, list[Any]] = {"anchor": ["a red card"], "positive": ["right"]}
    near = ["red card", "card red a"]
    made = draw(columns, wrong_texts=4, others=[*near, *(f"thing {n}" for n in range(60))])
    assert made["query"] == ["a red card"] * 5
    assert made["label"] == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert made["text"][0] == "right"
    assert set(made["text"][1:3]) == set(near)
    assert len(set(made["text"])) == 5
    few = draw(columns, wrong_texts=3, others=["one", "two"])["text"][1:]
    assert set(few) == {"one", "two"}
    assert len(few) == 3


def test_triplets_and_scores_are_learned_as_they_are() -> None:
    """A triplet is two pairs, and a scored pair is one with its score."""
    triplets: dict[str, list[Any]] = {"anchor": ["q"], "positive": ["right"], "negative": ["wrong"]}
    scored: dict[str, list[Any]] = {"anchor": ["q"] * 2, "positive": ["a", "b"], "score": [0.25, 1]}

    assert candidates.pair_up(triplets) == {
        "query": ["q", "q"],
        "text": ["right", "wrong"],
        "label": [1, 0],
    }
    assert candidates.pair_up(scored) == {
        "query": ["q", "q"],
        "text": ["a", "b"],
        "label": [0.25, 1.0],
    }


def test_without_a_wrong_text_the_stage_ends() -> None:
    """A split whose rows all have one text takes wrong ones of another split."""
    alone: dict[str, list[Any]] = {"anchor": ["one", "two"], "positive": ["same", "same"]}
    with pytest.raises(Stopped, match="no wrong one"):
        draw(alone)
    assert draw(alone, others=["another"])["text"] == ["same", "another"] * 2


def test_what_words_find_is_ranked_with_what_is_right() -> None:
    """A right text is among the candidates though it shares no word with the query."""
    rows = list_rows({"anchor": ["card"], "positive": ["somewhere"]})
    rows += [{"anchor": f"other {n}", "positive": f"a card, number {n}"} for n in range(40)]
    listed = candidates.list_candidates(rows)
    first = [text for query, text in listed.pairs if query == "card"]

    assert len(first) == candidates.CANDIDATES + 1
    assert "somewhere" in first
    assert len(listed.words) == len(listed.pairs)


def test_known_ranks() -> None:
    """Right texts above all others have an nDCG of 1; below one other, less."""
    listed = candidates.list_candidates(list_rows(PAIRS))
    right = set(zip(*PAIRS.values(), strict=True))
    best = listed.measure([float(pair in right) for pair in listed.pairs])
    worst = listed.measure([-float(pair in right) for pair in listed.pairs])

    assert best["ndcg_at_10"].value == pytest.approx(1)
    assert best["mrr_at_10"].value == 1.0
    assert worst["mrr_at_10"].value < 0.5


def test_scored_pairs_are_correlated_and_ranked() -> None:
    """Only a query that has right texts and others is ranked; all rows are correlated."""
    rows = list_rows(
        {
            "anchor": ["a", "a", "a", "b"],
            "positive": ["one", "two", "three", "four"],
            "score": [1, 0, 0.2, 0.9],
        }
    )
    listed = candidates.list_candidates(rows)
    found = listed.measure([0.9, 0.95, 0.1, 0.99])

    assert next(iter(found)) == "spearman"
    assert found["mrr_at_10"].parts == [0.5]
    assert listed.measure([1, 0, 0.2, 0.9])["spearman"].value == pytest.approx(1)


def test_scores_without_lists_are_correlated_alone() -> None:
    """Pairs of different queries have nothing to rank."""
    rows = list_rows({"anchor": ["a", "b"], "positive": ["one", "two"], "score": [1, 0]})
    assert list(candidates.list_candidates(rows).measure([1, 0])) == ["spearman"]


def test_pairs_are_listed_once() -> None:
    """Those of a triplet are two."""
    triplet = {"anchor": "q", "positive": "right", "negative": "wrong"}
    assert candidates.list_pairs([triplet, triplet]) == [("q", "right"), ("q", "wrong")]
