"""The rules about schedule, evaluation and checkpoints (FTC520 to FTC551)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator
from dataclasses import replace

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.plan.learning_rate import decide_learning_rate
from ftc.compiler.plan.schedule import FROM_SCRATCH_PARAMETERS

_LONG_WARMUP = 0.5
_OFF_SCALE = 50
_SEEN_SHARE = 0.9
_BACKWARD_COST = 3  # a training step costs three times what an evaluation of its rows does
_MANY_EPOCHS = 20


def _is_beyond_rows(case: Case) -> bool:
    decided = case.plan.decisions.global_batch
    return decided.source == "spec" and decided.value > case.plan.decisions.batch_rows > 0


@rule("FTC520", "early-stopping-without-validation", "error", reads=("data", "plan"))
def early_stopping_without_validation(case: Case) -> Iterator[Problem]:
    """What it is: Training should stop early, and no row is held out for validation.

    Why it matters: Early stopping watches the validation loss; the Trainer refuses to start.

    Example: {"data": "two-rows.csv", "training": {"early_stopping": 3}}

    Use instead: {"data": "a-thousand-rows.csv", "training": {"early_stopping": 3}}
    """
    decisions = case.plan.decisions
    if case.spec.training.early_stopping is not None and decisions.validation_rows.value == 0:
        yield Problem(
            message="early stopping needs validation rows, and there are none",
            help="bring more rows, or leave `training.early_stopping` out",
            pointer="/training/early_stopping",
        )


@rule("FTC521", "evaluation-after-the-end", "warning", reads=("plan",), fix_safety="unsafe")
def evaluation_after_the_end(case: Case) -> Iterator[Problem]:
    """What it is: The first evaluation is due after the last step.

    Why it matters: The run ends without one: no loss curve, and no best checkpoint to choose.

    Example: {"training": {"max_steps": 100, "evaluation": {"every_steps": 500}}}

    Use instead: {"training": {"max_steps": 100}}
    """
    decisions = case.plan.decisions
    every, total = decisions.eval_steps.value, decisions.total_steps.value
    if every > total:
        yield Problem(
            message=f"an evaluation every {every:,} steps never comes in {total:,} steps",
            help=f"use at most {total:,}, or leave it out",
            pointer="/training/evaluation/every_steps",
            fix=(put("/training/evaluation/every_steps", "auto"),),
        )


@rule("FTC522", "long-warmup", "warning", reads=("plan",))
def long_warmup(case: Case) -> Iterator[Problem]:
    """What it is: Warm-up takes half of the steps or more.

    Why it matters: The learning rate hardly reaches its peak before it has to fall.

    Example: {"training": {"warmup": 0.8}}

    Use instead: {"training": {"warmup": 0.05}}
    """
    decisions = case.plan.decisions
    warmup, total = decisions.warmup_steps.value, decisions.total_steps.value
    if case.spec.training.warmup >= _LONG_WARMUP:
        yield Problem(
            message=f"warm-up takes {warmup:,} of {total:,} steps",
            help="a share of 0.03 to 0.1 is usual",
            pointer="/training/warmup",
        )


@rule("FTC523", "few-steps", "warning", reads=("plan",))
def few_steps(case: Case) -> Iterator[Problem]:
    """What it is: The run has fewer than ten optimiser steps.

    Why it matters: That is a rehearsal: the weights hardly move.

    Example: {"training": {"global_batch": 4096, "epochs": 1}}

    Use instead: {"training": {"global_batch": 32, "epochs": 1}}
    """
    total = case.plan.decisions.total_steps.value
    if total < 10 and not _is_beyond_rows(case):  # noqa: PLR2004 - the page says it
        yield Problem(
            message=f"the run has only {total} optimiser step{'s' if total != 1 else ''}",
            help="use a smaller `training.global_batch`, more epochs or more rows",
            pointer="/training/max_steps"
            if case.spec.training.max_steps is not None
            else "/training/global_batch",
        )


@rule("FTC525", "patience-beyond-run", "warning", reads=("plan",))
def patience_beyond_run(case: Case) -> Iterator[Problem]:
    """What it is: Early stopping waits for more evaluations than the run has.

    Why it matters: It can never stop anything.

    Example: {"training": {"early_stopping": 100}}

    Use instead: {"training": {"early_stopping": 3}}
    """
    decisions = case.plan.decisions
    patience = decisions.patience.value
    evaluations = decisions.total_steps.value // decisions.eval_steps.value
    if patience is not None and patience >= evaluations > 0:
        yield Problem(
            message=f"early stopping waits {patience} evaluations and the run has {evaluations}",
            help="use a smaller number, or evaluate more often",
            pointer="/training/early_stopping",
        )


@rule("FTC526", "learning-rate-off-scale", "warning", reads=("model", "plan"), fix_safety="unsafe")
def learning_rate_off_scale(case: Case) -> Iterator[Problem]:
    """What it is: The learning rate is fifty times the usual one, or a fiftieth of it.

    Why it matters: Method and size say what is usual. Far above, the loss climbs or turns to NaN
    within a few steps; far below, nothing is learned in the steps that are paid for. A slipped
    exponent does either.

    Example: {"method": "full", "training": {"learning_rate": 0.02}}

    Use instead: {"method": "full", "training": {"learning_rate": 2e-5}}
    """
    if case.spec.training.learning_rate == "auto":
        return
    said = case.plan.decisions.learning_rate.value
    free = replace(case.spec, training=replace(case.spec.training, learning_rate="auto"))
    usual = decide_learning_rate(free, case.model).value
    if said >= _OFF_SCALE * usual or said * _OFF_SCALE <= usual:
        yield Problem(
            message=f"the learning rate is {said:g}, and {usual:g} is usual for `"
            f"{case.spec.method.type}` at {case.model.parameters / 1e9:.3g} billion parameters",
            help="leave it out, or stay within a factor of ten",
            pointer="/training/learning_rate",
            fix=(put("/training/learning_rate", "auto"),),
        )


@rule("FTC527", "batch-beyond-rows", "warning", reads=("data", "plan"), fix_safety="unsafe")
def batch_beyond_rows(case: Case) -> Iterator[Problem]:
    """What it is: The global batch is larger than the training split.

    Why it matters: An epoch is then one optimiser step: the run has as many steps as epochs, and
    the weights hardly move.

    Example: {"data": "300-rows.csv", "training": {"global_batch": 512}}

    Use instead: {"data": "300-rows.csv", "training": {"global_batch": 16}}
    """
    if _is_beyond_rows(case):
        d = case.plan.decisions
        yield Problem(
            message=f"a global batch of {d.global_batch.value:,} is larger than the training split "
            f"({d.batch_rows:,} rows): an epoch is one step",
            help="leave it out, or use a tenth of the rows at most",
            pointer="/training/global_batch",
            fix=(put("/training/global_batch", "auto"),),
        )


@rule("FTC528", "rows-never-seen", "info", reads=("data", "plan"))
def rows_never_seen(case: Case) -> Iterator[Problem]:
    """What it is: `max_steps` ends the run before every training row was read once.

    Why it matters: Rows that were cleaned, split and paid for are not learned from. That may be
    meant, for a trial.

    Example: {"data": "a-million-rows.jsonl", "training": {"max_steps": 100}}

    Use instead: {"data": "a-million-rows.jsonl", "training": {"epochs": 1}}
    """
    d = case.plan.decisions
    seen, rows = d.total_steps.value * d.global_batch.value, d.batch_rows
    if case.spec.training.max_steps is not None and seen < _SEEN_SHARE * rows:
        yield Problem(
            message=f"{d.total_steps.value:,} steps of {d.global_batch.value:,} rows read "
            f"{seen / rows:.0%} of the {rows:,} training rows",
            help="use `training.epochs`, or `data.max_rows` if fewer rows are meant",
            pointer="/training/max_steps",
        )


@rule("FTC529", "evaluation-outweighs-training", "warning", reads=("plan",), fix_safety="unsafe")
def evaluation_outweighs_training(case: Case) -> Iterator[Problem]:
    """What it is: More time goes to evaluations than to training.

    Why it matters: Ten evaluations in a run draw a loss curve and choose a checkpoint. A hundred
    draw the same one, and the GPU is paid for each.

    Example: {"training": {"evaluation": {"every_steps": 1}}}

    Use instead: {"training": {"evaluation": {"every_steps": "auto"}}}
    """
    d = case.plan.decisions
    if d.eval_steps.source != "spec":
        return
    evaluations = d.total_steps.value // d.eval_steps.value
    measured = evaluations * d.validation_rows.value
    each = d.train_rows.value / max(1, d.batch_rows)
    trained = _BACKWARD_COST * d.total_steps.value * d.global_batch.value * each
    if measured > trained:
        yield Problem(
            message=f"{evaluations:,} evaluations of {d.validation_rows.value:,} rows take about "
            f"{measured / (measured + trained):.0%} of the run",
            help="leave `training.evaluation.every_steps` out for about ten in a run",
            pointer="/training/evaluation/every_steps",
            fix=(put("/training/evaluation/every_steps", "auto"),),
        )


@rule("FTC530", "many-epochs", "warning", reads=("model", "plan"), fix_safety="unsafe")
def many_epochs(case: Case) -> Iterator[Problem]:
    """What it is: A pretrained model is to read every row more than twenty times.

    Why it matters: It knows the rows by heart after a few epochs. What it does on others gets worse
    from then on, and only early stopping, or the best checkpoint, notices.

    Example: {"data": "500-rows.csv", "training": {"epochs": 50}}

    Use instead: {"data": "500-rows.csv", "training": {"epochs": 50, "early_stopping": 3}}
    """
    training, d = case.spec.training, case.plan.decisions
    pretrained = case.model.parameters >= FROM_SCRATCH_PARAMETERS
    if training.early_stopping is not None or training.epochs == "auto" or not pretrained:
        return
    if d.epochs.value > _MANY_EPOCHS:
        watched = d.validation_rows.value > 0
        yield Problem(
            message=f"the model reads every row {d.epochs.value:g} times",
            help="set `training.early_stopping`, or use 3 to 5 epochs",
            pointer="/training/epochs",
            fix=(put("/training/early_stopping", 3),) if watched else (),
        )


@rule("FTC551", "worse-result-allowed-unseen", "warning", reads=("data", "plan"))
def worse_result_allowed_unseen(case: Case) -> Iterator[Problem]:
    """What it is: `allow_worse` is set, and no row is held out for validation.

    Why it matters: Whether a model got worse is seen on rows that it does not learn from. Without
    them nothing is compared, and the field is accepted and then ignored.

    Example: {"data": {"source": "notes.csv", "splits": {"validation": 0}},
     "training": {"evaluation": {"allow_worse": true}}}

    Use instead: {"data": {"source": "notes.csv", "splits": {"validation": 0}}}
    """
    if case.spec.training.evaluation.allow_worse and case.plan.decisions.validation_rows.value == 0:
        yield Problem(
            message="a worse result is allowed, and there are no validation rows to see one on",
            help="leave `training.evaluation.allow_worse` out, or hold rows out for validation",
            pointer="/training/evaluation/allow_worse",
            fix=({"op": "remove", "path": "/training/evaluation/allow_worse"},),
        )
