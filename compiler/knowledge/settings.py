"""Settings: the constants of train.py, each with its decision and the Trainer's argument for it.

One row defines a constant with its reason, and the argument that receives it. `make sections`
writes templates/parts/settings.j2 from the rows. A row with a `field` defines the decision too:
the value of that field of the spec.
"""

from dataclasses import dataclass
from typing import Final

from ftc.spec.schema import find_field


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One row.

    `name` is the decision's name, for `value` and `why` in templates. `argument` is a keyword of
    TrainingArguments, or None if only the script reads the constant. Its value is the constant, or
    the expression `given`; `note` is a comment. `when` is the Jinja condition under which the
    script has both.

    `field` is a JSON pointer into the spec. There is no decision if the field is not read
    (`x-when`). An `unwritten` row makes none for the field's default, which is the Trainer's
    default too.
    """

    name: str
    constant: str
    argument: str | None = None
    given: str | None = None
    note: str | None = None
    when: str | None = None
    field: str | None = None
    unwritten: bool = False

    @property
    def condition(self) -> str | None:
        """Return the condition of the row; a field that may have no decision has its own."""
        if self.when is not None or self.field is None:
            return self.when
        may_lack = self.unwritten or "x-when" in find_field(self.field).schema
        return f"value.{self.name} is defined" if may_lack else None


#: In the order of the constants.
SETTINGS: Final[tuple[Setting, ...]] = (
    Setting(
        name="eval_batch",
        constant="EVAL_BATCH",
        argument="per_device_eval_batch_size",
        given="max(1, EVAL_BATCH >> session.row)",
        when="uses.validation",
    ),
    Setting(
        name="gradient_checkpointing",
        constant="GRADIENT_CHECKPOINTING",
        argument="activation_checkpointing",
    ),
    Setting(name="total_steps", constant="MAX_STEPS", argument="max_steps", when="uses.max_steps"),
    Setting(
        name="epochs",
        constant="EPOCHS",
        argument="num_train_epochs",
        when="not uses.max_steps",
    ),
    Setting(name="learning_rate", constant="LEARNING_RATE", argument="learning_rate"),
    Setting(name="loraplus_ratio", constant="LORAPLUS_RATIO", when="uses.loraplus"),
    Setting(
        name="embedding_learning_rate",
        constant="EMBEDDING_LEARNING_RATE",
        when="uses.embedding_rate",
    ),
    Setting(name="optimizer", constant="OPTIMIZER", argument="optim", when="uses.other_optimizer"),
    Setting(name="schedule", constant="SCHEDULE", argument="lr_scheduler_type"),
    Setting(
        name="schedule_options",
        constant="SCHEDULE_OPTIONS",
        argument="lr_scheduler_kwargs",
        when="uses.schedule_options",
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
        when="uses.loader_workers",
    ),
    Setting(
        name="loader_prefetch",
        constant="LOADER_PREFETCH",
        argument="dataloader_prefetch_factor",
        when="uses.loader_workers and uses.loader_prefetch",
    ),
    Setting(name="compile", constant="COMPILE", argument="torch_compile", when="uses.compiled"),
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
        when="uses.validation",
    ),
    Setting(
        name="answered_rows",
        constant="ANSWERED_ROWS",
        when="uses.validation and uses.best_by_metric",
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
    Setting(name="patience", constant="PATIENCE", when="uses.early_stopping"),
    Setting(name="seed", constant="SEED", argument="seed", field="/training/seed"),
)
