"""The ratios of characters to tokens."""

import json
from importlib.resources import files

from ftc.compiler.knowledge.tokenizers import chars_per_token, tokenizer_families

ENTRIES = json.loads(
    (files("ftc.compiler.knowledge") / "tokenizers.json").read_text(encoding="utf-8")
)["families"]


def test_entries_are_closed_and_plausible() -> None:
    """Every family has both ratios; prose is between 2 and 5 characters per token."""
    for entry in ENTRIES.values():
        assert entry.keys() == {"english", "other", "like", "source"}
        assert 2 < entry["other"] < entry["english"] < 5


def test_a_family_that_was_not_measured_is_like_a_measured_one() -> None:
    """Its ratios are those of the family it names, which was measured."""
    for entry in ENTRIES.values():
        if entry["like"] is not None:
            model = ENTRIES[entry["like"]]
            assert model["like"] is None
            assert (entry["english"], entry["other"]) == (model["english"], model["other"])


def test_an_unknown_family_is_not_guessed_too_short() -> None:
    """It takes the lowest ratio, which gives the most tokens."""
    for english in (True, False):
        known = [chars_per_token(name, english=english) for name in tokenizer_families()]
        assert chars_per_token("unheard-of", english=english) == min(known)
    assert chars_per_token("qwen2") == 4.093
