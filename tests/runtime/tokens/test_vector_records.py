"""Pairs, triplets and scored pairs become records of their texts."""

from typing import Any

import pytest

from ftc.runtime.read.compared_rows import read_pair, read_scored
from ftc.runtime.read.rows import prompt_key
from ftc.runtime.tokens.vector_records import list_columns, list_texts, make_vectors

COLUMNS = {"prompt": "a", "completion": "b", "score": "s"}


class Words:
    """Counts words as tokens."""

    def encode_marked(self, texts: list[str]) -> list[list[int]]:
        """Return a token per word."""
        return [list(range(len(text.split()))) for text in texts]


def make(*rows: Any) -> list[dict[str, Any]]:
    """Return the records of rows that were read."""
    return make_vectors(rows, encoder=Words())


def test_each_form_has_its_columns() -> None:
    """The trainer reads them in this order, and the longest text has the tokens."""
    triplet = read_pair(
        {"q": "one", "p": "two words", "n": "three"}, chosen="p", rejected="n", prompt="q"
    )
    scored = read_scored({"a": "one", "b": "two", "s": "0.5"}, **COLUMNS)
    [first, second] = make(triplet, scored)

    assert list_columns(first) == ["anchor", "positive", "negative"]
    assert (first["anchor"], first["positive"], first["negative"]) == ("one", "two words", "three")
    assert len(first["input_ids"]) == 2
    assert list_columns(second) == ["anchor", "positive", "score"]
    assert second["score"] == 0.5


def test_joined_texts_are_as_long_as_the_longest_pair() -> None:
    """The query is read with each of the others, so that its tokens count once more."""
    triplet = read_pair(
        {"q": "one two", "p": "one", "n": "one two three"}, chosen="p", rejected="n", prompt="q"
    )
    assert not isinstance(triplet, str)
    [joined] = make_vectors([triplet], encoder=Words(), joined=True)
    [alone] = make_vectors([triplet], encoder=Words())

    assert len(joined["input_ids"]) == 5
    assert len(alone["input_ids"]) == 3


def test_a_query_of_several_turns_is_one_text() -> None:
    """It has a line for each."""
    turns = (("system", "be brief"), ("user", "where?"), ("assistant", "here"))
    assert list_texts(turns) == ["be brief\nwhere?", "here"]


@pytest.mark.parametrize("score", ["high", None, "", "1.5", -0.1, "nan"])
def test_a_score_is_a_number_from_0_to_1(score: Any) -> None:
    """Anything else is a fault of the row."""
    assert read_scored({"a": "one", "b": "two", "s": score}, **COLUMNS) == "no_score"


def test_a_blank_text_is_a_fault() -> None:
    """So is one that is no text."""
    assert read_scored({"a": " ", "b": "two", "s": 1}, **COLUMNS) == "blank"
    assert read_scored({"a": ["x"], "b": "two", "s": 1}, **COLUMNS) == "not_text"


def test_rows_of_one_query_stay_in_one_split() -> None:
    """Their key is that of the query alone, whatever the score."""
    rows = [{"a": "one", "b": f"text {n}", "s": n / 10} for n in range(3)]
    keys = {prompt_key(read_scored(row, **COLUMNS)) for row in rows}  # type: ignore[arg-type]
    assert len(keys) == 1
