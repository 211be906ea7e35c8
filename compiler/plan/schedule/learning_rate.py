"""The learning rate with its curve and optimizer, and the settings of the training loop."""

import math
from dataclasses import dataclass, replace
from typing import cast

from ftc.compiler.plan.decision import Because, Decision, decide, derived, keep
from ftc.compiler.plan.job import Optimizer as JobOptimizer
from ftc.compiler.plan.objective.comparison import COMPARING, comparing_rate, scale_rate
from ftc.compiler.plan.objective.sampling import rewarded, sampling_rate
from ftc.compiler.plan.schedule.steps import FROM_SCRATCH_PARAMETERS
from ftc.compiler.resolve.facts import KnownFacts, ModelFacts
from ftc.spec.sections import Method, Optimizer, Schedule, Spec

_LARGE_PARAMETERS = 20_000_000_000
_LION_SHARE = 0.2  # arXiv 2302.06675, section 5: 3 to 10 times smaller than AdamW's
_SGD_TIMES = 100
_IMAGE_WORKERS = 4  # of each process with a GPU


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The decided optimizer and schedule; a setting that this run does not use is None.

    `floor` is a share of the peak rate; `decay_steps` counts optimizer steps at the end.
    """

    optimizer: Decision[Optimizer]
    embedding_rate: Decision[float] | None
    schedule: Decision[Schedule]
    floor: Decision[float] | None
    decay_steps: Decision[int] | None
    cycles: Decision[int] | None
    power: Decision[float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Whether the model is compiled, and how many processes prepare batches for each trainer.

    `loader_prefetch` counts the batches that each of them keeps ready; None leaves PyTorch's two.
    """

    compile: Decision[bool]
    loader_workers: Decision[int]
    loader_prefetch: Decision[int] | None


def decide_learning_rate(spec: Spec, model: ModelFacts) -> Decision[float]:
    """Decide the peak rate: LoRA 2e-4 (large models 1e-4), full 2e-5 x (6.7e9 / parameters)^0.4.

    The rate of a full fine-tune is at most 1e-4.

    Sources: LoRA's rates are those of QLoRA's table 9 (arXiv 2305.14314: 2e-4 to 13B, 1e-4 above).
    2e-5 at 7B is the rate of Alpaca's and Vicuna's recipes, and the exponent is that of
    `scale_rate`. The rate does not depend on the batch: the derived batch is between 4 and 128
    rows, as in these recipes. Rules for AdamW (a square root at most) come from pretraining with
    much larger batches. Adafactor, without its own schedule as the Trainer sets it, takes AdamW's.
    """

    def derive() -> tuple[float, Because]:
        rate, because = for_adamw()
        optimizer = spec.training.optimizer
        if "lion" in optimizer:
            values = {"share": _LION_SHARE, "adamw": rate}
            return _one_digit(_LION_SHARE * rate), Because(key="learning_rate.lion", values=values)
        if optimizer == "sgd":
            values = {"times": _SGD_TIMES, "adamw": rate}
            return _one_digit(_SGD_TIMES * rate), Because(key="learning_rate.sgd", values=values)
        return rate, because

    def for_adamw() -> tuple[float, Because]:
        if spec.objective.type in COMPARING:
            return comparing_rate(spec, model)
        if rewarded(spec.objective):
            return sampling_rate(spec.method, model)
        values = {"parameters": model.parameters}
        if model.parameters < FROM_SCRATCH_PARAMETERS:
            return 1e-3, Because(key="learning_rate.scratch", values=values)
        if spec.objective.type == "reward":
            return reward_rate(spec.method, model)
        if spec.method.type not in ("full", "freeze"):
            large = model.parameters > _LARGE_PARAMETERS
            key = "learning_rate.lora_large" if large else "learning_rate.lora"
            rate = 1e-4 if large else 2e-4
            if spec.objective.type == "cpt":
                return rate / 2, Because(key="learning_rate.text_adapter", values=values)
            return rate, Because(key=key, values=values)
        # Continued pretraining as well: at such rates a model hardly forgets (arXiv 2403.08763).
        rate = scale_rate(2e-5, model.parameters, most=1e-4)
        return rate, Because(key="learning_rate.full", values=values)

    return decide(spec, "/training/learning_rate", spec.training.learning_rate, derive)


def reward_rate(method: Method, model: ModelFacts) -> tuple[float, Because]:
    """Return the peak learning rate of AdamW under a reward model.

    Llama 2's reward models took 1e-5, and 5e-6 at 70B (arXiv 2307.09288, section 3.2.2), where
    `scale_rate` gives 4e-6. An adapter takes ten times as much, as in TRL's example
    (`examples/scripts/reward_modeling.py`). The most is what supervised fine-tuning takes.
    """
    values = {"parameters": model.parameters}
    if method.type in ("full", "freeze"):
        rate = scale_rate(1e-5, model.parameters, most=1e-4)
        return rate, Because(key="learning_rate.reward_full", values=values)
    rate = scale_rate(1e-4, model.parameters, most=2e-4)
    return rate, Because(key="learning_rate.reward_adapter", values=values)


def _one_digit(value: float) -> float:
    digits = -math.floor(math.log10(value))
    return round(value, digits)


def decide_curve(spec: Spec, total_steps: int) -> Curve:
    """Decide the optimizer and the schedule, with the settings that they use."""
    training, schedule = spec.training, spec.training.schedule
    decay = None
    if schedule == "warmup_stable_decay":
        steps = max(1, math.ceil(total_steps * training.decay))
        key = "decay_steps.least" if total_steps * training.decay < 1 else "decay_steps"
        decay = derived(steps, key, share=training.decay, steps=total_steps)
    restarts, bends = schedule == "cosine_with_restarts", schedule == "polynomial"
    apart = training.embedding_learning_rate
    return Curve(
        optimizer=keep(spec, "/training/optimizer", training.optimizer),
        embedding_rate=keep(spec, "/training/embedding_learning_rate", apart)
        if apart is not None
        else None,
        schedule=keep(spec, "/training/schedule", schedule),
        floor=keep(spec, "/training/learning_rate_floor", training.learning_rate_floor)
        if training.learning_rate_floor
        else None,
        decay_steps=decay,
        cycles=keep(spec, "/training/cycles", training.cycles) if restarts else None,
        power=keep(spec, "/training/power", training.power) if bends else None,
    )


def job_word(optimizer: Optimizer) -> JobOptimizer:
    """Return the memory model's word for an optimizer of the language."""
    return cast("JobOptimizer", optimizer.replace("_", "-"))


def decide_loop(spec: Spec, facts: KnownFacts) -> Loop:
    """Decide the settings of the loop. By default nothing is compiled and there are no workers.

    Rows are tokens that are memory-mapped. Stacking 8 of them takes 1 ms, and 16,000 packed tokens
    11 ms, while a device computes; with a worker each takes 1.5 times as long
    (`benchmarks/README.md`). Images are opened and resized in the workers,
    which takes longer.
    """
    training = spec.training
    workers, why = 0, "none"
    if facts.data.pictures is not None:
        workers, why = (_IMAGE_WORKERS if facts.hardware.kind == "gpu" else 1), "images"
    return Loop(
        compile=_decide_compile(spec),
        loader_workers=decide(
            spec,
            "/training/loader_workers",
            training.loader_workers,
            lambda: (workers, Because(key=f"loader_workers.{why}")),
        ),
        loader_prefetch=keep(spec, "/training/loader_prefetch", training.loader_prefetch)
        if training.loader_prefetch is not None
        else None,
    )


def _decide_compile(spec: Spec) -> Decision[bool]:
    """Decide whether `torch.compile` is used. What that takes before the first step has no formula.

    It depends on the model's code, on the lengths of passes and on the cache of the machine.
    """
    asked = spec.training.compile
    decision = decide(spec, "/training/compile", asked, lambda: (False, Because(key="compile.off")))
    return replace(decision, because=Because(key="compile.on")) if asked is True else decision
