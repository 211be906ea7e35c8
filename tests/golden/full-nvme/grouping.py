"""The rows of a step in the order of their length: those of a pass are alike, with less padding.

Which rows a step has is drawn as ever, and its gradient is the sum over all of them. The longest
row comes first of all: memory that does not suffice for it runs out at once.
"""

import torch
from pyarrow import compute
from torch.utils.data import Sampler
from transformers.trainer_pt_utils import get_length_grouped_indices

STEPS = 1  # sorted by itself


class Grouped(Sampler):
    """Orders the rows of an epoch; the order follows from the seed and the epoch alone."""

    def __init__(self, trainer):
        args, rows = trainer.args, trainer.train_dataset
        self.step = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        self.lengths = compute.list_value_length(rows.data["input_ids"]).to_pylist()
        self.seed, self.epoch = args.seed, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return len(self.lengths)

    def __iter__(self):
        drawn = torch.Generator().manual_seed(self.seed + self.epoch)
        return iter(get_length_grouped_indices(self.lengths, self.step, STEPS, drawn))
