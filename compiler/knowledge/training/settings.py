"""The constants of train.py, each with its decision and its argument of the Trainer.

One row defines a constant with its reason, and the argument that receives it. `make sections`
writes templates/parts/settings.j2 from the rows. A row with a `field` defines the decision too:
the value of that field of the spec.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One row.

    `name` is the decision's name, for `value` and `why` in templates. `argument` is a keyword of
    TrainingArguments, or None if only the script reads the constant. Its value is the constant, or
    the expression `given`; `note` is a comment. A bundle without the value has neither the
    constant nor the argument.

    `field` is a JSON pointer into the spec. There is no decision if the field is not read
    (`x-when`). An `unwritten` row makes no decision for the field's default, which is also the
    Trainer's default.
    """

    name: str
    constant: str
    argument: str | None = None
    given: str | None = None
    note: str | None = None
    field: str | None = None
    unwritten: bool = False


#: In the order of the constants.
SETTINGS: Final[tuple[Setting, ...]] = (
    Setting(
        name="eval_batch",
        constant="EVAL_BATCH",
        argument="per_device_eval_batch_size",
        given="max(1, EVAL_BATCH >> session.row)",
    ),
    Setting(
        name="gradient_checkpointing",
        constant="GRADIENT_CHECKPOINTING",
        argument="activation_checkpointing",
    ),
    Setting(
        name="checkpointing_options",
        constant="CHECKPOINTING_OPTIONS",
        argument="activation_checkpointing_kwargs",
    ),
    Setting(name="total_steps", constant="MAX_STEPS", argument="max_steps"),
    Setting(
        name="epochs",
        constant="EPOCHS",
        argument="num_train_epochs",
    ),
    Setting(name="learning_rate", constant="LEARNING_RATE", argument="learning_rate"),
    Setting(name="loraplus_ratio", constant="LORAPLUS_RATIO"),
    Setting(
        name="embedding_learning_rate",
        constant="EMBEDDING_LEARNING_RATE",
    ),
    Setting(name="optimizer", constant="OPTIMIZER", argument="optim"),
    Setting(name="schedule", constant="SCHEDULE", argument="lr_scheduler_type"),
    Setting(
        name="schedule_options",
        constant="SCHEDULE_OPTIONS",
        argument="lr_scheduler_kwargs",
    ),
    Setting(name="warmup_steps", constant="WARMUP_STEPS", argument="warmup_steps"),
    Setting(
        name="weight_decay",
        constant="WEIGHT_DECAY",
        argument="weight_decay",
        field="/training/weight_decay",
    ),
    Setting(
        name="adam_beta2",
        constant="ADAM_BETA2",
        argument="adam_beta2",
        field="/training/adam_beta2",
        unwritten=True,
    ),
    Setting(
        name="max_grad_norm",
        constant="MAX_GRAD_NORM",
        argument="max_grad_norm",
        field="/training/max_grad_norm",
    ),
    Setting(
        name="loader_workers",
        constant="LOADER_WORKERS",
        argument="dataloader_num_workers",
    ),
    Setting(
        name="loader_prefetch",
        constant="LOADER_PREFETCH",
        argument="dataloader_prefetch_factor",
    ),
    Setting(name="compile", constant="COMPILE", argument="torch_compile"),
    Setting(
        name="neftune",
        constant="NEFTUNE_ALPHA",
        argument="neftune_noise_alpha",
        field="/training/neftune",
        unwritten=True,
    ),
    Setting(
        name="router_loss",
        constant="ROUTER_LOSS",
        argument="router_aux_loss_coef",
        field="/training/router_loss",
        unwritten=True,
    ),
    Setting(
        name="label_smoothing",
        constant="LABEL_SMOOTHING",
        argument="label_smoothing_factor",
        note="from all logits, by a second forward pass",
        field="/training/label_smoothing",
        unwritten=True,
    ),
    Setting(
        name="eval_steps",
        constant="EVAL_STEPS",
        argument="eval_steps",
    ),
    Setting(
        name="answered_rows",
        constant="ANSWERED_ROWS",
    ),
    Setting(
        name="samples",
        constant="SAMPLES",
        field="/training/evaluation/samples",
        unwritten=True,
    ),
    Setting(name="save_steps", constant="SAVE_STEPS", argument="save_steps"),
    Setting(
        name="keep_checkpoints",
        constant="KEEP_CHECKPOINTS",
        field="/training/keep_checkpoints",
    ),
    Setting(name="patience", constant="PATIENCE"),
    Setting(name="seed", constant="SEED", argument="seed", field="/training/seed"),
)
