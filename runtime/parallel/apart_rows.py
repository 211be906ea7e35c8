"""Which rows form a step of several processes where the loss tells all its rows apart.

The loss compares the rows of all processes. sentence-transformers draws the batches of each process
alone, so that a right text of one process can be a wrong one of another.
"""

from collections.abc import Iterator
from typing import Any

import torch
from sentence_transformers.base.sampler import DefaultBatchSampler, NoDuplicatesBatchSampler


class StepBatches(DefaultBatchSampler):
    """Draws steps in which no text is twice, and yields the batch of each process in turn."""

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
    """Return the batches of an evaluation: no text is twice in those of all processes.

    All processes get as many rows, as the loss needs, so that a few rows may be left out. Where all
    rows have a text in common, each process gets the first one.
    """
    count = -(-len(rows) // (most * processes))
    size = -(-len(rows) // (count * processes)) * processes
    steps = NoDuplicatesBatchSampler(
        rows, batch_size=size, drop_last=False, generator=torch.Generator()
    )
    batches = [batch for step in steps for batch in divide(step, processes) if batch]
    return batches or [[0]] * processes


def divide(step: list[int], processes: int) -> list[list[int]]:
    """Return the rows of each process: as many as of any other."""
    size = len(step) // processes
    return [step[number * size : (number + 1) * size] for number in range(processes)]
