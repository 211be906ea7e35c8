"""The rules about optimizers, schedules and terms of the loss (FTC440 to 449, 452, 453)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case

#: What papers and the defaults of trainers use, and as far beyond it as anybody has reason to go.
_IN_USE: Final[Mapping[str, tuple[float, float]]] = {
    "/method/dropout": (0, 0.5),
    "/method/rank": (1, 512),
    "/training/neftune": (0, 50),  # arXiv 2310.05914 has 5 to 15
    "/training/weight_decay": (0, 0.5),
    "/training/adam_beta2": (0.8, 0.99999),
    "/training/max_grad_norm": (0.001, 100),
    "/training/label_smoothing": (0, 0.3),
}
_CYCLE_STEPS: Final = 5  # the fewest whose rates still look like a decay
_ZERO_IS_OFF: Final = ("/training/max_grad_norm",)


@rule("FTC440", "optimizer-left-behind", "error", reads=("plan",), fix_safety="unsafe")
def optimizer_left_behind(case: Case) -> Iterator[Problem]:
    """What it is: The optimizer's states are offloaded, and the optimizer is not AdamW.

    Why it matters: Offloaded states are updated on the CPU, on flat slices of the weights. torch's
    AdamW supports that. The kernels of bitsandbytes need a GPU, Adafactor needs whole matrices, and
    plain SGD has no states to offload.

    Example: {"training": {"optimizer": "lion_8bit"}, "distribution": {"offload": "optimizer"}}

    Use instead: {"distribution": {"offload": "optimizer"}}
    """
    decided = case.plan.decisions
    if decided.distribution.offload.value != "none" and decided.training.optimizer.value != "adamw":
        yield problem(
            "/training/optimizer",
            fix=(put("/training/optimizer", "adamw"),),
            optimizer=decided.training.optimizer.value,
        )


@rule("FTC441", "decay-inside-warmup", "error", reads=("plan",), fix_safety="unsafe")
def decay_inside_warmup(case: Case) -> Iterator[Problem]:
    """What it is: Warm-up and decay together take more steps than the run has.

    Why it matters: `warmup_stable_decay` rises, stays constant and falls. With no constant phase
    left, the rate jumps from the middle of the rise into the decay.

    Example: {"training": {"schedule": "warmup_stable_decay", "warmup": 0.3, "decay": 0.8}}

    Use instead: {"training": {"schedule": "warmup_stable_decay", "warmup": 0.03, "decay": 0.2}}
    """
    decided = case.plan.decisions
    warmup, total = decided.training.warmup_steps.value, decided.training.total_steps.value
    if (
        decided.training.decay_steps is not None
        and warmup + decided.training.decay_steps.value > total
    ):
        yield problem(
            "/training/decay", warmup=warmup, decay=decided.training.decay_steps.value, total=total
        )


@rule("FTC453", "cycles-beyond-steps", "warning", reads=("plan",), fix_safety="unsafe")
def cycles_beyond_steps(case: Case) -> Iterator[Problem]:
    """What it is: `cosine_with_restarts` has so many cycles that each has only a few steps.

    Why it matters: The rate is read from the curve once a step. With few steps in a cycle it jumps
    up and down instead of decaying, and with one step in a cycle it stays at its peak.

    Example: {"training": {"schedule": "cosine_with_restarts", "cycles": 50, "max_steps": 60}}

    Use instead: {"training": {"schedule": "cosine_with_restarts", "cycles": 3, "max_steps": 60}}
    """
    decided = case.plan.decisions.training
    if decided.cycles is None:
        return
    cycles, steps = decided.cycles.value, decided.total_steps.value - decided.warmup_steps.value
    if steps < cycles * _CYCLE_STEPS:
        most = steps // _CYCLE_STEPS
        yield problem(
            "/training/cycles" if decided.cycles.source == "spec" else "/training/schedule",
            fix=(put("/training/cycles", most),) if most > 1 else (),
            cycles=cycles,
            steps=steps,
            least=_CYCLE_STEPS,
        )


@rule("FTC442", "smoothed-labels", "warning", fix_safety="unsafe")
def smoothed_labels(case: Case) -> Iterator[Problem]:
    """What it is: `training.label_smoothing` is above 0.

    Why it matters: TRL's fused loss never keeps all logits in memory. Smoothing needs them, so each
    step costs a second forward pass and the memory of all logits. The validation loss is smoothed
    as well and cannot be compared with that of other runs.

    Example: {"training": {"label_smoothing": 0.1}}

    Use instead: {"training": {}}
    """
    if case.spec.training.label_smoothing:
        yield problem("/training/label_smoothing", fix=(put("/training/label_smoothing", 0),))


@rule("FTC443", "inverse-sqrt-without-warmup", "warning", reads=("plan",), fix_safety="unsafe")
def inverse_sqrt_without_warmup(case: Case) -> Iterator[Problem]:
    """What it is: The schedule is `inverse_sqrt`, and there is no warm-up.

    Why it matters: The rate falls with the square root of the steps, in units of the warm-up.
    Without a warm-up transformers assumes 10,000 steps, and a fine-tune ends before the rate has
    fallen.

    Example: {"training": {"schedule": "inverse_sqrt", "warmup": 0}}

    Use instead: {"training": {"schedule": "inverse_sqrt", "warmup": 0.05}}
    """
    decided = case.plan.decisions
    if decided.training.schedule.value == "inverse_sqrt" and case.spec.training.warmup == 0:
        yield problem(
            "/training/schedule",
            fix=(put("/training/warmup", 0.05),),
            total=decided.training.total_steps.value,
        )


@rule("FTC444", "guessed-rate-of-sgd", "warning", reads=("plan",))
def guessed_rate_of_sgd(case: Case) -> Iterator[Problem]:
    """What it is: The optimizer is plain SGD, and no learning rate is set.

    Why it matters: The size of AdamW's steps is given by its rate, for any model. The size of SGD's
    steps depends on the gradients, and there is no usual rate: the planner takes a hundred times
    AdamW's rate.

    Example: {"training": {"optimizer": "sgd"}}

    Use instead: {"training": {"optimizer": "sgd", "learning_rate": 0.01}}
    """
    decided = case.plan.decisions
    if (
        decided.training.optimizer.value == "sgd"
        and decided.training.learning_rate.source != "spec"
    ):
        yield problem("/training/optimizer", rate=decided.training.learning_rate.value)


@rule("FTC445", "paged-without-a-gpu", "warning", reads=("hardware",))
def paged_without_a_gpu(case: Case) -> Iterator[Problem]:
    """What it is: A paged optimizer is set, and the training runs on a CPU.

    Why it matters: Paged states move out of the GPU's memory when it is full. On a CPU they are
    plain tensors, and nothing is saved.

    Example: {"training": {"optimizer": "paged_adamw_8bit"}, "hardware": "cpu"}

    Use instead: {"training": {"optimizer": "adamw_8bit"}, "hardware": "cpu"}
    """
    optimizer = case.spec.training.optimizer
    if optimizer.startswith("paged_") and case.hardware.kind == "cpu":
        without = optimizer.removeprefix("paged_")
        yield problem(
            "/training/optimizer",
            fix=(put("/training/optimizer", without),),
            optimizer=optimizer,
            without=without,
        )


@rule("FTC452", "setting-off-scale", "warning", fix_safety="unsafe")
def setting_off_scale(case: Case) -> Iterator[Problem]:
    """What it is: A number of the training is far from all values that are in use.

    Why it matters: Such a value leaves little of the training: with a dropout of 0.9 a tenth of the
    adapter's inputs is left, with noise of 100 the embeddings mean nothing, and with gradients that
    are cut to 1e-7 the weights hardly move. Mostly it is a slip of the decimal point.

    Example: {"method": {"type": "lora", "dropout": 0.9}}

    Use instead: {"method": {"type": "lora", "dropout": 0.05}}
    """
    for pointer, (least, most) in _IN_USE.items():
        value = reduce(getattr, pointer[1:].split("/"), case.spec)
        if pointer not in case.spec.said or not isinstance(value, int | float):
            continue
        off = pointer in _ZERO_IS_OFF and value == 0
        if not (off or least <= value <= most):
            yield problem(
                pointer,
                fix=({"op": "remove", "path": pointer},),
                name=pointer[1:].replace("/", "."),
                value=float(value),
                least=float(least),
                most=float(most),
            )
