"""The validation loss as a mean over learned tokens, or over rows, on any number of processes.

The Trainer's own loss is a mean over batches, and several processes count some rows twice. The
best checkpoint, early stopping and the curves use this loss.
"""

from itertools import pairwise
from typing import Any

import torch
from torch.utils.data import DataLoader

NOT_LEARNED = -100  # the label of a token without a loss


def average_loss(trainer: Any, *, by_token: bool) -> None:
    """Make the validation loss a mean over learned tokens, or over rows, without repetitions."""
    predict, evaluate = trainer.prediction_step, trainer.evaluation_loop
    args, rows = trainer.args, len(trainer.eval_dataset)
    processes = args.world_size
    batches = split(rows, args.eval_batch_size, processes)
    seen: list[
        torch.Tensor
    ] = []  # of each batch of this process: the sum of its losses, and of what
    if processes > 1:
        load_batches(trainer, batches)

    def prediction_step(model: Any, inputs: Any, *given: Any, **kwargs: Any) -> Any:
        number = len(seen) * processes + args.process_index
        if by_token and isinstance(inputs, list):  # of rows: every token of an answer has a loss
            count = torch.tensor(sum(len(r["input_ids"]) - len(r["prompt_ids"]) for r in inputs))
        elif by_token:
            count = (inputs["labels"][:, 1:] != NOT_LEARNED).sum()
        else:
            count = torch.tensor(len(batches[number]))
        if processes > 1 and number >= rows:  # a repetition
            count = torch.zeros_like(count)
        loss, *others = predict(model, inputs, *given, **kwargs)
        count = count.to(loss.device, torch.float64)
        seen.append(torch.stack([torch.where(count > 0, loss * count, 0.0), count]))
        return loss, *others

    def evaluation_loop(*given: Any, metric_key_prefix: str = "eval", **kwargs: Any) -> Any:
        seen.clear()
        balance = getattr(trainer, "aux_loss_enabled", False)
        if by_token and balance:  # experts: their balance is a loss of whole batches
            trainer.aux_loss_enabled = False
        found = evaluate(*given, metric_key_prefix=metric_key_prefix, **kwargs)
        if by_token and balance:
            trainer.aux_loss_enabled = True
        total = torch.stack(seen).sum(0)
        loss, count = (trainer.accelerator.reduce(total) if processes > 1 else total).tolist()
        found.metrics[f"{metric_key_prefix}_loss"] = loss / max(1.0, count)
        return found

    trainer.prediction_step, trainer.evaluation_loop = prediction_step, evaluation_loop


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
