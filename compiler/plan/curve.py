"""The optimiser and the curve of the learning rate: what is named in a spec, and what follows."""

import math
from dataclasses import dataclass
from typing import cast

from ftc.compiler.plan.decision import Decision
from ftc.compiler.plan.job import Optimizer as JobOptimizer
from ftc.compiler.plan.source import derived, keep
from ftc.spec.sections import Optimizer, Schedule, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The decided optimiser, schedule and noise; a knob that this run does not read is None.

    `floor` is a share of the peak rate; `decay_steps` counts optimiser steps at the end.
    """

    optimizer: Decision[Optimizer]
    embedding_rate: Decision[float] | None
    schedule: Decision[Schedule]
    floor: Decision[float] | None
    decay_steps: Decision[int] | None
    cycles: Decision[int] | None
    power: Decision[float] | None
    neftune: Decision[float] | None
    label_smoothing: Decision[float] | None


def decide_curve(spec: Spec, total_steps: int) -> Curve:
    """Return what the spec says of the optimiser and the rate, with the knobs that are read."""
    training, schedule = spec.training, spec.training.schedule
    decay = None
    if schedule == "warmup_stable_decay":
        steps = max(1, math.ceil(total_steps * training.decay))
        decay = derived(steps, "decay_steps", share=training.decay, steps=total_steps)
    restarts, bends = schedule == "cosine_with_restarts", schedule == "polynomial"
    apart = training.embedding_learning_rate
    noise, smoothing = training.neftune, training.label_smoothing
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
        neftune=keep(spec, "/training/neftune", noise) if noise is not None else None,
        label_smoothing=keep(spec, "/training/label_smoothing", smoothing) if smoothing else None,
    )


def job_word(optimizer: Optimizer) -> JobOptimizer:
    """Return the memory model's word for an optimiser of the language."""
    return cast("JobOptimizer", optimizer.replace("_", "-"))
