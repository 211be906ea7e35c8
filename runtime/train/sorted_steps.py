"""Orders rows so that those of about the same length are in the same step."""

from collections.abc import Iterator, Sequence
from typing import Any

from pyarrow import compute

from ..upstream.trainer_parts import set_sampler
from .steps import StepSampler, count_step_rows

SORTED_STEPS = 50  # that are sorted together, at most a quarter of an epoch


class SortedSampler(StepSampler):
    """Orders the rows of an epoch by length within each step, so that passes need little padding.

    `lengths` are in tokens. The longest row comes first of all, so that an out-of-memory error
    occurs in the first step. With `groups`, many steps are sorted together, so that all rows of a
    step are about as long.
    """

    def __init__(
        self, lengths: list[int], *, step_rows: int, seed: int, groups: bool = False
    ) -> None:
        super().__init__(len(lengths), step_rows=step_rows, seed=seed)
        self.lengths, self.groups = lengths, groups

    def __iter__(self) -> Iterator[int]:
        steps = min(SORTED_STEPS, max(1, self.rows // (4 * self.step_rows)))
        order, lengths = self.sort(self.draw(), self.lengths, steps), self.lengths
        longest = order.index(max(order, key=lengths.__getitem__))
        order[0], order[longest] = order[longest], order[0]
        return iter(order)

    def sort(self, order: list[int], lengths: Sequence[int], steps: int) -> list[int]:
        """Return rows sorted by length within each step, or within every `groups` steps."""
        size = self.step_rows * (steps if self.groups else 1)
        blocks = (order[begin : begin + size] for begin in range(0, len(order), size))
        return [row for block in blocks for row in sorted(block, key=lambda row: -lengths[row])]


def sort_rows(trainer: Any, *, groups: bool = False) -> None:
    """Make the Trainer take its rows in this order."""
    args, rows = trainer.args, trainer.train_dataset
    lengths = compute.list_value_length(rows.data["input_ids"]).to_pylist()
    sampler = SortedSampler(lengths, step_rows=count_step_rows(args), seed=args.seed, groups=groups)
    set_sampler(trainer, sampler)
