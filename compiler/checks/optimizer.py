"""The rules about optimisers, schedules and what is added to the loss (FTC440 to FTC449)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule


@rule("FTC440", "optimizer-left-behind", "error", reads=("plan",), fix_safety="unsafe")
def optimizer_left_behind(case: Case) -> Iterator[Problem]:
    """What it is: The optimiser's states are offloaded, and the optimiser is not AdamW.

    Why it matters: Offloaded states are stepped on the CPU, on flat pieces of the weights. AdamW of
    torch does that. The kernels of bitsandbytes are for the GPU, Adafactor needs matrices, and
    plain SGD has no states that could be offloaded.

    Example: {"training": {"optimizer": "lion_8bit"}, "distribution": {"offload": "optimizer"}}

    Use instead: {"distribution": {"offload": "optimizer"}}
    """
    decided = case.plan.decisions
    if decided.offload.value != "none" and decided.optimizer.value != "adamw":
        yield Problem(
            message=f"`{decided.optimizer.value}` is no optimiser for states in the host's memory",
            help="use `adamw`, or set `distribution.offload` to `none`",
            pointer="/training/optimizer",
            fix=(put("/training/optimizer", "adamw"),),
        )


@rule("FTC441", "decay-inside-warmup", "error", reads=("plan",), fix_safety="unsafe")
def decay_inside_warmup(case: Case) -> Iterator[Problem]:
    """What it is: Warm-up and decay together take more than all steps.

    Why it matters: `warmup_stable_decay` rises, stays and falls. With no step left to stay, the
    rate jumps from the middle of the rise into the fall.

    Example: {"training": {"schedule": "warmup_stable_decay", "warmup": 0.3, "decay": 0.8}}

    Use instead: {"training": {"schedule": "warmup_stable_decay", "warmup": 0.03, "decay": 0.2}}
    """
    decided = case.plan.decisions
    warmup, total = decided.warmup_steps.value, decided.total_steps.value
    if decided.decay_steps is not None and warmup + decided.decay_steps.value > total:
        yield Problem(
            message=f"{warmup:,} steps of warm-up and {decided.decay_steps.value:,} of decay are "
            f"more than the run's {total:,}",
            help="lower `training.warmup` or `training.decay`",
            pointer="/training/decay",
        )


@rule("FTC442", "smoothed-labels", "warning", fix_safety="unsafe")
def smoothed_labels(case: Case) -> Iterator[Problem]:
    """What it is: `training.label_smoothing` is above 0.

    Why it matters: TRL's fused loss never holds all logits. Smoothing needs them, so each step pays
    a second forward pass and the memory of all logits. The validation loss is smoothed as well, so
    it cannot be compared with that of other runs.

    Example: {"training": {"label_smoothing": 0.1}}

    Use instead: {"training": {}}
    """
    if case.spec.training.label_smoothing:
        yield Problem(
            message="label smoothing pays a second forward pass at every step, and holds all "
            "logits",
            help="leave it out, or allow FTC442 where labels are noisy",
            pointer="/training/label_smoothing",
            fix=(put("/training/label_smoothing", 0),),
        )


@rule("FTC443", "inverse-sqrt-without-warmup", "warning", reads=("plan",), fix_safety="unsafe")
def inverse_sqrt_without_warmup(case: Case) -> Iterator[Problem]:
    """What it is: The schedule is `inverse_sqrt`, and there is no warm-up.

    Why it matters: The rate falls with the square root of the steps, counted in warm-ups. Without
    one transformers counts in 10,000 steps, and a fine-tune ends before the rate has fallen.

    Example: {"training": {"schedule": "inverse_sqrt", "warmup": 0}}

    Use instead: {"training": {"schedule": "inverse_sqrt", "warmup": 0.05}}
    """
    decided = case.plan.decisions
    if decided.schedule.value == "inverse_sqrt" and decided.warmup_steps.value == 0:
        yield Problem(
            message="without a warm-up `inverse_sqrt` falls over 10,000 steps, and the run has "
            f"{decided.total_steps.value:,}",
            help="set `training.warmup`, or use `cosine`",
            pointer="/training/schedule",
            fix=(put("/training/warmup", 0.05),),
        )


@rule("FTC444", "guessed-rate-of-sgd", "warning", reads=("plan",))
def guessed_rate_of_sgd(case: Case) -> Iterator[Problem]:
    """What it is: The optimiser is plain SGD, and no learning rate is set.

    Why it matters: AdamW's steps are as large as its rate, in any model. Those of SGD are as large
    as the gradients, and no recipe says what fits: the planner takes a hundred times AdamW's rate.

    Example: {"training": {"optimizer": "sgd"}}

    Use instead: {"training": {"optimizer": "sgd", "learning_rate": 0.01}}
    """
    decided = case.plan.decisions
    if decided.optimizer.value == "sgd" and decided.learning_rate.source != "spec":
        yield Problem(
            message=f"the learning rate of plain SGD is a guess ({decided.learning_rate.value:g})",
            help="set `training.learning_rate`, or use `adafactor`, which needs little memory too",
            pointer="/training/optimizer",
        )


@rule("FTC445", "paged-without-a-gpu", "warning", reads=("hardware",))
def paged_without_a_gpu(case: Case) -> Iterator[Problem]:
    """What it is: A paged optimiser is asked of a CPU.

    Why it matters: Paged states leave the GPU's memory when it is full. On a CPU there is nowhere
    to go: they are plain tensors, and nothing is saved.

    Example: {"training": {"optimizer": "paged_adamw_8bit"}, "hardware": "cpu"}

    Use instead: {"training": {"optimizer": "adamw_8bit"}, "hardware": "cpu"}
    """
    optimizer = case.spec.training.optimizer
    if optimizer.startswith("paged_") and case.hardware.kind == "cpu":
        without = optimizer.removeprefix("paged_")
        yield Problem(
            message=f"`{optimizer}` pages nothing on a CPU",
            help=f"use `{without}`, which is the same there",
            pointer="/training/optimizer",
            fix=(put("/training/optimizer", without),),
        )
