"""That the best evaluation's weights are kept, in a real Trainer.

The model is one number that grows by 1 with each step, and its validation loss is looked up by it:
a real Trainer, with whatever losses a test wants.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers

from ftc.runtime.reward.flat_rewards import FlatRewards
from ftc.runtime.train.best import BestCheckpoint
from ftc.runtime.train.best_by_metric import BestByMetric
from ftc.runtime.train.best_by_reward import BAD_LUCK, find_standard_error, find_variance
from ftc.runtime.train.early_stopping import EarlyStopping
from tests.runtime.sessions import make_session

PATIENCE = 3


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a bundle's folder, and work there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Counter(torch.nn.Module):
    """Its weight is the number of steps, and its validation loss the one of that step."""

    def __init__(self, losses: Sequence[float]) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.losses = losses

    def forward(self, x: Any, labels: Any) -> dict[str, Any]:
        """Return a training loss with the gradient -1, or the loss of this weight."""
        if self.training:
            return {"loss": 100 - self.weight.sum() + 0 * x.sum() + 0 * labels.sum()}
        return {"loss": torch.tensor(float(self.losses[round(self.weight.item())]))}


def make_trainer(
    folder: Path,
    losses: Sequence[float],
    *,
    every: int = 1,
    saves: int = 4,
    scores: Sequence[float] | None = None,
) -> tuple[Any, Any]:
    """Return a Trainer with train.py's callbacks and a step for each later loss; the choice.

    With `scores`, the best checkpoint is the one whose answers have the highest.
    """
    session = make_session(folder)
    best = BestCheckpoint(session, stopping=EarlyStopping(PATIENCE))
    by: dict[str, Any] = {}
    if scores is not None:
        best = BestByMetric(
            session,
            rows=10**9,
            stopping=EarlyStopping(PATIENCE),
            metric="rouge_l",
            measure=lambda model, _: float(scores[round(model.weight.item())]),
        )
        by = {"metric_for_best_model": "rouge_l", "greater_is_better": True}
    trainer = transformers.Trainer(
        model=Counter(losses),
        args=transformers.TrainingArguments(
            output_dir="run/train/checkpoints",
            max_steps=len(losses) - 1,
            per_device_train_batch_size=1,
            learning_rate=1.0,
            lr_scheduler_type="constant",
            optim="sgd",
            max_grad_norm=0.0,
            eval_strategy="steps",
            eval_steps=every,
            save_steps=saves,
            load_best_model_at_end=True,
            eval_on_start=True,
            use_cpu=True,
            disable_tqdm=True,
            report_to="none",
            **by,
        ),
        train_dataset=[{"x": [0.0], "labels": [0.0]}] * 100,
        eval_dataset=[{"x": [0.0], "labels": [0.0]}],
        callbacks=[session, best],
    )
    return trainer, best


def train(trainer: Any, checkpoint: str | None = None) -> None:
    """Train as train.py does."""
    session = next(x for x in trainer.callback_handler.callbacks if hasattr(x, "resume"))
    with session.resume(trainer):
        trainer.train(resume_from_checkpoint=checkpoint)


def find_checkpoints(folder: Path) -> set[int]:
    """Return the steps of the checkpoints on the disk."""
    return {int(path.name[11:]) for path in (folder / "run/train/checkpoints").iterdir()}


@pytest.mark.prove
@pytest.mark.parametrize(
    ("losses", "best"),
    [
        ((9, 8, 7, 3, 4, 5, 2.5, 3), 6),  # between two checkpoints that are due
        ((9, 8, 7, 6, 5, 4, 3, 2), 7),  # the last one
        ((1, 8, 7, 5, 6, 4.5, 4.75, 4.5), 5),  # the first of two that are equal
    ],
)
def test_the_weights_that_are_kept_are_the_best(
    folder: Path, losses: tuple[float, ...], best: int
) -> None:
    """They are loaded at the end, and few checkpoints are on the disk."""
    trainer, best_checkpoint = make_trainer(folder, losses)
    train(trainer)

    gained = best_checkpoint.confirm(trainer)

    assert trainer.model.weight.item() == best
    assert find_checkpoints(folder) >= {best}
    assert len(find_checkpoints(folder)) <= 2
    assert gained == {
        "best_step": best,
        "stopped_early": None,
        "metric": "loss",
        "before": losses[0],
        "best": losses[best],
        "shipped": losses[best],
        "noise": pytest.approx(losses[0] * 2**-24),
        "higher": False,
    }
    evaluated = [log["step"] for log in trainer.state.log_history if "eval_loss" in log]
    assert evaluated == list(range(len(losses)))  # the second evaluation is in no curve


@pytest.mark.prove
def test_the_best_answers_are_kept_and_not_the_lowest_loss(folder: Path) -> None:
    """Also where training stops early, between two checkpoints that are due."""
    losses, scores = (9, 8, 7, 6, 5, 4, 3), (0.1, 0.2, 0.9, 0.5, 0.6, 0.3, 1.0)
    trainer, best_checkpoint = make_trainer(folder, losses, scores=scores)
    train(trainer)

    gained = best_checkpoint.confirm(trainer)

    assert trainer.state.global_step == 5
    assert trainer.model.weight.item() == 2
    assert (gained["metric"], gained["best_step"]) == ("rouge_l", 2)
    assert gained["best"] == gained["shipped"] == 0.9


@pytest.mark.prove
def test_other_weights_fail_the_stage(folder: Path) -> None:
    """The number that is reported must be that of the weights that are kept, up to rounding."""
    trainer, best_checkpoint = make_trainer(folder, (9, 8, 7, 3, 3.001))
    train(trainer)
    with torch.no_grad():
        trainer.model.weight += 1

    with pytest.raises(SystemExit) as ended:
        best_checkpoint.confirm(trainer)

    said = str(ended.value)
    assert "post-condition failed: the kept weights are those of step 3" in said
    assert "its validation loss was 3, and they have 3.001" in said


@pytest.mark.prove
def test_stopping_early_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the console, in the journal and for curve.json; what is resumed there takes no step more.

    The run that is resumed before the stop counts the evaluations of the run before.
    """
    losses = (9, 8, 3, 4, 5, 6, 1, 1, 1)
    trainer, best_checkpoint = make_trainer(folder, losses, saves=1)
    train(trainer)

    said = (
        "training stops early, at step 5 of 8: in 3 evaluations the validation loss did not"
        " improve on the 3.0000 of step 2, whose checkpoint is kept"
    )
    assert said in capsys.readouterr().out
    log = (folder / "run/train/log.jsonl").read_text()
    assert [json.loads(line).get("stopped_early") for line in log.splitlines()].count(said) == 1
    assert best_checkpoint.stopping.find_stop(trainer.args, trainer.state) == said
    assert trainer.model.weight.item() == 2

    resumed, best_checkpoint = make_trainer(folder, losses, saves=1)
    train(resumed, "run/train/checkpoints/checkpoint-5")
    assert resumed.state.global_step == 5
    assert resumed.model.weight.item() == 2
    assert best_checkpoint.confirm(resumed)["shipped"] == 3


@pytest.mark.prove
def test_a_resumed_run_stops_where_the_other_does(folder: Path) -> None:
    """Two evaluations without an improvement before the kill and one after it make three."""
    trainer, _ = make_trainer(folder, (9, 8, 3, 4, 5, 6, 1, 1, 1), saves=1)
    trainer.args.max_steps = 4
    train(trainer)
    resumed, _ = make_trainer(folder, (9, 8, 3, 4, 5, 6, 1, 1, 1), saves=1)
    train(resumed, "run/train/checkpoints/checkpoint-4")
    assert resumed.state.global_step == 5


def test_rewards_that_never_differ_are_warned_of(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After five logs, and each time twice as late; not before, and not once they differ."""
    flat = FlatRewards(make_session(folder))
    state = SimpleNamespace(
        log_history=[], global_step=0, max_steps=99, epoch=0.0, is_world_process_zero=True
    )

    def log(step: int, share: float, reward: float = 0.0) -> bool:
        entry = {"frac_reward_zero_std": share, "reward": reward, "step": step}
        state.log_history.append({**entry, "completions/clipped_ratio": 0.9})
        state.log_history.append({"eval_reward": 0.0, "step": step})
        flat.on_log(None, state, None, logs=entry)
        flat.on_log(None, state, None, logs={"eval_reward": 0.0})
        return "warning: in " in capsys.readouterr().out

    assert [step for step in range(1, 42) if log(step, 1.0)] == [5, 10, 20, 40]
    assert not log(42, 0.9, 0.1)
    assert [step for step in range(43, 54) if log(step, 1.0, 1.0)] == [47, 52]
    lines = (folder / "run/train/log.jsonl").read_text().splitlines()
    first, last = json.loads(lines[0])["warning"], json.loads(lines[-1])["warning"]
    assert "in 5 logs, step 1 to 5," in first
    assert "no answer is rewarded" in first
    assert "90% of the answers are cut off" in first
    assert "the rewards do not separate good answers from bad ones" in last


def test_the_variance_of_rewards_is_that_of_all_of_them() -> None:
    """From the mean and the deviation of each batch, of which a batch of one has none."""
    batches = torch.tensor([[0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]])
    metrics = {
        "reward": batches.mean(1).tolist(),
        "reward_std": batches.std(1, correction=0).tolist(),
    }
    assert find_variance(metrics) == pytest.approx(batches.var(correction=0).item())
    alone = {"reward": [0.0, 1.0], "reward_std": [float("nan")] * 2}
    assert find_variance(alone) == 0.25


@pytest.mark.parametrize("answers", [1, 2, 4, 8, 16, 64])
@pytest.mark.parametrize("share", [0.02, 0.2, 0.5])
def test_few_rewards_of_the_same_weights_may_differ(answers: int, share: float) -> None:
    """With few rows, every answer in an evaluation may get the same reward by chance."""

    def evaluate(good: int) -> dict[str, float]:
        mean = good / answers
        return {"eval_reward": mean, "eval_reward_variance": mean * (1 - mean)}

    def chance(good: int) -> float:
        return math.comb(answers, good) * share**good * (1 - share) ** (answers - good)

    bound = NormalDist().inv_cdf(1 - BAD_LUCK / 4)  # of two evaluations
    counts = range(answers + 1)
    refused = sum(
        chance(one) * chance(other)
        for one in counts
        for other in counts
        if abs(one - other) / answers
        > bound * find_standard_error(evaluate(one), evaluate(other), answers)
    )
    assert refused < 10 * BAD_LUCK
    none, all_ = evaluate(0), evaluate(answers)
    is_told = bound * find_standard_error(none, all_, answers) < 1
    assert is_told is (answers >= 16)  # other weights still have another mean
