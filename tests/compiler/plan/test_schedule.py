"""The step counts, against the Trainer that will count them."""

import math
from pathlib import Path

import pytest

from ftc.compiler.plan.batch.sizes import decide_batch
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.schedule.steps import count_saves, steps_per_epoch
from tests.compiler.conftest import BuildKnown


@pytest.mark.parametrize(
    ("rows", "micro", "accumulation", "world", "expected"),
    [
        (100, 4, 2, 1, 13),  # 25 batches, two a step: the last step has one
        (100, 4, 2, 3, 5),  # 9 batches a process, of which the last is padded
        (1, 8, 4, 2, 1),
        (0, 8, 4, 2, 1),
        (4000, 8, 4, 1, 125),
    ],
)
def test_steps_of_an_epoch(
    rows: int, micro: int, accumulation: int, world: int, expected: int
) -> None:
    """Ceilings within ceilings."""
    assert steps_per_epoch(rows, micro=micro, accumulation=accumulation, world=world) == expected


def test_batches_that_are_not_whole_are_left_out() -> None:
    """Two processes of sentence-transformers 6.2 took 6 and 4 steps an epoch."""
    for micro, accumulation, expected in ((8, 1, 6), (4, 3, 4)):
        found = steps_per_epoch(100, micro=micro, accumulation=accumulation, world=2, whole=True)
        assert found == expected


@pytest.mark.parametrize(("world", "expected"), [(1, 16), (2, 16), (3, 12), (16, 16)])
def test_steps_of_vectors_are_never_larger_than_the_texts(
    build_known: BuildKnown, world: int, expected: int
) -> None:
    """No text occurs twice in the rows of all processes."""
    changes = {"/spec/objective/type": "embed", "/spec/export/types": []}
    spec, _ = build_known(changes)
    batch = decide_batch(spec, train_rows=10_000, world=world, documents=20)
    assert batch.decision.value == expected


@pytest.mark.prove
def test_the_trainer_counts_the_same_steps(tmp_path: Path) -> None:
    """Transformers' own `set_initial_training_values` on one process, for odd sizes."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    for rows, micro, accumulation, epochs in ((101, 4, 3, 2.0), (7, 8, 1, 1.0), (64, 4, 4, 1.5)):
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path),
            per_device_train_batch_size=micro,
            gradient_accumulation_steps=accumulation,
            num_train_epochs=epochs,
            warmup_steps=0.03,
            use_cpu=True,
        )
        trainer = transformers.Trainer(
            model=torch.nn.Linear(1, 1), args=arguments, train_dataset=[{"x": 0}] * rows
        )
        loader = trainer.get_train_dataloader()
        values = trainer.set_initial_training_values(arguments, loader)
        per_epoch = steps_per_epoch(rows, micro=micro, accumulation=accumulation, world=1)
        total = math.ceil(epochs * per_epoch)
        assert values[1] == per_epoch
        assert values[-1] == total
        assert arguments.get_warmup_steps(total) == math.ceil(0.03 * total)


@pytest.mark.prove
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_short_run_trains(build_known: BuildKnown, steps: int) -> None:
    """The schedulers of transformers begin a warm-up at zero: a later step has a rate."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    plan = make_plan(*build_known({"/spec/training/max_steps": steps}))
    warmup = plan.decisions.training.warmup_steps.value
    for schedule in ("linear", "cosine", "inverse_sqrt"):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        scheduler = transformers.get_scheduler(schedule, optimizer, warmup, steps)
        rates = []
        for _ in range(steps):
            rates += scheduler.get_last_lr()
            optimizer.step()
            scheduler.step()
        assert max(rates) > 0, (schedule, steps, warmup)


def test_what_is_saved_is_counted_and_said(build_known: BuildKnown) -> None:
    """With rows held out every evaluation may be the best one; without, one resumes only."""
    edits = {"/spec/training/max_steps": 300, "/spec/training/evaluation/every_steps": 5}
    held = make_plan(*build_known(edits)).decisions.training.save_steps
    alone = make_plan(
        *build_known({**edits, "/facts/data/usable_rows": 2})
    ).decisions.training.save_steps
    assert (held.value, held.because.key) == (15, "save_steps.some")
    assert (alone.value, alone.because.key) == (15, "save_steps.alone")
    assert count_saves(300, save_steps=15, eval_steps=5, validated=True) == 60
    assert count_saves(300, save_steps=15, eval_steps=5, validated=False) == 20


def test_evaluations_of_short_runs(build_known: BuildKnown) -> None:
    """A few steps are evaluated once, and costly checkpoints are few; a spec's number is kept."""
    short = make_plan(*build_known({"/spec/training/max_steps": 5})).decisions.training.eval_steps
    assert (short.value, short.because.key) == (5, "eval_steps.few")
    whole = {"/spec/method/type": "full", "/facts/hardware/count": 8}
    costly = make_plan(*build_known({**whole, "/spec/training/max_steps": 20})).decisions
    assert (costly.training.eval_steps.value, costly.training.eval_steps.because.key) == (
        20,
        "eval_steps.costly",
    )
    assert costly.training.save_steps.value == 20
    patient = {**whole, "/spec/training/max_steps": 20, "/spec/training/early_stopping": 3}
    assert make_plan(*build_known(patient)).decisions.training.eval_steps.value == 5
    asked = {**whole, "/spec/training/max_steps": 5, "/spec/training/evaluation/every_steps": 1}
    assert make_plan(*build_known(asked)).decisions.training.eval_steps.value == 1


@pytest.mark.parametrize("gpus", [1, 8])
def test_evaluations_are_as_many_as_their_planned_time_allows(
    build_known: BuildKnown, gpus: int
) -> None:
    """The plan's own times show that one more would take over a quarter of those of training."""
    edits = {"/spec/method/type": "full", "/facts/hardware/count": gpus}
    plan = make_plan(*build_known(edits))
    decided, time = plan.decisions, plan.time
    assert time is not None
    assert decided.training.eval_steps.because.key == "eval_steps.costly"
    count = math.ceil(decided.training.total_steps.value / decided.training.eval_steps.value)
    each = time.evaluation_seconds / (2 + count) + time.saving_seconds / count
    limit = max(60.0, time.training_seconds / 4)
    assert count * each <= limit or count == 1
    said = dict(decided.training.eval_steps.because.values)["evaluations"]
    assert isinstance(said, int)
    assert (said + 1) * each > limit


def test_answers_that_an_evaluation_writes_take_time(build_known: BuildKnown) -> None:
    """To choose the best checkpoint by a metric, or to be read: in batches of 16."""

    def seconds(field: str = "every_steps", value: object = 100) -> float:
        every = {"/spec/training/evaluation/every_steps": 100}
        plan = make_plan(*build_known({**every, f"/spec/training/evaluation/{field}": value}))
        assert plan.time is not None
        return plan.time.evaluation_seconds

    assert seconds() < seconds("samples", 3) == seconds("samples", 16)
    assert seconds("best_by", "metric") > seconds("samples", 16)
