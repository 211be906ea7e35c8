"""The best checkpoint: which one is kept, and what training improved.

Every choice depends only on the Trainer's state, which checkpoints contain, so a run that is killed
and resumed keeps the same checkpoint. After training, the kept weights are evaluated once more: the
number must be the one that they were chosen for.
"""

from collections.abc import Mapping
from typing import Any

from transformers.trainer_callback import TrainerCallback

from ..upstream.trainer_parts import forget_loaders
from .training import TrainingSession

#: A number known to 8, 11 or 24 significant bits: bfloat16, float16 and float32.
ROUNDOFF = {"bf16": 2**-8, "fp16": 2**-11, "fp32": 2**-24}
REORDERED = 2**8  # round-offs of a sum of 2**16 float32 terms that is added in another order


class BestCheckpoint(TrainerCallback):
    """Makes the Trainer save a checkpoint at every evaluation that is the best so far.

    The Trainer can load the best checkpoint at the end only if it was saved. `stopping` is an
    early_stopping.EarlyStopping, or None.
    """

    def __init__(self, session: TrainingSession, *, stopping: Any = None) -> None:
        self.session, self.run, self.stopping = session, session.run, stopping
        self.is_over = False  # whether training has ended; the kept weights are evaluated then

    # -------------------------------------------------------------------------
    # Choose

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Forget the best checkpoint if it is missing; take no step after an early stop."""
        if state.best_global_step and state.best_model_checkpoint is None:
            self.run.say(f"the best checkpoint, checkpoint-{state.best_global_step}, is missing")
            state.best_metric = state.best_global_step = None  # choose from the next evaluations
        if self.stopping is not None and self.stopping.find_stop(args, state):
            control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Note that training is over."""
        self.is_over = True

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Save a checkpoint if this evaluation is the best so far, or stop early."""
        state.log_history[-1]["eval_batch_rows"] = args.per_device_eval_batch_size
        if self.is_over:
            return
        value = kwargs["metrics"][name_metric(args)]
        if state.global_step and is_better(value, state.best_metric, args):
            control.should_save = True
        elif self.stopping is not None and (stop := self.stopping.find_stop(args, state)):
            control.should_training_stop = True
            self.run.say(stop)
            self.session.log(state, stopped_early=stop)

    # -------------------------------------------------------------------------
    # After training

    def confirm(self, trainer: Any) -> dict[str, Any]:
        """Evaluate the kept weights again; return the numbers of curve.json.

        Ends the stage if the kept weights are not those of the best evaluation.
        """
        args, state = trainer.args, trainer.state
        name, words = name_metric(args), describe_metric(args)
        found = {log["step"]: log for log in state.log_history if name in log}
        self.run.ensure(state.best_global_step in found, f"an evaluation has a {words}")
        first, chosen = found[0], found[state.best_global_step]
        kept = self._evaluate_again(trainer, chosen["eval_batch_rows"])
        allowed, noise = self.find_errors(trainer, list(found.values()), chosen, kept)
        difference = abs(kept[name] - chosen[name])
        self.run.ensure(
            difference <= allowed,
            f"the kept weights are those of step {chosen['step']:,}: its {words} was"
            f" {chosen[name]:.6g}, and they have {kept[name]:.6g} (a difference of {allowed:.2g}"
            " is allowed)",
        )
        gained = {
            "best_step": state.best_global_step,
            "metric": name.removeprefix("eval_"),
            "before": first[name],
            "best": chosen[name],
            "shipped": kept[name],
            "noise": noise,
            "higher": args.greater_is_better,
        }
        if self.stopping is not None:
            gained["stopped_early"] = self.stopping.find_stop(args, state)
        return gained

    def find_errors(
        self,
        trainer: Any,
        evaluations: list[dict[str, Any]],
        chosen: Mapping[str, Any],
        kept: Mapping[str, Any],
    ) -> tuple[float, float]:
        """Return the difference allowed for equal weights, and the gain that is only noise.

        The rows are the same, so losses differ by rounding only: kernels, threads and machines can
        add in another order.
        """
        name, roundoff = name_metric(trainer.args), find_roundoff(trainer.args)
        reordered = find_reordered(trainer.args)
        return reordered * max(1.0, abs(chosen[name])), roundoff * abs(evaluations[0][name])

    def _evaluate_again(self, trainer: Any, batch_rows: int) -> dict[str, Any]:
        """Return what an evaluation of the kept weights logs, in batches of `batch_rows`.

        It belongs to no step, so no other callback, log or tracker gets it.
        """
        args, state, handler = trainer.args, trainer.state, trainer.callback_handler
        history, callbacks = list(state.log_history), handler.callbacks
        args.per_device_eval_batch_size, rows = batch_rows, args.per_device_eval_batch_size
        handler.callbacks = [self]
        forget_loaders(trainer)
        trainer.evaluate()
        kept: dict[str, Any] = state.log_history[-1]
        args.per_device_eval_batch_size, handler.callbacks = rows, callbacks
        state.log_history = history
        return kept


def name_metric(args: Any) -> str:
    """Return the name of the number that decides which evaluation is the best."""
    return f"eval_{args.metric_for_best_model.removeprefix('eval_')}"


def describe_metric(args: Any) -> str:
    """Return the name of that number for a sentence."""
    name = name_metric(args).removeprefix("eval_")
    return f"validation {name.replace('_', ' ').replace('/', ' ')}"


def is_better(value: float, best: float | None, args: Any) -> bool:
    """Return whether a number is the best so far, by the Trainer's own comparison."""
    if best is None:
        return True
    return value > best if args.greater_is_better else value < best


def find_roundoff(args: Any) -> float:
    """Return the relative round-off of the numbers that a model computes."""
    return ROUNDOFF["bf16" if args.bf16 else "fp16" if args.fp16 else "fp32"]


def find_reordered(args: Any) -> float:
    """Return the relative difference of sums in another order; 16-bit types add in float32."""
    roundoff = find_roundoff(args)
    return roundoff if args.bf16 or args.fp16 else roundoff * REORDERED
