"""The rules about optimisers, schedules and what is added to the loss (FTC440 to 449, 518)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.spec.pointer import dotted, split


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """The values of a field that make sense, and those that are usual; 0 switches it off."""

    pointer: str
    least: float = 0.0
    most: float
    usual: str


_SCALES: Final = (
    _Scale(pointer="/method/dropout", most=0.5, usual="0 to 0.1"),
    _Scale(pointer="/method/rank", most=512, usual="8 to 256"),
    _Scale(pointer="/training/neftune", most=50, usual="5 to 15"),
    _Scale(pointer="/training/weight_decay", most=0.3, usual="0 to 0.1"),
    _Scale(pointer="/training/max_grad_norm", least=0.001, most=100, usual="0.3 to 1"),
    _Scale(pointer="/training/label_smoothing", most=0.3, usual="0 to 0.1"),
)
_LEAST_BETA2: Final = 0.5


@rule("FTC440", "optimizer-left-behind", "error", reads=("plan",), fix_safety="unsafe")
def optimizer_left_behind(case: Case) -> Iterator[Problem]:
    """What it is: The optimiser's states are offloaded, and the optimiser is not AdamW.

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
    if (
        decided.training.schedule.value == "inverse_sqrt"
        and decided.training.warmup_steps.value == 0
    ):
        yield problem(
            "/training/schedule",
            fix=(put("/training/warmup", 0.05),),
            total=decided.training.total_steps.value,
        )


@rule("FTC444", "guessed-rate-of-sgd", "warning", reads=("plan",))
def guessed_rate_of_sgd(case: Case) -> Iterator[Problem]:
    """What it is: The optimiser is plain SGD, and no learning rate is set.

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
    """What it is: A paged optimiser is set, and the training runs on a CPU.

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


@rule("FTC518", "setting-off-scale", "warning", fix_safety="unsafe")
def setting_off_scale(case: Case) -> Iterator[Problem]:
    """What it is: A setting of the training is far from the values that are in use.

    Why it matters: Most inputs of an adapter are dropped, weights shrink faster than they learn,
    noise covers the texts, or gradients are cut to nothing. The run goes on, and its result is of
    no use. Such a value is usually a slip of the decimal point.

    Example: {"method": {"type": "lora", "dropout": 0.9}}

    Use instead: {"method": {"type": "lora", "dropout": 0.05}}
    """
    for scale in _SCALES:
        value = reduce(getattr, split(scale.pointer), case.spec)
        if not isinstance(value, int | float) or not value:
            continue
        if not scale.least <= value <= scale.most:
            yield _off_scale(scale.pointer, value, scale.usual, is_high=value > scale.most)
    beta2 = case.spec.training.adam_beta2
    if beta2 < _LEAST_BETA2:  # 0 is no switch: it keeps no mean of the squares
        yield _off_scale("/training/adam_beta2", beta2, "0.95 to 0.999", is_high=False)


def _off_scale(pointer: str, value: float, usual: str, *, is_high: bool) -> Problem:
    return problem(
        pointer,
        message="high" if is_high else "low",
        field=dotted(pointer),
        value=value,
        usual=usual,
    )
