"""Chooses the rows of each step on several processes, for losses that compare all rows of a step.

sentence-transformers draws the batches of each process separately, so a right text on one process
could be a wrong text on another.
"""

from collections.abc import Iterator
from typing import Any

import torch
from sentence_transformers.base.sampler import DefaultBatchSampler, NoDuplicatesBatchSampler


class StepBatches(DefaultBatchSampler):
    """Draws steps in which no text occurs twice, and yields the batch of each process in turn."""

    def __init__(self, rows: Any, *, batch_size: int, **more: Any) -> None:
        super().__init__(rows, batch_size=batch_size, **more)
        self.processes = torch.distributed.get_world_size()
        step_rows = batch_size * self.processes
        self.steps = NoDuplicatesBatchSampler(rows, batch_size=step_rows, **more)

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the epoch, from 0."""
        self.steps.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self.steps) * self.processes

    def __iter__(self) -> Iterator[list[int]]:
        for step in self.steps:
            yield from divide(step, self.processes)


def divide_apart(rows: Any, most: int, processes: int) -> list[list[int]]:
    """Return the batches of an evaluation: no text occurs twice in those of all processes.

    All processes get the same number of rows, which the loss needs, so a few may be left out. If
    all rows share a text, each process gets the first row.
    """
    count = -(-len(rows) // (most * processes))
    size = -(-len(rows) // (count * processes)) * processes
    steps = NoDuplicatesBatchSampler(
        rows, batch_size=size, drop_last=False, generator=torch.Generator()
    )
    batches = [batch for step in steps for batch in divide(step, processes) if batch]
    return batches or [[0]] * processes


def divide(step: list[int], processes: int) -> list[list[int]]:
    """Return the rows of each process, the same number for all."""
    size = len(step) // processes
    return [step[number * size : (number + 1) * size] for number in range(processes)]
