"""The rules about schedule, evaluation and checkpoints (FTC520 to FTC551, and FTC352)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

import math
from collections.abc import Iterator
from dataclasses import replace

from ftc.compiler.checks.data.images import loses_images
from ftc.compiler.checks.data.rows import has_few_rows
from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.plan.batch.sizes import least_rows
from ftc.compiler.plan.objective.sampling import samples
from ftc.compiler.plan.schedule.learning_rate import decide_learning_rate
from ftc.compiler.plan.schedule.rate_bounds import OF_SECOND_MATRICES, find_bounds
from ftc.compiler.plan.schedule.steps import FROM_SCRATCH_PARAMETERS, usual_interval
from ftc.compiler.resolve.facts import ModelFacts
from ftc.spec.sections import Spec

_LONG_WARMUP = 0.5
_SEEN_SHARE = 0.9
_FEW_STEPS = 10
_BACKWARD_COST = 3  # a training step costs three times what an evaluation of its rows does
_MANY_EPOCHS = 20
_USUAL_EPOCHS = 5
_FAST_EPOCHS, _FAST = 10, 3
_WRECKING_RATE, _WRECKING = 0.1, 50  # at least, and times the highest sound rate


def _is_beyond_rows(case: Case) -> bool:
    decided = case.plan.decisions.batch.global_batch
    return decided.source == "spec" and decided.value > case.plan.decisions.batch_rows > 0


def _has_too_many_processes(case: Case) -> bool:
    """Return whether the least rows per process are more than the split, or leave it few steps."""
    d = case.plan.decisions
    least = d.distribution.world.value * least_rows(case.spec.objective)
    few = d.training.total_steps.value < _FEW_STEPS and case.spec.training.max_steps is None
    planned = d.batch.global_batch.source != "spec" and d.batch.global_batch.value <= least
    return d.distribution.world.value > 1 and (least > d.batch_rows or (few and planned))


@rule("FTC352", "more-processes-than-rows", "warning", reads=("data", "hardware", "plan"))
def more_processes_than_rows(case: Case) -> Iterator[Problem]:
    """What it is: There are so many processes that one row for each is most of the training split.

    Why it matters: Every process reads at least one row per optimizer step. With more processes
    than rows, some get rows that another one has as well; with nearly as many, an epoch has only a
    few steps, and the weights hardly change.

    Example: {"data": "640-rows.csv", "hardware": {"gpu": "H100", "count": 8, "nodes": 100}}

    Use instead: {"data": "640-rows.csv", "hardware": "1x H100"}
    """
    d = case.plan.decisions
    rows, least = d.batch_rows, least_rows(case.spec.objective)
    if rows and not samples(case.spec.objective) and _has_too_many_processes(case):
        yield problem(
            "/hardware/count",
            world=d.distribution.world.value,
            least=d.distribution.world.value * least,
            rows=rows,
            steps=d.training.total_steps.value,
            most=max(1, rows // (_FEW_STEPS * least)),
        )


@rule("FTC520", "early-stopping-without-validation", "error", reads=("data", "plan"))
def early_stopping_without_validation(case: Case) -> Iterator[Problem]:
    """What it is: Early stopping is set, and no row is held out for validation.

    Why it matters: Early stopping watches the validation loss. Without it the Trainer does not
    start.

    Example: {"data": "two-rows.csv", "training": {"early_stopping": 3}}

    Use instead: {"data": "a-thousand-rows.csv", "training": {"early_stopping": 3}}
    """
    decisions = case.plan.decisions
    if (
        case.spec.training.early_stopping is not None
        and decisions.splits.validation_rows.value == 0
    ):
        yield problem("/training/early_stopping")


@rule("FTC521", "evaluation-after-the-end", "warning", reads=("plan",), fix_safety="unsafe")
def evaluation_after_the_end(case: Case) -> Iterator[Problem]:
    """What it is: The first evaluation is due after the last step.

    Why it matters: The run ends without an evaluation: there is no loss curve, and no best
    checkpoint to choose.

    Example: {"training": {"max_steps": 100, "evaluation": {"every_steps": 500}}}

    Use instead: {"training": {"max_steps": 100}}
    """
    decisions = case.plan.decisions
    every, total = decisions.training.eval_steps.value, decisions.training.total_steps.value
    if every > total:
        yield problem(
            "/training/evaluation/every_steps",
            fix=(put("/training/evaluation/every_steps", "auto"),),
            every=every,
            total=total,
        )


@rule("FTC522", "long-warmup", "warning", reads=("plan",))
def long_warmup(case: Case) -> Iterator[Problem]:
    """What it is: Warm-up takes half of the steps or more.

    Why it matters: The learning rate hardly reaches its peak before it has to fall.

    Example: {"training": {"warmup": 0.8}}

    Use instead: {"training": {"warmup": 0.05}}
    """
    decisions = case.plan.decisions
    warmup, total = decisions.training.warmup_steps.value, decisions.training.total_steps.value
    if case.spec.training.warmup >= _LONG_WARMUP:
        yield problem("/training/warmup", warmup=warmup, total=total)


@rule("FTC523", "few-steps", "warning", reads=("data", "plan"))
def few_steps(case: Case) -> Iterator[Problem]:
    """What it is: The run has fewer than ten optimizer steps.

    Why it matters: The weights hardly change in so few steps.

    Example: {"training": {"global_batch": 4096, "epochs": 1}}

    Use instead: {"training": {"global_batch": 32, "epochs": 1}}
    """
    d = case.plan.decisions
    total = d.training.total_steps.value
    chosen = case.spec.training.max_steps is not None or d.batch.global_batch.source == "spec"
    few = has_few_rows(case) and not chosen
    if few or d.splits.train_rows.value < 1 or loses_images(case):
        return  # see FTC225, FTC224 and FTC194
    if total < _FEW_STEPS and not _is_beyond_rows(case) and not _has_too_many_processes(case):
        limited = case.spec.training.max_steps is not None
        yield problem(
            "/training/max_steps" if limited else "/training/global_batch",
            help="limited" if limited else "",
            total=total,
        )


@rule("FTC525", "patience-beyond-run", "warning", reads=("plan",))
def patience_beyond_run(case: Case) -> Iterator[Problem]:
    """What it is: Early stopping waits for more evaluations than the run has.

    Why it matters: It can never stop the run.

    Example: {"training": {"early_stopping": 100}}

    Use instead: {"training": {"early_stopping": 3}}
    """
    decisions = case.plan.decisions
    patience = decisions.training.patience.value
    total, every = decisions.training.total_steps.value, decisions.training.eval_steps.value
    never = every > total  # see FTC521, whose fix lets the plan choose the interval
    if never:
        every = usual_interval(total, math.ceil(total / decisions.training.epochs.value))
    evaluations = total // every
    if patience is not None and patience >= evaluations > 0:
        yield problem(
            "/training/early_stopping",
            message="never" if never else "",
            patience=patience,
            evaluations=evaluations,
        )


@rule("FTC526", "learning-rate-off-scale", "warning", reads=("model", "plan"), fix_safety="unsafe")
def learning_rate_off_scale(case: Case) -> Iterator[Problem]:
    """What it is: The learning rate is outside the range of sound recipes for this run.

    Why it matters: The range depends on the objective, the method, the size of the model and the
    optimizer. Above it the loss rises or becomes NaN within a few steps, or the model forgets what
    it knew; below it nothing is learned in the planned steps. A full fine-tune at LoRA's rate, or
    preferences at the rate of answers, are the usual errors. Under LoRA+ the rate of the B matrices
    is the learning rate times `method.loraplus_ratio`, and it has a limit too.

    Example: {"method": "full", "training": {"learning_rate": 2e-4}}

    Use instead: {"method": "full", "training": {"learning_rate": 2e-5}}
    """
    spec, model = case.spec, case.model
    said = case.plan.decisions.training.learning_rate.value
    free = replace(spec, training=replace(spec.training, learning_rate="auto"))
    usual, bounds = decide_learning_rate(free, model).value, find_bounds(spec, model)
    objective, method = spec.objective.type, spec.method.type
    billions = model.parameters / 1000000000.0
    off = bounds.times_off(said, usual)
    if off and spec.training.learning_rate != "auto" and not _wrecks(spec, model):
        yield problem(
            "/training/learning_rate",
            message="low" if said < usual else "",
            fix=(put("/training/learning_rate", "auto"),),
            rate=said,
            usual=usual,
            off=off,
            low=bounds.low,
            high=bounds.high,
            objective=objective,
            method=method,
            billions=billions,
        )
    ratio = spec.method.loraplus_ratio
    most = OF_SECOND_MATRICES * bounds.high
    sound = usual if off else said
    if ratio is not None and method in ("lora", "qlora") and sound * ratio > most:
        yield problem(
            "/method/loraplus_ratio",
            message="loraplus",
            help="loraplus",
            rate=sound,
            ratio=ratio,
            product=sound * ratio,
            off=sound * ratio / usual,
            usual=usual,
            high=most,
            most=most / sound,
            objective=objective,
            method=method,
            billions=billions,
        )


def _wrecks(spec: Spec, model: ModelFacts) -> bool:
    """Return whether the first steps at the spec's own learning rate destroy the weights."""
    rate = spec.training.learning_rate
    high = find_bounds(spec, model).high
    return rate != "auto" and rate >= max(_WRECKING_RATE, _WRECKING * high)


@rule("FTC538", "wrecking-learning-rate", "error", reads=("model",), fix_safety="unsafe")
def wrecking_learning_rate(case: Case) -> Iterator[Problem]:
    """What it is: The learning rate is so high that a few steps destroy the model.

    Why it matters: AdamW moves every weight by about the learning rate at each step, and most
    weights are smaller than 0.1. After the warm-up the loss is that of random answers, or NaN.

    Example: {"training": {"learning_rate": 2}}

    Use instead: {"training": {"learning_rate": 2e-4}}
    """
    spec, model = case.spec, case.model
    rate = spec.training.learning_rate
    if rate == "auto" or not _wrecks(spec, model):
        return
    bounds = find_bounds(spec, model)
    yield problem(
        "/training/learning_rate",
        fix=(put("/training/learning_rate", "auto"),),
        rate=rate,
        low=bounds.low,
        high=bounds.high,
        objective=spec.objective.type,
        method=spec.method.type,
    )


@rule("FTC527", "batch-beyond-rows", "warning", reads=("data", "plan"), fix_safety="unsafe")
def batch_beyond_rows(case: Case) -> Iterator[Problem]:
    """What it is: The global batch is larger than the training split.

    Why it matters: An epoch is then one optimizer step: the run has as many steps as epochs, and
    the weights hardly change.

    Example: {"data": "300-rows.csv", "training": {"global_batch": 512}}

    Use instead: {"data": "300-rows.csv", "training": {"global_batch": 16}}
    """
    if _is_beyond_rows(case):
        d = case.plan.decisions
        yield problem(
            "/training/global_batch",
            fix=(put("/training/global_batch", "auto"),),
            batch=d.batch.global_batch.value,
            rows=d.batch_rows,
        )


@rule("FTC528", "rows-never-seen", "info", reads=("data", "plan"))
def rows_never_seen(case: Case) -> Iterator[Problem]:
    """What it is: `max_steps` ends the run before every training row has been read once.

    Why it matters: Some of the prepared rows are never used for training. For a trial run
    that may be intended.

    Example: {"data": "a-million-rows.jsonl", "training": {"max_steps": 100}}

    Use instead: {"data": "a-million-rows.jsonl", "training": {"epochs": 1}}
    """
    d = case.plan.decisions
    answers = (
        1 if d.sampling.num_generations is None else d.sampling.num_generations.value
    )  # of each prompt
    batch, rows = d.batch.global_batch.value // answers, d.batch_rows
    seen = d.training.total_steps.value * batch
    if case.spec.training.max_steps is not None and seen < _SEEN_SHARE * rows:
        yield problem(
            "/training/max_steps",
            message="packed" if d.rows.packing.value != "none" else "",
            steps=d.training.total_steps.value,
            batch=batch,
            share=seen / rows,
            rows=rows,
        )


@rule("FTC529", "evaluation-outweighs-training", "warning", reads=("plan",), fix_safety="unsafe")
def evaluation_outweighs_training(case: Case) -> Iterator[Problem]:
    """What it is: More time goes to evaluations than to training.

    Why it matters: Ten evaluations in a run are enough to draw a loss curve and choose a
    checkpoint. A hundred give the same result and cost more GPU time.

    Example: {"training": {"evaluation": {"every_steps": 1}}}

    Use instead: {"training": {"evaluation": {"every_steps": "auto"}}}
    """
    d = case.plan.decisions
    if d.training.eval_steps.source != "spec":
        return
    evaluations = d.training.total_steps.value // d.training.eval_steps.value
    measured = evaluations * d.splits.validation_rows.value
    each = d.splits.train_rows.value / max(1, d.batch_rows)
    trained = _BACKWARD_COST * d.training.total_steps.value * d.batch.global_batch.value * each
    if measured > trained:
        yield problem(
            "/training/evaluation/every_steps",
            fix=(put("/training/evaluation/every_steps", "auto"),),
            evaluations=evaluations,
            rows=d.splits.validation_rows.value,
            share=measured / (measured + trained),
        )


@rule("FTC530", "many-epochs", "warning", reads=("model", "plan"), fix_safety="unsafe")
def many_epochs(case: Case) -> Iterator[Problem]:
    """What it is: A pretrained model reads every row more than twenty times.

    Ten times are as many at three times the planned learning rate.

    Why it matters: It memorises the rows after a few epochs. Its results on other rows get worse
    from then on, which only early stopping or the best checkpoint corrects.

    Example: {"data": "500-rows.csv", "training": {"epochs": 50}}

    Use instead: {"data": "500-rows.csv", "training": {"epochs": 50, "early_stopping": 3}}
    """
    training, d = case.spec.training, case.plan.decisions
    pretrained = case.model.parameters >= FROM_SCRATCH_PARAMETERS
    limited = training.max_steps is not None and training.epochs == "auto"
    chosen = limited or training.epochs != "auto"
    if training.early_stopping is not None or not chosen or not pretrained:
        return
    free = replace(case.spec, training=replace(training, learning_rate="auto"))
    usual, rate = decide_learning_rate(free, case.model).value, d.training.learning_rate.value
    fast = d.training.epochs.value >= _FAST_EPOCHS and rate >= _FAST * usual
    if d.training.epochs.value > _MANY_EPOCHS or fast:
        watched = d.splits.validation_rows.value > 0
        yield problem(
            "/training/max_steps" if limited else "/training/epochs",
            message="fast" if fast else "",
            help="limited" if limited else "",
            fix=(put("/training/early_stopping", 3),) if watched else (),
            epochs=d.training.epochs.value,
            rate=rate,
            times=rate / usual,
            most=max(
                1, round(_USUAL_EPOCHS * d.training.total_steps.value / d.training.epochs.value)
            ),
        )


@rule("FTC551", "worse-result-allowed-unseen", "warning", reads=("data", "plan"))
def worse_result_allowed_unseen(case: Case) -> Iterator[Problem]:
    """What it is: `allow_worse` is set, and no row is held out for validation.

    Why it matters: Whether a model got worse is measured on held-out rows. Without them nothing is
    compared, and the field is accepted and then ignored.

    Example: {"data": {"source": "notes.csv", "splits": {"validation": 0}},
     "training": {"evaluation": {"allow_worse": true}}}

    Use instead: {"data": {"source": "notes.csv", "splits": {"validation": 0}}}
    """
    if (
        case.spec.training.evaluation.allow_worse
        and case.plan.decisions.splits.validation_rows.value == 0
    ):
        yield problem(
            "/training/evaluation/allow_worse",
            fix=({"op": "remove", "path": "/training/evaluation/allow_worse"},),
        )
