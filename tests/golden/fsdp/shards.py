"""What processes that divide the weights must do together: see that they do, and gather them."""

import os

from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.tensor import DTensor
from transformers.trainer_callback import TrainerCallback

import guard


class Divided(TrainerCallback):
    """Stops before the first step if a process holds a weight whole, as copies of a model would.

    A launcher that does not take up the planned sharing starts copies and says nothing.
    """

    def on_train_begin(self, args, state, control, model, **kwargs):
        named = model.named_parameters()
        whole = [name for name, weight in named if not isinstance(weight, DTensor)]
        guard.ensure(not whole, f"the processes divide every weight, and {whole[:1]} is whole")

    def on_evaluate(self, args, state, control, **kwargs):
        if control.should_save:  # every process asks for this folder before any has made it
            os.makedirs(f"{args.output_dir}/checkpoint-{state.global_step}", exist_ok=True)


def save(trainer, folder):
    """Gather what was trained, and write it whole: the adapter, without the base."""
    options = StateDictOptions(full_state_dict=True, cpu_offload=True, ignore_frozen_params=True)
    weights = get_model_state_dict(trainer.model, options=options)
    if guard.RANK == 0:
        trainer.model.save_pretrained(folder, state_dict=weights)
        trainer.processing_class.save_pretrained(folder)
