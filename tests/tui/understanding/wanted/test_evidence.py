"""What the clauses around a value are evidence of."""

from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.wanted.evidence import find_evidence

RANK = Change(pointer="/method/rank", value=64, words="rank 64")


def test_the_forms_of_the_clauses_around_a_value_are_evidence() -> None:
    """Orders, other people and the past are told apart by clause; no feature is a word."""
    ordered = find_evidence("use rank 64", RANK, [RANK])
    assert {"requests", "requests, kept", "requests, method", "requests, number"} <= ordered
    told = find_evidence("my boss used rank 64 last year, so use it too", RANK, [RANK])
    assert {"clause others", "clause past", "clause time", "after requests"} <= told
    assert "requests" not in told
    assert not {each for each in ordered | told if "boss" in each}


def test_a_value_whose_words_are_not_found_has_no_evidence() -> None:
    """Nothing can be said about it."""
    assert find_evidence("some other text", RANK, [RANK]) == frozenset()
