"""Computes the validation loss on several processes: a mean over learned tokens, or over rows.

The Trainer's own data loader would count some rows twice.
"""

from collections.abc import Callable, Sized
from itertools import pairwise
from typing import Any

import torch
from torch.utils.data import DataLoader

from ..upstream.validation_loss import average_loss, count_learned


def split(rows: Sized, most: int, processes: int) -> list[list[int]]:
    """Return the rows of each batch; in one step, every process gets the same number of rows.

    Trainers gather a value of each row, and a gather hangs or fails if the sizes differ. The rows
    that are left over form a last step of their own, which repeats the first row if necessary.
    """
    share, left = divmod(len(rows), processes)
    steps = -(-share // most)
    edges = [share * step // steps for step in range(steps + 1)] if steps else [0]
    batches = [
        list(range(number, number + last - first))
        for first, last in pairwise(edges)
        for number in range(first * processes, last * processes, last - first)
    ]
    batches += ([row] for row in range(len(rows) - left, len(rows)))
    return batches + [[0]] * (-len(batches) % processes)


def share_loss(
    trainer: Any,
    *,
    by_token: bool,
    divide: Callable[[Any, int, int], list[list[int]]] = split,
) -> None:
    """Make the validation loss a mean over learned tokens, or over rows, without repetitions.

    `divide` returns the batches of all processes, in turn, by the rows, the most rows of a batch
    and the number of processes.
    """
    args, rows = trainer.args, trainer.eval_dataset
    load, batches, new = trainer.get_eval_dataloader, list[list[int]](), set[int]()

    def get_eval_dataloader(*given: Any) -> Any:
        batches[:] = divide(rows, args.eval_batch_size, args.world_size)
        first = {batch[0]: number for number, batch in reversed([*enumerate(batches)])}
        new.clear()
        new.update(first.values())  # the other batches repeat the first row
        whole = load(*given)
        loader = DataLoader(whole.dataset, batch_sampler=batches, collate_fn=whole.collate_fn)
        return trainer.accelerator.prepare_data_loader(loader)

    def weigh(inputs: Any, seen: int) -> torch.Tensor:
        number = seen * args.world_size + args.process_index
        count = count_learned(inputs) if by_token else torch.tensor(len(batches[number]))
        return count if number in new else torch.zeros_like(count)  # 0 for a repetition

    trainer.get_eval_dataloader = get_eval_dataloader
    average_loss(trainer, weigh=weigh, add=trainer.accelerator.reduce, by_token=by_token)
