"""Separate learning rates for some weights: LoRA+ and the rate of embeddings.

The weights go into parameter groups with one rate each. The schedule scales all groups alike.
"""

from collections import defaultdict
from typing import Any

from .output_head import find_head

#: LoRA+ (Hayou et al. 2024) uses a higher rate for the factor that starts at zero, and for DoRA's
#: magnitudes.
LORAPLUS_WEIGHTS = ("lora_B", "lora_magnitude_vector")


def find_rates(
    model: Any, *, loraplus_rate: float | None = None, embedding_rate: float | None = None
) -> dict[int, float]:
    """Return the peak rate of each weight that has a separate one, by `id(weight)`.

    The embedding rate also covers the trained copies of the embeddings and the rows of new tokens.
    """
    found = {}
    if loraplus_rate is not None:
        for name, weight in model.named_parameters():
            if any(part in name for part in LORAPLUS_WEIGHTS):
                found[id(weight)] = loraplus_rate
    if embedding_rate is not None:
        for table in (model.get_input_embeddings(), find_head(model)):
            if table is not None:
                found |= dict.fromkeys(map(id, table.parameters()), embedding_rate)
    return found


def set_rates(
    trainer: Any, *, loraplus_rate: float | None = None, embedding_rate: float | None = None
) -> None:
    """Make the trainer's optimizer use one parameter group per rate.

    The public method `create_optimizer` is wrapped, because the Trainer can call it more than once,
    and because DeepSpeed calls it before everything else.
    """
    create, default_rate = trainer.create_optimizer, trainer.args.learning_rate

    def create_optimizer(model: Any = None) -> Any:
        optimizer = create(model)
        rates = find_rates(
            trainer.model if model is None else model,
            loraplus_rate=loraplus_rate,
            embedding_rate=embedding_rate,
        )
        groups = []
        for group in optimizer.param_groups:
            by_rate = defaultdict(list)
            for weight in group["params"]:
                by_rate[rates.get(id(weight), default_rate)].append(weight)
            groups += [{**group, "lr": rate, "params": by_rate[rate]} for rate in sorted(by_rate)]
        optimizer.param_groups[:] = groups
        return optimizer

    trainer.create_optimizer = create_optimizer
