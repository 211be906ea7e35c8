"""That processes divide the weights as planned: no process holds all of them."""

from transformers.trainer_callback import TrainerCallback

import guard


class Divided(TrainerCallback):
    """Stops before the first step if a process holds a weight whole, as copies of a model would.

    A launcher that does not take up the planned sharing starts copies and says nothing.
    """

    def on_train_begin(self, args, state, control, model, **kwargs):
        named = model.named_parameters()
        whole = [name for name, weight in named if not hasattr(weight, "ds_tensor")]
        guard.ensure(not whole, f"the processes divide every weight, and {whole[:1]} is whole")
