"""Did you mean."""

import pytest

from ftc.spec.nearest import is_certain, nearest
from ftc.spec.quote import quote

KNOWN = ("learning_rate", "weight_decay", "zero2", "zero3", "Q4_K_M", "Q4_K_S")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("lerning_rate", "learning_rate"),
        ("LearningRate", "learning_rate"),
        ("weight-decay", "weight_decay"),
        ("q4km", "Q4_K_M"),
        ("banana", None),
        ("", None),
        ("x" * 10_000, None),
    ],
)
def test_nearest(word: str, meant: str | None) -> None:
    """A slip of the pen is understood, and nothing is read into another word."""
    assert nearest(word, KNOWN) == meant


def test_certain() -> None:
    """An edit is offered only where no other word comes near."""
    assert is_certain("lerning_rate", "learning_rate", KNOWN)
    assert is_certain("q4_k_m", "Q4_K_M", KNOWN)
    assert not is_certain("zero9", "zero2", KNOWN)


def test_quote() -> None:
    """A value is shown short, on one line, with nothing that a terminal acts on."""
    assert quote("a\x1b`\n") == '`"a\\u001b\'\\n"`'
    assert quote("é\u202e") == '`"é\\u202e"`'
    assert len(quote("x" * 1_000_000)) == 62
    assert quote([1]) == "a list"
    assert quote(None) == "`null`"
    assert len(quote(10**1000)) == 62
