"""Stops where the weights of a base model were not found, which would otherwise be random."""

import os
from collections.abc import Mapping
from typing import Any


def require_weights(model: Any, loaded: Mapping[str, Any], *, head: bool = True) -> None:
    """Check what `from_pretrained` says of a model with `output_loading_info`.

    It fills each tensor that it does not find with new values and goes on. Norms and biases begin
    as ones and zeros, as they do in a new model; a matrix is random. Without `head` only the layers
    and the embedding are checked, since the head is a new one. Of several processes only the first
    of each machine is known to read the weights. Raises SystemExit with the names.
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
