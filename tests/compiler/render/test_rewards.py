"""The generated rewards.py rewards what its functions' names say, and carries the user's own."""

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from ftc.compiler.pipeline import Outcome, compile_bundle
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


def run_rewards(
    folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch, *rewards: Any
) -> Mapping[str, Any]:
    """Return the generated module, run beside what the bundle carries for it."""
    for file in compile_rewards(folder, *rewards).files:
        if file.name in {"rewards.py", "reward_functions.py", "answer_schema.json"}:
            (out / file.name).write_bytes(file.text.encode())
    monkeypatch.syspath_prepend(str(out))
    monkeypatch.delitem(sys.modules, "reward_functions", raising=False)
    found = run_path(str(out / "rewards.py"))
    assert len(found["WEIGHTS"]) == len(found["FUNCTIONS"])
    assert all(path.is_file() for path in found["FILES"])
    return found


def test_exact_forgives_white_space_and_case(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More or less than the reference is not forgiven."""
    found = run_rewards(folder, tmp_path, monkeypatch, "exact")
    (exact,) = found["FUNCTIONS"]

    said, right = [" The\nEnd", "the ends", "end"], ["the end", "the end", "the end"]
    assert exact(completions=said, answer=right, prompts=["?"] * 3) == [1.0, 0.0, 0.0]


def test_numeric_compares_the_last_number(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commas, signs and trailing words are read; an answer without a number gets nothing."""
    found = run_rewards(folder, tmp_path, monkeypatch, {"match": "numeric", "weight": 2})
    (numeric,) = found["FUNCTIONS"]

    said = ["3 and 4 make 7.0 apples", "7 or 8", "seven", "-1,200", "none"]
    right = ["#### 7", "7", "7", "-1200", "nor here"]
    assert numeric(completions=said, answer=right, log_metric=print) == [1.0, 0.0, 0.0, 1.0, 0.0]
    assert found["WEIGHTS"] == [2.0]


def test_patterns_are_each_a_function(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a pattern says is a constant, quotes and all; white space at the ends is left out."""
    rewards = ({"regex": r"^\d+$"}, {"regex": "['\"]\\)", "weight": -0.5})
    found = run_rewards(folder, tmp_path, monkeypatch, *rewards)
    first, second = found["FUNCTIONS"]

    assert first(completions=["12\n", "12 apples"], answer=["", ""]) == [1.0, 0.0]
    assert second(completions=["f('a')", "f(a)"]) == [1.0, 0.0]
    assert [first.__name__, second.__name__] == ["regex_1", "regex_2"]
    assert found["WEIGHTS"] == [1.0, -0.5]


@pytest.mark.parametrize("schema", ["answer.json", {"type": "integer"}])
def test_json_is_held_to_its_schema(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: Any
) -> None:
    """From a file or from the spec; what surrounds the JSON makes it none."""
    found = run_rewards(folder, tmp_path, monkeypatch, {"json_schema": schema})
    (valid_json,) = found["FUNCTIONS"]

    said = ["42", " 42\n", '"42"', "The answer: 42", "[" * 5000]
    assert valid_json(completions=said) == [1.0, 1.0, 0.0, 0.0, 0.0]


def test_functions_of_the_user_come_last(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are called by the names that the spec gives, weights in step with them."""
    own = {"functions": "own.py", "names": ["shouts"], "weight": 0.2}
    found = run_rewards(folder, tmp_path, monkeypatch, own, "numeric")

    assert [f.__name__ for f in found["FUNCTIONS"]] == ["numeric", "shouts"]
    assert found["FUNCTIONS"][1](completions=["Hey!", "hey"], answer=["", ""]) == [1.0, 0.0]
    assert found["WEIGHTS"] == [1.0, 0.2]


def test_a_file_of_functions_is_carried_byte_for_byte(folder: Path) -> None:
    """Line ends included; the lock has its hash, the bundle's spec the name of the copy."""
    outcome = compile_rewards(folder, {"functions": "own.py", "names": ["shouts"]})
    files = {file.name: file for file in outcome.files}
    assert outcome.lock is not None

    assert files["reward_functions.py"].text.encode() == OWN
    assert outcome.lock.files["reward_functions.py"] == hashlib.sha256(OWN).hexdigest()
    written = files["spec.json"].data["objective"]["rewards"]
    assert written == [{"functions": "reward_functions.py", "names": ["shouts"]}]
    assert "is somebody's code, copied as it is" in files["README.md"].text


def test_a_file_of_functions_is_never_run(folder: Path) -> None:
    """A file that would end any process that runs it compiles."""
    outcome = compile_rewards(folder, {"functions": "trap.py", "names": ["shouts"]})

    assert any(TRAP in file.text for file in outcome.files)


def test_a_run_without_rewards_has_no_such_file(folder: Path) -> None:
    """Nothing of another run's rewards is left in a bundle."""
    names = {file.name for file in compile_rewards(folder, "numeric").files}

    assert "rewards.py" in names
    assert not names & {"reward_functions.py", "answer_schema.json"}
