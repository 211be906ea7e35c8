"""Which rows form a step: the same ones on any number of processes.

The rows of a step are drawn at random. Every step is complete: if rows are left over at the end of
an epoch, others are repeated.
"""

from collections.abc import Iterator
from itertools import chain, cycle, islice
from typing import Any

import torch
from pyarrow import compute
from torch.utils.data import Sampler

from .trainer_parts import set_sampler

SORTED_STEPS = 50  # that are sorted together, at most a quarter of an epoch


class StepSampler(Sampler[int]):
    """Orders the rows of an epoch; the order depends on the seed and the epoch only.

    `step_rows` is the number of rows of a step. With `lengths`, in tokens, the rows of a step are
    sorted by length, so that those of a pass are alike and need little padding; the longest row
    comes first of all, so that memory runs out at once if it does. With `groups`, many steps are
    sorted together, so that all rows of a step are about as long.
    """

    def __init__(
        self,
        rows: int,
        *,
        step_rows: int,
        seed: int,
        lengths: list[int] | None = None,
        groups: bool = False,
    ) -> None:
        self.rows, self.step_rows, self.seed, self.epoch = rows, step_rows, seed, 0
        self.lengths, self.groups = lengths, groups

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the epoch, from 0."""
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-self.rows // self.step_rows) * self.step_rows

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        drawn = torch.randperm(self.rows, generator=generator).tolist()
        order = list(islice(cycle(drawn), len(self)))
        return iter(order if self.lengths is None else self._sort(order, self.lengths))

    def _sort(self, order: list[int], lengths: list[int]) -> Iterator[int]:
        steps = min(SORTED_STEPS, max(1, self.rows // (4 * self.step_rows))) if self.groups else 1
        size = self.step_rows * steps
        blocks = [
            sorted(order[begin : begin + size], key=lengths.__getitem__, reverse=True)
            for begin in range(0, len(order), size)
        ]
        longest = max(blocks, key=lambda block: lengths[block[0]])
        blocks[0][0], longest[0] = longest[0], blocks[0][0]
        return chain.from_iterable(blocks)


def order_rows(trainer: Any, *, by_length: bool = False, groups: bool = False) -> None:
    """Make the Trainer take its rows in this order."""
    args, rows = trainer.args, trainer.train_dataset
    lengths = compute.list_value_length(rows.data["input_ids"]).to_pylist() if by_length else None
    sampler = StepSampler(
        len(rows),
        step_rows=args.train_batch_size * args.gradient_accumulation_steps * args.world_size,
        seed=args.seed,
        lengths=lengths,
        groups=groups,
    )
    set_sampler(trainer, sampler)
