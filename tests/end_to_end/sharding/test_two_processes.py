"""Objectives other than SFT on two processes that share the optimizer: ZeRO-2.

Pairs are judged one by one, so that one process and two of half the batch must give one curve.
A verdict is weighed against other verdicts of its pass, and an answer that is tried is drawn: of
those, what two processes reach is held against what they started from.
"""

import csv
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.end_to_end.objectives.test_distill import make_teacher
from tests.end_to_end.objectives.test_preferences import write_data
from tests.end_to_end.process import compile_spec, read_json, run, train

STEPS: Final = 12
TOLERANCE: Final = 1e-4  # of a loss, at every step and evaluation
SPEC: Final = {
    "model": "./model",
    # seven rows are held out: they fill neither the batches nor the processes evenly
    "data": {"source": "pairs.jsonl", "splits": {"validation": 0.06}},
    "objective": {"type": "dpo", "reference": "copy"},
    "method": "full",
    "training": {
        "max_steps": STEPS,
        "global_batch": 8,
        "micro_batch": 4,
        "learning_rate": 0.002,
        "evaluation": {"every_steps": 6},
    },
}


#: What a spec says beside its name, its model and its hardware.
PAIRED: Final[Mapping[str, Mapping[str, Any]]] = {
    "dpo": SPEC,
    # its loss is a mean over the tokens of a batch: the batches must be the same
    "orpo": {**SPEC, "objective": "orpo", "data": "pairs.jsonl"},
    "reward": {**SPEC, "objective": "reward"},
}
VERDICTS: Final[Mapping[str, Any]] = {**SPEC, "data": "verdicts.jsonl", "objective": "kto"}
TRIED: Final[Mapping[str, Any]] = {
    "model": "./model",
    "data": "sums.jsonl",
    "objective": {
        "type": "grpo",
        "rewards": [{"regex": "^[a-f]"}],
        "num_generations": 8,
        "answer_tokens": 4,
    },
    "method": {"type": "freeze", "layers": 1, "also_train": ["head"]},
    "training": {
        "max_steps": 24,
        "global_batch": 64,
        "learning_rate": 0.005,
        "evaluation": {"every_steps": 12},
    },
}
Curve = Mapping[str, list[list[float]]]


@pytest.fixture
def folder(tmp_path: Path, model: Path) -> Path:
    """Return a folder with the model and rows for every objective."""
    (tmp_path / "model").symlink_to(model)
    write_data(tmp_path)
    sums = ({"prompt": f"What is {n} plus {n}?", "completion": str(2 * n)} for n in range(240))
    text = "".join(json.dumps(row) + "\n" for row in sums)
    (tmp_path / "sums.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


def curve(folder: Path, told: Mapping[str, Any], count: int) -> Curve:
    """Prepare and train on so many processes; return the curve as (step, loss) pairs."""
    sharded = {"distribution": {"strategy": "zero2"}} if count > 1 else {}
    spec = {"name": f"run-{count}", "hardware": f"{count}x cpu", **sharded, **told}
    bundle = compile_spec(folder, spec, name=f"{spec['name']}.json")
    prepared = run(sys.executable, "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    trained = train(bundle) if count > 1 else run(sys.executable, "train.py", cwd=bundle)
    assert trained.code == 0, trained.said
    assert f"x {count} processes" in trained.out
    found: Curve = read_json(bundle / "run/train/curve.json")
    return found


def hold_equal(alone: Curve, together: Curve) -> None:
    """Fail where one process and two differ at a step or an evaluation, or nothing is learned."""
    assert alone["train"][-1][1] < 0.8 * alone["train"][0][1]
    # before the first step, too, what is held out is judged
    for part, many in (("train", STEPS), ("validation", 3)):
        assert len(alone[part]) == many
        for (step, one), (other_step, other) in zip(alone[part], together[part], strict=True):
            assert step == other_step
            assert abs(one - other) < TOLERANCE, (part, step, one, other)


@pytest.mark.prove_all
def test_a_copied_reference_on_two_processes(folder: Path) -> None:
    """A second model, which DeepSpeed gets as well, and the losses are those of one process."""
    hold_equal(curve(folder, PAIRED["dpo"], 1), curve(folder, PAIRED["dpo"], 2))


@pytest.mark.prove_all
@pytest.mark.parametrize("objective", ["orpo", "reward"])
def test_pairs_on_two_processes(folder: Path, objective: str) -> None:
    """Without a reference too, and with a head that scores, the losses are those of one process."""
    hold_equal(curve(folder, PAIRED[objective], 1), curve(folder, PAIRED[objective], 2))


@pytest.mark.prove_all
def test_rows_that_do_not_divide_on_two_processes(folder: Path) -> None:
    """Each process evaluates as many rows at a time, whose values ORPO's trainer gathers."""
    losses = curve(folder, {**SPEC, "objective": "orpo"}, 2)["validation"]

    assert len(losses) == 3
    assert losses[-1][1] < losses[0][1]


@pytest.mark.prove_all
def test_verdicts_on_two_processes(folder: Path) -> None:
    """The loss falls on rows trained on and on others."""
    losses = curve(folder, VERDICTS, 2)

    assert losses["train"][-1][1] < 0.9 * losses["train"][0][1]
    assert losses["validation"][-1][1] < losses["validation"][0][1]


@pytest.mark.prove_all
def test_a_teacher_on_two_processes(folder: Path) -> None:
    """DeepSpeed gets it as well; each process has a mean over its own tokens."""
    make_teacher(folder / "teacher", folder / "model")
    told = {**SPEC, "data": "sums.jsonl", "objective": {"type": "gkd", "teacher": "./teacher"}}
    alone, together = curve(folder, told, 1), curve(folder, told, 2)

    assert together["validation"][0][1] == pytest.approx(alone["validation"][0][1], rel=1e-4)
    for (_, one), (_, other) in zip(alone["train"], together["train"], strict=True):
        assert other == pytest.approx(one, rel=0.05)
    assert together["validation"][-1][1] < 0.9 * together["validation"][0][1]


@pytest.mark.prove_all
@pytest.mark.parametrize("objective", ["embed", "scored", "rerank"])
def test_texts_on_two_processes(tmp_path: Path, sdist: Path, objective: str) -> None:
    """Few validation rows, which share their queries, are evaluated."""
    made = ("-m", "tests.end_to_end.builders.build_encoders", sdist, f"bert={tmp_path / 'model'}")
    built = run(sys.executable, *made, cwd=Path.cwd())
    assert built.code == 0, built.said
    names = ["anchor", "positive"] if objective != "scored" else ["sentence1", "sentence2", "score"]
    rows = [[f"what is {n // 3} plus {n}", f"it is {n + n // 3}", n % 2] for n in range(120)]
    with (tmp_path / "texts.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *(row[: len(names)] for row in rows)])
    spec = {
        "model": "./model",
        "data": {"source": "texts.csv", "splits": {"validation": 0.08, "test": 0.08}},
        "objective": "rerank" if objective == "rerank" else "embed",
        "method": "full",
        "training": {
            "max_steps": 4,
            "global_batch": 16,
            "learning_rate": 0.001,
            "evaluation": {"every_steps": 2, "allow_worse": True},
        },
        "distribution": {"strategy": "ddp"},
    }
    losses = curve(tmp_path, spec, 2)

    assert [step for step, _ in losses["validation"]] == [0, 2, 4]
    assert all(loss > 0 for _, loss in losses["validation"])


@pytest.mark.prove_all
def test_answers_tried_on_two_processes(folder: Path) -> None:
    """Each process draws its own answers, and they are rewarded more and more."""
    tried = curve(folder, TRIED, 2)
    rewards = [reward for _, reward in tried["reward"]]

    assert sum(rewards[-4:]) / 4 > sum(rewards[:4]) / 4 + 0.2
    assert tried["validation_reward"][-1][1] > sum(rewards[:4]) / 4 + 0.2
