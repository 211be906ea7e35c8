"""Reward functions: each rewards what its name says."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime.evaluate import reward_measures
from ftc.runtime.reward import rewards
from ftc.runtime.reward.schema_reward import fit_schema


def test_exact_ignores_white_space_and_case() -> None:
    """More or less than the reference is not ignored."""
    said, right = [" The\nEnd", "the ends", "end"], ["the end", "the end", "the end"]

    assert rewards.exact(completions=said, answer=right, prompts=["?"] * 3) == [1.0, 0.0, 0.0]


def test_numeric_compares_the_last_number() -> None:
    """Commas, signs and trailing words are read; an answer without a number gets nothing."""
    said = ["3 and 4 make 7.0 apples", "7 or 8", "seven", "-1,200", "none"]
    right = ["#### 7", "7", "7", "-1200", "nor here"]

    found = rewards.numeric(completions=said, answer=right, log_metric=print)
    assert found == [1.0, 0.0, 0.0, 1.0, 0.0]


def test_each_pattern_is_a_function() -> None:
    """Their names are numbered; white space at the ends of an answer is left out."""
    first, second = rewards.match_patterns([r"^\d+$", "['\"]\\)"])

    assert first(completions=["12\n", "12 apples"], answer=["", ""]) == [1.0, 0.0]
    assert second(completions=["f('a')", "f(a)"]) == [1.0, 0.0]
    assert [first.__name__, second.__name__] == ["regex_1", "regex_2"]


def test_json_must_fit_the_schema(tmp_path: Path) -> None:
    """Text around the JSON makes it invalid, and so does nesting that no parser reads."""
    (tmp_path / "schema.json").write_text(json.dumps({"type": "integer"}), encoding="utf-8")
    valid_json = fit_schema(tmp_path / "schema.json")

    said = ["42", " 42\n", '"42"', "The answer: 42", "[" * 5000]
    assert valid_json(completions=said) == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert valid_json.__name__ == "valid_json"


def count_words(texts: list[str], **_: Any) -> dict[str, list[list[int]]]:
    """Stand in for a tokenizer: one token for each text."""
    return {"input_ids": [[1] for _ in texts]}


def test_the_measured_reward_is_the_weighted_sum() -> None:
    """A function gets the columns of the rows by name; None counts as zero."""

    def is_short(completions: list[str], prompts: list[str], **given: Any) -> list[float | None]:
        assert prompts == ["2 + 2?", "3 + 3?"]
        assert given["completion_ids"] == [[1], [1]]
        return [1.0 if len(said) < 3 else None for said in completions]

    rows = [{"prompt": "2 + 2?", "answer": "4"}, {"prompt": "3 + 3?", "answer": "6"}]
    functions: Any = [rewards.numeric, is_short]
    found = reward_measures.measure(functions, [2.0, 0.5], rows, ["4", "it is 6"], count_words)

    assert {name: one.value for name, one in found.items()} == pytest.approx(
        {"reward": (2.5 + 2.0) / 2, "reward_numeric": 1.0, "reward_is_short": 0.5}
    )


def test_functions_are_named_as_the_trainer_logs_them() -> None:
    """TRL takes the name of a reward from its function."""
    assert [rewards.exact.__name__, rewards.numeric.__name__] == ["exact", "numeric"]
