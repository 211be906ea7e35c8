"""Answers that are tried, in miniature: they are rewarded more and more, and what is frozen stays.

Run by its stages alone, without a launcher: most of what these cost are their imports.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from tests.end_to_end.process import Ended, compile_spec, read_json, read_rows, run

ROWS = 240
PROMPTS, GROUP = 8, 8
ADDED = 10
#: RLOO does not divide advantages by their spread, and learns more slowly here.
EPOCHS = {"grpo": 1.5, "rloo": 3}
SFT = {"max_steps": 500, "learning_rate": 0.003, "global_batch": 32}
OWN = '''"""A reward of our own."""


def is_one_word(completions, prompts, log_metric, answer=("0",), **kwargs):
    """Reward an answer without a space in it."""
    assert all(text.count("plus") == 1 for text in prompts)
    assert all(right.isdecimal() for right in answer)
    log_metric("words", sum(len(text.split()) for text in completions) / len(completions))
    return [float(" " not in text.strip()) for text in completions]
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A bundle after its run, and what the training said."""

    objective: str
    bundle: Path
    ended: Ended

    def read(self, name: str) -> Any:
        """Read a JSON file of the run."""
        return read_json(self.bundle / "run" / name)


@pytest.fixture(scope="module", params=["grpo", "rloo"])
def tried(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, model: Path
) -> Tried:
    """Train the last layer and the head of an untrained model, for the letter that it begins with.

    About a third of what it writes begins so by chance.
    """
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "model").symlink_to(model)
    (folder / "own.py").write_text(OWN, encoding="utf-8")
    rows = [{"prompt": f"What is {n} plus {n}?", "completion": str(2 * n)} for n in range(ROWS)]
    if request.param == "rloo":  # whose rewards need no right answer
        rows = [{"prompt": row["prompt"]} for row in rows]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "sums.jsonl").write_text(text, encoding="utf-8")
    spec = {
        "name": "tried",
        "model": "./model",
        "data": {"source": "sums.jsonl", "splits": {"test": 0.1, "validation": 0.1}},
        "hardware": "cpu",
        "objective": {
            "type": request.param,
            "rewards": [
                {"regex": "^[a-f]"},
                {"functions": "own.py", "names": ["is_one_word"], "weight": 0.1},
            ],
            "num_generations": GROUP,
            "answer_tokens": 4,
        },
        "method": {"type": "freeze", "layers": 1, "also_train": ["head"]},
        "training": {
            "epochs": EPOCHS[request.param],
            "learning_rate": 0.005,
            "global_batch": PROMPTS * GROUP,
            "evaluation": {"every_steps": 18},
        },
    }
    bundle = compile_spec(folder, spec)
    prepared = run(sys.executable, "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    return Tried(
        objective=request.param, bundle=bundle, ended=run(sys.executable, "train.py", cwd=bundle)
    )


@pytest.mark.prove
def test_answers_are_rewarded_more(tried: Tried) -> None:
    """A third of them at first, nearly all later, on rows trained on and on others.

    At this rate RLOO forgets some of it again, so that the best evaluation counts, whose checkpoint
    is kept.
    """
    assert tried.ended.code == 0, tried.ended.said
    curve = tried.read("train/curve.json")
    rewards = [reward for _, reward in curve["reward"]]
    seen = [reward for _, reward in curve["validation_reward"]]

    assert sum(rewards[:4]) / 4 < 0.55
    assert max(rewards) > 0.8
    assert max(seen) > 0.8
    assert all(abs(loss) < 10 for _, loss in curve["train"])


@pytest.mark.prove
def test_every_reward_is_logged(tried: Tried) -> None:
    """By its name, the user's own among them, and what that one measures beside."""
    states = sorted(tried.bundle.glob("run/train/checkpoints/*/trainer_state.json"))
    logged = {name for log in read_json(states[-1])["log_history"] for name in log}

    assert {"rewards/regex_1/mean", "rewards/is_one_word/mean", "words", "reward_std"} <= logged


@pytest.mark.prove
def test_the_plan_counts_the_trainer_s_steps(tried: Tried) -> None:
    """One and a half epochs of 192 prompts, or three, eight to a step."""
    decided = read_json(tried.bundle / "ftc.lock.json")["decisions"]
    steps = [step for step, _ in tried.read("train/curve.json")["train"]]

    assert decided["train_rows"]["value"] == len(read_rows(tried.bundle / "run/data/train.jsonl"))
    assert steps[-1] == decided["total_steps"]["value"]
    assert steps[-1] == round(EPOCHS[tried.objective] * 24)


@pytest.mark.prove
def test_held_out_prompts_are_judged_by_their_rewards(tried: Tried) -> None:
    """Of the model's own answers: RLOO's rows are prompts alone, and GRPO's have answers too."""
    for script in (("export.py", "--merge"), ("evaluate.py",)):
        ended = run(sys.executable, *script, cwd=tried.bundle)
        assert ended.code == 0, ended.said
    report = tried.read("evaluate/report.json")
    rows = read_rows(tried.bundle / "run/evaluate/predictions.jsonl")

    assert report["reward_regex_1"] > report["base"]["reward_regex_1"]
    assert ("exact_match" in report) == ("loss" in report) == (tried.objective == "grpo")
    assert ("answer" in rows[0]) == (tried.objective == "grpo")
    assert len(rows) == report["rows"]


@pytest.mark.prove
def test_what_is_frozen_stays(tried: Tried, model: Path) -> None:
    """Bit for bit, the embedding and every layer but the last; the head and that layer moved."""
    with (
        safe_open(model / "model.safetensors", framework="pt") as before,
        safe_open(tried.bundle / "run/train/model/model.safetensors", framework="pt") as after,
    ):
        same = {
            name: bool((before.get_tensor(name) == after.get_tensor(name)).all())
            for name in before.keys()  # noqa: SIM118 - the file is no mapping
        }
    moved = {name for name, is_same in same.items() if not is_same}

    last = max(int(name.split(".")[2]) for name in same if name.startswith("model.layers."))
    assert any(name.startswith(f"model.layers.{last}.") for name in moved)
    assert all(name.startswith((f"model.layers.{last}.", "lm_head.")) for name in moved)
    assert "lm_head.weight" in moved
