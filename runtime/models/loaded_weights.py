"""Stops training if weights of the base model are missing: transformers would randomize them."""

import os
from collections.abc import Mapping
from typing import Any


def require_weights(model: Any, loaded: Mapping[str, Any], *, head: bool = True) -> None:
    """Raise SystemExit if `from_pretrained` did not find a matrix of the model.

    `loaded` is what it returns with `output_loading_info`. It initializes missing tensors and goes
    on: norms and biases get the ones and zeros of a new model, but a matrix is random. Without
    `head` only the embedding and the layers are checked, since the head is a new one. Only the
    first process of each machine checks, as the others may read no weights.
    """
    if os.environ.get("LOCAL_RANK", "0") != "0":
        return
    missing = set(loaded["missing_keys"])
    inside = "" if head else f"{model.base_model_prefix}."
    random = [
        name
        for name, weight in model.named_parameters()
        if name in missing
        and name.startswith(inside)
        and len(getattr(weight, "ds_shape", weight.shape)) > 1  # the whole shape, under ZeRO-3
    ]
    if random:
        held = min(loaded["unexpected_keys"], default="")
        raise SystemExit(
            f"The weights of the model have no `{random[0]}`, and {len(random)} such tensors in"
            " all: transformers gave them random values."
            + (f" They have names such as `{held}`." if held else "")
            + f" Name a model that was saved as a `{type(model).__name__}`."
        )
