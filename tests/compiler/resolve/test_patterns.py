"""Regular expressions of a spec: the results of `re`, within a time limit."""

import re
import time

import pytest

from ftc.compiler.resolve.patterns import SECONDS, SlowPatternError, Way, match_texts

NAMES = ("model.layers.0.self_attn.q_proj", "model.layers.11.mlp.up_proj", "lm_head", "")


@pytest.mark.parametrize("way", ["fullmatch", "search"])
@pytest.mark.parametrize(
    "pattern",
    [".*_proj", "(model|layers|[.0-9])+.*q_proj", r"(\w)\1", "a{0,3}", "(?:x|m).*", "", "lm_head$"],
)
def test_matches_as_re_does(pattern: str, way: Way) -> None:
    """In this process or in another."""
    expected = tuple(getattr(re, way)(pattern, name) is not None for name in NAMES)

    assert match_texts(pattern, NAMES, way) == expected


@pytest.mark.parametrize("pattern", ["(.+)+!", "(.*)*(.*)*!", ".*" * 20 + "!"])
def test_an_endless_pattern_is_given_up(pattern: str) -> None:
    """A few seconds at most, whatever the pattern."""
    began = time.monotonic()

    with pytest.raises(SlowPatternError):
        match_texts(pattern, ("model.layers.0.self_attn.q_proj" * 2,), "fullmatch")

    assert time.monotonic() - began < 4 * SECONDS


def test_no_pattern_at_all_is_the_error_of_re() -> None:
    """Before any process is started."""
    with pytest.raises(re.error):
        match_texts("(", NAMES, "search")
