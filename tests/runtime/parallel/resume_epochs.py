"""The rows of a run on two processes that is resumed in the middle of its second epoch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import torch
import transformers
from trl.trainer.utils import RepeatSampler

from ftc.runtime.parallel.distributed import DistributedSession
from ftc.runtime.run import Run
from ftc.runtime.train.steps import order_rows
from ftc.runtime.upstream.trainer_parts import note_passes, set_sampler

ROWS: Final = 16
EPOCHS: Final = 3  # of four steps
STOP: Final = 6


class Number(torch.nn.Module):
    """A weight that is pulled towards the rows."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return a loss."""
        return {"loss": (self.weight - x / ROWS).square().mean()}


def repeat_rows(trainer: Any) -> None:
    """Take the order of TRL's trainers that sample answers."""
    set_sampler(trainer, RepeatSampler(range(ROWS), 1, batch_size=4, seed=trainer.args.seed))


def list_rows(order: Callable[[Any], None], step: int | None = None) -> list[list[int]]:
    """Train from a step on, and return the rows of each step of this process."""
    run = Run(Path(order.__name__).resolve(), stage="train")
    session = DistributedSession(run, ladder=[[2, 1]], row=None, planned_bytes=1, keep=9)
    checkpoints = f"{order.__name__}/run/train/checkpoints"
    checkpoint = None if step is None else f"{checkpoints}/checkpoint-{step}"
    trainer = transformers.Trainer(
        model=Number(),
        args=transformers.TrainingArguments(
            output_dir=checkpoints,
            num_train_epochs=EPOCHS,
            per_device_train_batch_size=2,
            save_steps=STOP,
            use_cpu=True,
            disable_tqdm=True,
            report_to="none",
        ),
        train_dataset=[{"x": float(row)} for row in range(ROWS)],
        callbacks=[session],
    )
    order(trainer)
    found: list[list[int]] = []
    note_passes(trainer, lambda inputs, _: found.append(inputs["x"].int().tolist()))
    with session.resume(trainer):
        trainer.train(resume_from_checkpoint=checkpoint)
    return found


def find() -> dict[str, list[list[list[int]]]]:
    """Return by sampler the rows of a whole run, and those of a run that is resumed."""
    orders = (order_rows, repeat_rows)
    return {order.__name__: [list_rows(order), list_rows(order, STOP)] for order in orders}
