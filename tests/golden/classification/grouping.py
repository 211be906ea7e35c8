"""Rows of a step that are about as long: less padding, and the same steps on any number of GPUs.

The Trainer's own sampler sorts by what one process sees in a step, so that with more processes the
same seed would give other steps; and it draws from what dropout draws from as well.
"""

import torch
from transformers.trainer_pt_utils import LengthGroupedSampler


class Grouped(LengthGroupedSampler):
    """Orders rows by length within fifty steps; the order follows from the seed and the epoch."""

    def __init__(self, trainer):
        args, rows = trainer.args, trainer.train_dataset
        batch = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        super().__init__(batch, dataset=rows, model_input_name="input_ids")
        self.seed, self.epoch = args.seed, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        self.generator = torch.Generator().manual_seed(self.seed + self.epoch)
        return super().__iter__()
