"""Computes the validation loss on several processes: a mean over learned tokens, or over rows.

The Trainer's own data loader would count some rows twice.
"""

from itertools import pairwise
from typing import Any

import torch
from torch.utils.data import DataLoader

from ..upstream.validation_loss import average_loss, count_learned


def share_loss(trainer: Any, *, by_token: bool) -> None:
    """Make the validation loss a mean over learned tokens, or over rows, without repetitions."""
    args, rows = trainer.args, len(trainer.eval_dataset)
    processes = args.world_size
    batches = split(rows, args.eval_batch_size, processes)
    load_batches(trainer, batches)

    def weigh(inputs: Any, seen: int) -> torch.Tensor:
        number = seen * processes + args.process_index
        count = count_learned(inputs) if by_token else torch.tensor(len(batches[number]))
        return count if number < rows else torch.zeros_like(count)  # 0 for a repetition

    average_loss(trainer, weigh=weigh, add=trainer.accelerator.reduce, by_token=by_token)


def load_batches(trainer: Any, batches: list[list[int]]) -> None:
    """Make the Trainer evaluate these batches of rows."""
    load = trainer.get_eval_dataloader

    def get_eval_dataloader(*given: Any) -> Any:
        whole = load(*given)
        loader = DataLoader(whole.dataset, batch_sampler=batches, collate_fn=whole.collate_fn)
        return trainer.accelerator.prepare_data_loader(loader)

    trainer.get_eval_dataloader = get_eval_dataloader


def split(rows: int, most: int, processes: int) -> list[list[int]]:
    """Return the rows of each batch: of about equal size, and as many batches for each process.

    If there are too few rows for that, the last batches repeat the first row.
    """
    count = -(-rows // (most * processes)) * processes
    full = min(rows, count)
    edges = (rows * number // full for number in range(full + 1))
    return [list(range(*pair)) for pair in pairwise(edges)] + [[0]] * (count - full)
