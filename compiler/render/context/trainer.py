"""The Trainer's names of an optimizer and a schedule, and their options."""

from collections.abc import Mapping
from typing import Any, Final

from ftc.compiler.plan.memory.states import RULES
from ftc.compiler.plan.plan import Decisions
from ftc.compiler.plan.schedule.learning_rate import job_word

#: transformers' `SchedulerType`, if its name differs.
_NAMES: Final = {"constant": "constant_with_warmup"}


def trainer_settings(decided: Decisions) -> Mapping[str, Any]:
    """Return the values of `optim`, of the schedule's arguments, and of checkpointing's."""
    schedule = decided.training.schedule.value
    name: str = _NAMES.get(schedule, schedule)
    if schedule == "cosine" and decided.training.learning_rate_floor is not None:
        name = "cosine_with_min_lr"
    return {
        "optimizer": RULES[job_word(decided.training.optimizer.value)].name,
        "schedule": name,
        "schedule_options": _options(decided),
        "gradient_checkpointing": bool(decided.batch.gradient_checkpointing.value),
        "checkpointing_options": checkpointing_options(decided),
    }


def checkpointing_options(decided: Decisions) -> dict[str, bool | int]:
    """Return `activation_checkpointing_kwargs`: of transformers 5.23, and TRL 1.16's `selective`.

    Empty where all layers are recomputed, or none.
    """
    value = decided.batch.gradient_checkpointing.value
    if isinstance(value, bool):
        return {}
    return {value: True} if isinstance(value, str) else {"every_n_layers": value}


def schedule_reasons(decided: Decisions) -> tuple[Any, ...]:
    """Return the decisions that the options come from."""
    knobs = (
        decided.training.decay_steps,
        decided.training.learning_rate_floor,
        decided.training.cycles,
        decided.training.power,
    )
    return tuple(knob for knob in knobs if knob is not None)


def _options(decided: Decisions) -> dict[str, float]:
    """Return the options that `get_scheduler` passes on (transformers 5.23 `optimization.py`)."""
    floor = (
        decided.training.learning_rate_floor.value if decided.training.learning_rate_floor else 0.0
    )
    if decided.training.power is not None:
        return {
            "power": decided.training.power.value,
            "lr_end": floor * decided.training.learning_rate.value,
        }
    if decided.training.decay_steps is not None:
        return {"num_decay_steps": decided.training.decay_steps.value, "min_lr_ratio": floor}
    if decided.training.cycles is not None:
        return {"num_cycles": decided.training.cycles.value}
    return {"min_lr_rate": floor} if floor else {}
