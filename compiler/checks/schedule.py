"""The rules about schedule, evaluation and checkpoints (FTC520 to FTC539)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule

_LONG_WARMUP = 0.5


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


@rule("FTC521", "evaluation-after-the-end", "warning", reads=("plan",))
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
    if total < 10:  # noqa: PLR2004 - the page says it
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
