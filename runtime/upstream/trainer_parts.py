"""Every private part of transformers' Trainer that is replaced or read, one function for each.

Each function says why. tests/runtime/upstream/test_upstream.py fails if that part has changed. The
file, at the version that was tested:
https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/trainer.py
"""

from collections.abc import Callable
from typing import Any


def begin_epochs(trainer: Any) -> None:
    """Make each epoch take its own order of rows, and no epoch begin when training is over.

    `Trainer._run_epoch` does not reach the sampler of several processes in the epoch in which a run
    is resumed. It looks only after a step whether to stop: a run that is resumed at its last step,
    or after it stopped early, would take one step more.
    """
    run_epoch = trainer._run_epoch  # noqa: SLF001

    def run_unless_over(**kwargs: Any) -> None:
        if not trainer.control.should_training_stop:
            set_epoch(kwargs["train_dataloader"], kwargs["epoch"], trainer.args.seed)
            run_epoch(**kwargs)

    trainer._run_epoch = run_unless_over  # noqa: SLF001


def set_epoch(loader: Any, epoch: int, seed: int) -> None:
    """Set the epoch of a loader and of all samplers in it."""
    part = loader
    while part is not None:
        if hasattr(part, "set_epoch"):
            part.set_epoch(epoch)
        elif (generator := getattr(part, "generator", None)) is not None:
            generator.manual_seed(seed + epoch)  # of TRL's RepeatSampler, which has no epoch
        part = getattr(part, "batch_sampler", getattr(part, "sampler", None))


def set_sampler(trainer: Any, sampler: Any) -> None:
    """Make the Trainer take its rows in the order of a sampler.

    `Trainer._get_train_sampler` is the only place for it: a custom DataLoader is not skipped
    forward when a run is resumed in the middle of an epoch.
    """
    trainer._get_train_sampler = lambda *_: sampler  # noqa: SLF001


def find_sampler(trainer: Any) -> Any:
    """Return the sampler that `set_sampler` has set, or None."""
    replaced = vars(trainer).get("_get_train_sampler")
    return None if replaced is None else replaced()


def forget_loaders(trainer: Any) -> None:
    """Make the Trainer build its evaluation's DataLoader again, for another batch size.

    `Trainer._eval_dataloaders` keeps loaders with persistent workers from evaluation to evaluation.
    """
    getattr(trainer, "_eval_dataloaders", {}).clear()


def note_passes(trainer: Any, note: Callable[[Any, Any], None]) -> None:
    """Call `note(inputs, loss)` after each pass of training.

    Callbacks get neither the batch nor the loss of a pass; `Trainer.training_step` has both.
    """
    train = trainer.training_step

    def training_step(model: Any, inputs: Any, *given: Any, **kwargs: Any) -> Any:
        loss = train(model, inputs, *given, **kwargs)
        note(inputs, loss)
        return loss

    trainer.training_step = training_step
