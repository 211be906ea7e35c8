"""The rewards of evaluate.py: functions in the order of their weights, the user's own included."""

import ast
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ftc.compiler.pipeline import Outcome, compile_bundle
from ftc.runtime.reward import rewards as runtime_rewards
from ftc.runtime.reward import schema_reward
from tests.test_properties import BASE, CONFIG, put, write_model

OWN = b'def shouts(completions, **kwargs):\r\n\treturn [float("!" in c) for c in completions]\r\n'
TRAP = "raise SystemExit('the file was run')\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small model, without weights, sums and a file of functions."""
    folder = tmp_path_factory.mktemp("rewards")
    write_model(folder / "model", CONFIG)
    rows = [{"prompt": f"{n} + {n}?", "completion": str(2 * n)} for n in range(200)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "sums.jsonl").write_text(text, encoding="utf-8")
    (folder / "own.py").write_bytes(OWN)
    (folder / "trap.py").write_text(f"def shouts(**kwargs):\n    ...\n{TRAP}", encoding="utf-8")
    (folder / "answer.json").write_text('{"type": "integer"}', encoding="utf-8")
    return folder


def compile_rewards(folder: Path, *rewards: Any) -> Outcome:
    """Compile a spec with these rewards."""
    spec = put(put(BASE, "data.source", "sums.jsonl"), "objective.type", "grpo")
    spec = put(spec, "data.columns", {"prompt": "prompt", "completion": "completion"})
    path = folder / "spec.json"
    path.write_text(json.dumps(put(spec, "objective.rewards", list(rewards))), encoding="utf-8")
    outcome = compile_bundle(str(path))
    assert not outcome.failed, [finding.message for finding in outcome.findings]
    return outcome


def take_rewards(folder: Path, out: Path, *rewards: Any) -> Mapping[str, Any]:
    """Return the constants of the rewards in evaluate.py, run beside the files that they need."""
    files = {file.name: file.text for file in compile_rewards(folder, *rewards).files}
    (out / "answer_schema.json").write_text(files.get("answer_schema.json", ""), encoding="utf-8")
    names: dict[str, Any] = {
        "HERE": out,
        "rewards": runtime_rewards,
        "schema_reward": schema_reward,
    }
    if "reward_functions.py" in files:
        own: dict[str, Any] = {}
        exec(files["reward_functions.py"], own)  # noqa: S102 - the test's own functions
        names["reward_functions"] = SimpleNamespace(**own)
    for node in ast.parse(files["evaluate.py"]).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith("REWARD"):
            exec(ast.unparse(node), names)  # noqa: S102 - constants of a rendered script
    assert len(names["REWARDS"]) == len(names["REWARD_WEIGHTS"])
    return names


def test_functions_come_in_the_order_of_their_weights(folder: Path, tmp_path: Path) -> None:
    """Exact, numeric, patterns; what a pattern says is a constant, quotes and all."""
    rewards = (
        {"regex": "['\"]\\)", "weight": -0.5},
        {"match": "numeric", "weight": 2},
        "exact",
        {"regex": r"^\d+$"},
    )
    found = take_rewards(folder, tmp_path, *rewards)

    names = [one.__name__ for one in found["REWARDS"]]
    assert names == ["exact", "numeric", "regex_1", "regex_2"]
    assert found["REWARD_WEIGHTS"] == [1.0, 2.0, -0.5, 1.0]
    assert found["REWARDS"][2](completions=["f('a')", "f(a)"]) == [1.0, 0.0]


@pytest.mark.parametrize("schema", ["answer.json", {"type": "integer"}])
def test_a_schema_comes_from_a_file_or_the_spec(folder: Path, tmp_path: Path, schema: Any) -> None:
    """The bundle carries it as answer_schema.json."""
    (valid_json,) = take_rewards(folder, tmp_path, {"json_schema": schema})["REWARDS"]

    assert valid_json(completions=["42", '"42"']) == [1.0, 0.0]


def test_functions_of_the_user_come_last(folder: Path, tmp_path: Path) -> None:
    """They are called by the names that the spec gives, weights in step with them."""
    own = {"functions": "own.py", "names": ["shouts"], "weight": 0.2}
    found = take_rewards(folder, tmp_path, own, "numeric")

    assert [f.__name__ for f in found["REWARDS"]] == ["numeric", "shouts"]
    assert found["REWARDS"][1](completions=["Hey!", "hey"], answer=["", ""]) == [1.0, 0.0]
    assert found["REWARD_WEIGHTS"] == [1.0, 0.2]


def test_a_file_of_functions_is_carried_byte_for_byte(folder: Path) -> None:
    """Line ends included; the lock has its hash, the bundle's spec the name of the copy."""
    outcome = compile_rewards(folder, {"functions": "own.py", "names": ["shouts"]})
    files = {file.name: file for file in outcome.files}
    assert outcome.lock is not None

    assert files["reward_functions.py"].text.encode() == OWN
    assert outcome.lock.files["reward_functions.py"] == hashlib.sha256(OWN).hexdigest()
    written = files["spec.json"].data["objective"]["rewards"]
    assert written == [{"functions": "reward_functions.py", "names": ["shouts"]}]
    assert "is an unchanged copy" in files["README.md"].text


def test_a_file_of_functions_is_never_run(folder: Path) -> None:
    """A file that would end any process that runs it compiles."""
    outcome = compile_rewards(folder, {"functions": "trap.py", "names": ["shouts"]})

    assert any(TRAP in file.text for file in outcome.files)


def test_a_run_without_rewards_has_no_such_file(folder: Path) -> None:
    """Nothing of another run's rewards is left in a bundle."""
    names = {file.name for file in compile_rewards(folder, "numeric").files}

    assert "runtime/reward/rewards.py" in names
    unused = {"reward_functions.py", "answer_schema.json", "runtime/reward/schema_reward.py"}
    assert not names & unused
