"""The ratios of characters to tokens."""

import json
from importlib.resources import files

import pytest

from ftc.compiler.knowledge.text.tokenizers import (
    SCRIPTS,
    chars_per_token,
    count_tokens,
    tokenizer_families,
)

ENTRIES = json.loads(
    (files("ftc.compiler.knowledge.text") / "tokenizers.json").read_text(encoding="utf-8")
)["families"]
RATES = json.loads(
    (files("ftc.compiler.knowledge.text") / "token_rates.json").read_text(encoding="utf-8")
)


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


def test_every_measured_family_has_a_rate_for_every_script() -> None:
    """Only what is like another family has none of its own."""
    measured = {name for name, entry in ENTRIES.items() if entry["like"] is None}
    assert measured <= RATES.keys() <= ENTRIES.keys()
    for rates in RATES.values():
        assert rates.keys() == {"digit", "number", *SCRIPTS}


@pytest.mark.parametrize("family", ["llama2", "mistral", "qwen2", "unheard-of"])
def test_the_script_of_a_text_sets_its_estimate(family: str) -> None:
    """A text of a script that is spelt out has more tokens than English of that many letters."""
    latin = chars_per_token(family)
    english = count_tokens("where is my parcel " * 10, family, latin)
    assert english == -(-190 // latin)
    for letters in ("我的包裹在哪里", "พัสดุของฉันอยู่ที่ไหน", "የእኔ ጥቅል የት ነው", "🎉😀👩‍👧"):
        text = (letters * 100)[:190]
        assert count_tokens(text, family, latin) > 1.9 * english


def test_digits_and_unknown_letters_are_not_underestimated() -> None:
    """Qwen splits numbers into digits; Llama 2 has one token per Chinese letter at the least."""
    latin = chars_per_token("qwen2")
    assert count_tokens("Add 244272509 711178002", "qwen2", latin) >= 18 + 2
    assert count_tokens("244272509", "llama3", latin) < 9
    assert count_tokens("裹" * 300, "llama2", chars_per_token("llama2")) >= 300
    gothic = chr(0x10330)  # of no script with a rate: four bytes
    assert count_tokens(gothic * 10, "qwen2", latin) == 40
