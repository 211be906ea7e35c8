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
    """Return the rows of each batch: of about equal size, and as many batches for each process.

    If there are too few rows for that, the last batches repeat the first row.
    """
    count = -(-len(rows) // (most * processes)) * processes
    full = min(len(rows), count)
    edges = (len(rows) * number // full for number in range(full + 1))
    return [list(range(*pair)) for pair in pairwise(edges)] + [[0]] * (count - full)


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
    load, batches = trainer.get_eval_dataloader, list[list[int]]()

    def get_eval_dataloader(*given: Any) -> Any:
        batches[:] = divide(rows, args.eval_batch_size, args.world_size)
        whole = load(*given)
        loader = DataLoader(whole.dataset, batch_sampler=batches, collate_fn=whole.collate_fn)
        return trainer.accelerator.prepare_data_loader(loader)

    def weigh(inputs: Any, seen: int) -> torch.Tensor:
        number = seen * args.world_size + args.process_index
        count = count_learned(inputs) if by_token else torch.tensor(len(batches[number]))
        return count if number < len(rows) else torch.zeros_like(count)  # 0 for a repetition

    trainer.get_eval_dataloader = get_eval_dataloader
    average_loss(trainer, weigh=weigh, add=trainer.accelerator.reduce, by_token=by_token)
