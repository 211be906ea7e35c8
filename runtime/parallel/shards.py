"""Checks that weights are sharded (ZeRO-3, FSDP), and gathers them to save them."""

from pathlib import Path
from typing import Any

from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.tensor import DTensor
from transformers.trainer_callback import TrainerCallback

from ..run import Run


class ShardCheck(TrainerCallback):
    """Ends the stage before the first step if a process holds a whole weight.

    A launcher that ignores the planned sharding starts copies of the model without a message.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Check every weight."""
        whole = [
            name
            for name, weight in kwargs["model"].named_parameters()
            if not isinstance(weight, DTensor) and not hasattr(weight, "ds_tensor")
        ]
        self.run.ensure(not whole, f"the processes divide every weight, but {whole[:1]} is whole")

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Create the folder of a checkpoint: FSDP's processes need it before one creates it."""
        if control.should_save:
            folder = Path(args.output_dir, f"checkpoint-{state.global_step}")
            folder.mkdir(parents=True, exist_ok=True)


def gather_weights(weights: list[Any]) -> Any:
    """Return a context in which every process has these weights, which ZeRO-3 shards."""
    import deepspeed

    return deepspeed.zero.GatheredParameters(weights)


def save_whole(trainer: Any, folder: str, *, is_adapter: bool = False) -> None:
    """Gather FSDP's weights in the memory of the first process and write them.

    For an adapter, only the trained weights are gathered.
    """
    options = StateDictOptions(
        full_state_dict=True, cpu_offload=True, ignore_frozen_params=is_adapter
    )
    weights = get_model_state_dict(trainer.model, options=options)
    if trainer.args.process_index == 0:
        trainer.model.save_pretrained(folder, state_dict=weights)
        trainer.processing_class.save_pretrained(folder)
