"""Rewards are measured on the data's own answers, and their files read without being run."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.content.rewards import measure_rewards
from ftc.compiler.resolve.detail_facts import RewardFacts
from ftc.compiler.resolve.rows.example import Example
from ftc.spec.message import Message
from ftc.spec.validate import to_spec

ANSWERS = ("it is 4", "7 apples", "no idea", '{"sum": 3}')


def measure(folder: Path, *rewards: Any) -> RewardFacts:
    """Return the facts of these rewards over four answers."""
    objective = {"type": "grpo", "rewards": list(rewards) or "auto"}
    spec = to_spec({"name": "x", "model": "m/m", "data": "d.jsonl", "objective": objective})
    examples = [Example(turns=(("user", "?"), ("assistant", text))) for text in ANSWERS]
    found = measure_rewards(spec.objective, examples, folder=folder)
    assert found is not None
    return found


def test_answers_with_a_number_are_counted(tmp_path: Path) -> None:
    """Also where the spec leaves the rewards open, which is when the plan asks."""
    found = measure(tmp_path)

    assert (found.rows, found.numbered_rows) == (4, 3)


def test_every_pattern_has_its_count(tmp_path: Path) -> None:
    """In the order of the spec."""
    found = measure(tmp_path, {"regex": "apples"}, "exact", {"regex": r"\d"})

    assert found.matched_rows == (1, 3)


def test_a_schema_counts_what_fits(tmp_path: Path) -> None:
    """From the spec or from a file beside it."""
    schema = {"type": "object", "required": ["sum"]}
    (tmp_path / "sum.json").write_text(json.dumps(schema), encoding="utf-8")

    assert measure(tmp_path, {"json_schema": schema}).valid_rows == 1
    assert measure(tmp_path, {"json_schema": "sum.json"}).valid_rows == 1


def test_functions_are_parsed_and_not_run(tmp_path: Path) -> None:
    """What a call must give is read off the parameters."""
    (tmp_path / "own.py").write_text(
        "raise SystemExit\n"
        "def one(prompts, completions, *, level, depth=1, **rest): ...\n"
        "def two(completions, /): ...\n",
        encoding="utf-8",
    )
    one, two = measure(tmp_path, {"functions": "own.py", "names": ["one"]}).functions

    assert (one.name, one.needs, one.takes_others) == (
        "one",
        ("prompts", "completions", "level"),
        True,
    )
    assert (two.by_name, two.takes_others) == (False, False)


@pytest.mark.parametrize(
    ("reward", "what"),
    [
        ({"regex": "(a"}, "is not a regular expression"),
        ({"functions": "gone.py", "names": ["f"]}, "`gone.py` does not exist or cannot be read"),
        ({"functions": "broken.py", "names": ["f"]}, "is not Python"),
        ({"functions": "bytes.py", "names": ["f"]}, "is not UTF-8 text"),
        ({"json_schema": "broken.py"}, "is not JSON"),
        ({"json_schema": {"type": "sum"}}, "is not a JSON Schema"),
        ({"json_schema": "list.json"}, "which is an object"),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, reward: Any, what: str) -> None:
    """With the place of the reward in the spec's list; the others are measured all the same."""
    (tmp_path / "broken.py").write_text("def f(:\n", encoding="utf-8")
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    found = measure(tmp_path, {"regex": "apples"}, reward)

    assert [fault.place for fault in found.faults] == [1]
    assert what in str(Message(found.faults[0].key, found.faults[0].values))
    assert found.matched_rows == (1,)


@pytest.mark.parametrize(
    ("answer", "rows"),
    [
        ("Two and two are four.\n#### 4", 1),
        ("So it is \\boxed{4}.", 1),
        ("<think>2 + 2</think>\n<answer>4</answer>", 1),
        ("We add them. The answer is 4.", 1),
        ("4", 0),
        ("#### 4", 0),
        ("<answer>4</answer>", 0),
        ("Paris", 0),
    ],
)
def test_text_before_a_result_is_counted(answer: str, rows: int, tmp_path: Path) -> None:
    """A result that is announced after nothing is the whole answer."""
    objective = {"type": "grpo", "rewards": ["exact"]}
    spec = to_spec({"name": "x", "model": "m/m", "data": "d.jsonl", "objective": objective})
    example = Example(turns=(("user", "?"), ("assistant", answer)))
    found = measure_rewards(spec.objective, [example], folder=tmp_path)
    assert found is not None
    assert found.explained_rows == rows
