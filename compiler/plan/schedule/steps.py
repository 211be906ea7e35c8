"""Epochs, steps, and how often a run evaluates and saves, as the Trainer will count them."""

import math
from dataclasses import dataclass

from ftc.compiler.plan.decision import Because, Decision, decide, derived, keep
from ftc.compiler.plan.objective.comparison import PAIRING
from ftc.compiler.plan.objective.sampling import samples, sampling_epochs
from ftc.compiler.resolve.facts import ModelFacts
from ftc.spec.sections import Spec

EVALUATIONS = 10
_STEPS_BETWEEN = 5  # fewer steps hardly change the model
_MOST_SHARE = 0.25  # of the time of training, for evaluations and their checkpoints
_FREE_SECONDS = 60.0  # that they may take in any run
_FEW_PAIRS = 10_000
FROM_SCRATCH_PARAMETERS = 20_000_000  # a model this small learns the task from scratch


@dataclass(frozen=True, slots=True, kw_only=True)
class Timetable:
    """The decided schedule; all counts but the epochs are optimizer steps."""

    epochs: Decision[float]
    total_steps: Decision[int]
    eval_steps: Decision[int]
    save_steps: Decision[int]
    warmup_steps: Decision[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long a step takes, and an evaluation with the checkpoint that it may save."""

    step_seconds: float
    evaluation_seconds: float


def decide_timetable(
    spec: Spec,
    model: ModelFacts,
    *,
    train_rows: int,
    batch_rows: int,
    micro: int,
    accumulation: int,
    world: int,
    validated: bool,
    whole: bool = False,
    estimated: bool = False,
    pace: Pace | None = None,
) -> Timetable:
    """Derive the schedule of a run from its rows and batch.

    `batch_rows` are the training rows as batches count them: fewer where several are packed in one.
    `validated` says whether rows are held out that evaluations read, `whole` that batches which
    are not full are left out, and `estimated` that rows are packed or split into pieces, whose
    number depends on the rows that are drawn for training. `pace` is None where
    evaluations and checkpoints are not limited by their time.
    """
    per_epoch = steps_per_epoch(
        batch_rows, micro=micro, accumulation=accumulation, world=world, whole=whole
    )
    epochs = _epochs(spec, model, train_rows, per_epoch)
    max_steps = spec.training.max_steps
    if max_steps is not None:
        total = keep(spec, "/training/max_steps", max_steps)
    else:
        steps = max(1, math.ceil(epochs.value * per_epoch))
        key = "steps.epochs.estimate" if estimated else "steps.epochs"
        total = derived(steps, key, epochs=epochs.value, per_epoch=per_epoch)
    evaluation = _eval_steps(spec, total.value, per_epoch, pace)
    return Timetable(
        epochs=epochs,
        total_steps=total,
        eval_steps=evaluation,
        save_steps=_save_steps(total.value, evaluation.value, validated=validated),
        warmup_steps=_warmup_steps(spec.training.warmup, total.value),
    )


def _warmup_steps(share: float, total: int) -> Decision[int]:
    """Return the steps of the warm-up, whose first step has a rate of zero."""
    if total == 1 and share > 0:
        return derived(0, "warmup_steps.single")
    least = 0 < total * share < 1
    return derived(
        math.ceil(total * share),
        "warmup_steps.least" if least else "warmup_steps",
        share=share,
        steps=total,
    )


def steps_per_epoch(
    train_rows: int, *, micro: int, accumulation: int, world: int, whole: bool = False
) -> int:
    """Optimizer steps of one epoch, at least one.

    Source: transformers 5.23 `Trainer.set_initial_training_values`; accelerate pads the last batch
    of each process (`even_batches`), hence the inner ceiling. With several processes
    sentence-transformers 6.2 leaves out what is not `whole` (`dataloader_drop_last`).
    """
    batches = train_rows // (micro * world) if whole else math.ceil(train_rows / (micro * world))
    return max(1, math.ceil(batches / accumulation))


def _epochs(spec: Spec, model: ModelFacts, train_rows: int, per_epoch: int) -> Decision[float]:
    max_steps = spec.training.max_steps
    if max_steps is not None and spec.training.epochs == "auto":
        value = round(max_steps / per_epoch, 2)
        return derived(value, "epochs.max_steps", steps=max_steps, per_epoch=per_epoch)

    def derive() -> tuple[float, Because]:
        values = {"rows": train_rows, "parameters": model.parameters}
        if spec.objective.type in PAIRING and spec.objective.type != "orpo":
            few = train_rows <= _FEW_PAIRS
            key = "epochs.comparing_few" if few else "epochs.comparing"
            return (2.0 if few else 1.0), Because(key=key, values=values)
        if samples(spec.objective):
            return sampling_epochs(spec.objective, train_rows)
        if spec.objective.type == "cpt":
            return 1.0, Because(key="epochs.text")
        if model.parameters < FROM_SCRATCH_PARAMETERS:
            return 8.0, Because(key="epochs.scratch", values=values)
        if train_rows > 50_000:  # noqa: PLR2004 - the reason says it
            return 1.0, Because(key="epochs.many", values=values)
        if train_rows > 10_000:  # noqa: PLR2004 - the reason says it
            return 2.0, Because(key="epochs.some", values=values)
        return 3.0, Because(key="epochs.few", values=values)

    return decide(spec, "/training/epochs", spec.training.epochs, derive)


def _save_steps(total: int, eval_steps: int, *, validated: bool) -> Decision[int]:
    """Decide after how many steps a checkpoint is saved for a resume: at most twenty per run.

    It is a multiple of the evaluations' steps: transformers 5.23 loads the best checkpoint at the
    end only then. The bundle's own callback saves one more at every evaluation that is the best so
    far, whether or not one is due there.
    """
    evaluations = max(1, math.ceil(total / eval_steps / (2 * EVALUATIONS)))
    steps = eval_steps * evaluations
    if not validated:
        return derived(steps, "save_steps.alone", checkpoints=math.ceil(total / steps))
    if evaluations == 1:
        return derived(steps, "save_steps.each")
    return derived(steps, "save_steps.some", evaluations=evaluations)


def count_saves(total: int, *, save_steps: int, eval_steps: int, validated: bool) -> int:
    """Return the most checkpoints that a run writes: with held-out rows, one per evaluation."""
    return math.ceil(total / max(1, eval_steps if validated else save_steps))


def _eval_steps(spec: Spec, total: int, per_epoch: int, pace: Pace | None) -> Decision[int]:
    """Decide the steps between evaluations: about ten per run, at least one per epoch.

    There are fewer where they would be only a few steps apart, or take much of the time.
    """

    def derive() -> tuple[int, Because]:
        tenth = max(1, math.ceil(total / EVALUATIONS))
        usual = min(tenth, per_epoch)
        steps = usual_interval(total, per_epoch)
        affordable = _affordable(spec, total, pace)
        if affordable < math.ceil(total / steps):
            values = {"evaluations": affordable, "share": _MOST_SHARE}
            return math.ceil(total / affordable), Because(key="eval_steps.costly", values=values)
        if steps > usual:
            values = {"evaluations": math.ceil(total / steps), "steps": total}
            return steps, Because(key="eval_steps.few", values=values)
        if tenth <= per_epoch:
            return tenth, Because(key="eval_steps.tenth", values={"steps": total})
        return per_epoch, Because(key="eval_steps.epoch", values={"per_epoch": per_epoch})

    return decide(
        spec, "/training/evaluation/every_steps", spec.training.evaluation.every_steps, derive
    )


def usual_interval(total: int, per_epoch: int) -> int:
    """Return the steps between evaluations where neither the spec nor their time limits them."""
    tenth = max(1, math.ceil(total / EVALUATIONS))
    return min(total, max(min(tenth, per_epoch), _STEPS_BETWEEN))


def _affordable(spec: Spec, total: int, pace: Pace | None) -> int:
    """Return how many evaluations take a minute, or no more than a share of the time of training.

    The result is at least 1, and at least the patience of early stopping plus 1.
    """
    if pace is None or pace.evaluation_seconds <= 0:
        return total
    least = min(total, (spec.training.early_stopping or 0) + 1)
    seconds = max(_FREE_SECONDS, _MOST_SHARE * total * pace.step_seconds)
    return max(least, int(seconds / pace.evaluation_seconds))
