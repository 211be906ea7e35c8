"""Which rows form a step: the same ones on any number of processes.

The rows of a step are drawn at random. Every step is complete: if rows are left over at the end of
an epoch, others are repeated.
"""

from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

import torch
from torch.utils.data import Sampler

from ..upstream.trainer_parts import set_sampler


class StepSampler(Sampler[int]):
    """Orders the rows of an epoch; the order depends on the seed and the epoch only.

    `step_rows` is the number of rows of a step.
    """

    def __init__(self, rows: int, *, step_rows: int, seed: int) -> None:
        self.rows, self.step_rows, self.seed, self.epoch = rows, step_rows, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the epoch, from 0."""
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-self.rows // self.step_rows) * self.step_rows

    def __iter__(self) -> Iterator[int]:
        return iter(self.draw())

    def draw(self) -> list[int]:
        """Return the rows of the epoch in a random order."""
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        drawn = torch.randperm(self.rows, generator=generator).tolist()
        return list(islice(cycle(drawn), len(self)))


def count_step_rows(args: Any) -> int:
    """Return the number of rows of a step, of all processes, by the Trainer's arguments."""
    return int(args.train_batch_size * args.gradient_accumulation_steps * args.world_size)


def order_rows(trainer: Any) -> None:
    """Make the Trainer take its rows in this order."""
    args, rows = trainer.args, len(trainer.train_dataset)
    set_sampler(trainer, StepSampler(rows, step_rows=count_step_rows(args), seed=args.seed))
