"""Which rows form a step, where rows of about the same length are together."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from pyarrow import compute

from ..upstream.trainer_parts import set_sampler
from .steps import StepSampler, count_step_rows

SORTED_STEPS = 50  # that are sorted together, at most a quarter of an epoch


class SortedSampler(StepSampler):
    """Orders the rows of an epoch by length within each step, so that passes need little padding.

    `lengths` are in tokens. The longest row comes first of all, so that memory runs out at once if
    it does. With `groups`, many steps are sorted together, so that all rows of a step are about as
    long.
    """

    def __init__(
        self, lengths: list[int], *, step_rows: int, seed: int, groups: bool = False
    ) -> None:
        super().__init__(len(lengths), step_rows=step_rows, seed=seed)
        self.lengths, self.groups = lengths, groups

    def __iter__(self) -> Iterator[int]:
        order, lengths = self.draw(), self.lengths
        steps = min(SORTED_STEPS, max(1, self.rows // (4 * self.step_rows))) if self.groups else 1
        size = self.step_rows * steps
        blocks = [
            sorted(order[begin : begin + size], key=lengths.__getitem__, reverse=True)
            for begin in range(0, len(order), size)
        ]
        longest = max(blocks, key=lambda block: lengths[block[0]])
        blocks[0][0], longest[0] = longest[0], blocks[0][0]
        return chain.from_iterable(blocks)


def sort_rows(trainer: Any, *, groups: bool = False) -> None:
    """Make the Trainer take its rows in this order."""
    args, rows = trainer.args, trainer.train_dataset
    lengths = compute.list_value_length(rows.data["input_ids"]).to_pylist()
    sampler = SortedSampler(lengths, step_rows=count_step_rows(args), seed=args.seed, groups=groups)
    set_sampler(trainer, sampler)
