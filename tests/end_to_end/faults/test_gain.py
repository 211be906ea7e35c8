"""A result that is worse than what training began with ends the run, unless the spec allows it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime.exit_codes import WORSE
from tests.end_to_end.process import compile_spec, read_json, read_rows, run

SAID = "training made the model worse: the validation loss was "
STEPS = 6
SPEC: dict[str, Any] = {
    "name": "spoiled",
    "model": "./model",
    "data": {"source": "rows.jsonl", "splits": {"test": 0}},
    "hardware": "cpu",
    "method": "full",
    "training": {
        "max_steps": STEPS,
        "global_batch": 8,
        "warmup": 0,
        "learning_rate": 0.01,
        "evaluation": {"every_steps": STEPS},
    },
}


def write_rows(path: Path, other: frozenset[int] = frozenset()) -> None:
    """Write numbered rows of one word, those that are named of another."""
    rows = [f"{n} " + ("refund " if n in other else "cancel ") * 4 for n in range(80)]
    path.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows), encoding="utf-8")


@pytest.mark.prove
def test_what_is_learned_contradicts_what_is_held_out(tmp_path: Path, model: Path) -> None:
    """The run ends with one sentence and all saved; once that is allowed, it goes on from there.

    Killed after its last checkpoint, in the middle of an epoch, it takes no step more.
    """
    (tmp_path / "model").symlink_to(model)
    write_rows(tmp_path / "rows.jsonl")
    bundle = compile_spec(tmp_path, SPEC)
    prepared = run(sys.executable, "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    held = read_rows(bundle / "run/data/validation.jsonl")
    write_rows(tmp_path / "rows.jsonl", frozenset(int(row["prompt"].split()[0]) for row in held))

    ended = run("./run.sh", cwd=bundle)

    assert ended.code == WORSE, ended.said
    assert f"train.py: {SAID}" in ended.err
    assert "Traceback" not in ended.err
    assert "training.evaluation.allow_worse" in ended.err
    curve = read_json(bundle / "run/train/curve.json")
    assert curve["validation"] == [[0, curve["before"]], [STEPS, curve["best"]]]
    assert curve["best"] > curve["before"] + curve["noise"]
    assert (bundle / "run/train/model/model.safetensors").is_file()
    assert not (bundle / "run/merged").exists()
    stages = read_rows(bundle / "run/stages.jsonl")
    assert (stages[-1]["stage"], stages[-1]["code"]) == ("train", WORSE)

    weights = (bundle / "run/train/model/model.safetensors").read_bytes()
    (bundle / "run/done/train.json").unlink()
    again = run(sys.executable, "train.py", cwd=bundle)
    evaluation = {"every_steps": STEPS, "allow_worse": True}
    compile_spec(tmp_path, {**SPEC, "training": {**SPEC["training"], "evaluation": evaluation}})
    allowed = run(sys.executable, "train.py", cwd=bundle)

    assert again.code == WORSE, again.said
    assert f"resuming from run/train/checkpoints/checkpoint-{STEPS}\n" in again.out
    assert f"step {STEPS + 1} of" not in again.out
    assert (bundle / "run/train/model/model.safetensors").read_bytes() == weights
    assert allowed.code == 0, allowed.said
    assert "train: already done" in allowed.out
    assert SAID in allowed.out


@pytest.mark.prove_all
@pytest.mark.parametrize("strategy", ["ddp", "zero2", "zero3"])
def test_two_processes_end_with_one_sentence(tmp_path: Path, model: Path, strategy: str) -> None:
    """The first of them judges, and the launcher hands its code on."""
    (tmp_path / "model").symlink_to(model)
    write_rows(tmp_path / "rows.jsonl")
    both = {"hardware": "2x cpu", "distribution": {"strategy": strategy}}
    bundle = compile_spec(tmp_path, {**SPEC, **both})
    prepared = run(sys.executable, "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    held = read_rows(bundle / "run/data/validation.jsonl")
    write_rows(tmp_path / "rows.jsonl", frozenset(int(row["prompt"].split()[0]) for row in held))

    ended = run("./run.sh", cwd=bundle)

    assert ended.code == WORSE, ended.said
    assert ended.err.count(f"train.py: {SAID}") == 1
    assert (bundle / "run/train/model/model.safetensors").is_file()
    assert not (bundle / "run/merged").exists()
