"""Finds how large the inputs of each matrix get on training rows, and rounds inputs in a model.

Types that round activations with a fixed scale (FP8, NVFP4) use these maxima.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from compressed_tensors.quantization import fake_quantize
from compressed_tensors.quantization.utils import (
    calculate_qparams,
    compute_dynamic_scales_and_zp,
    generate_gparam,
)

from .compressing import Extent, Extents, find_scheme, list_matrices

Row = Mapping[str, Any]


def find_extents(
    model: Any, rows: Sequence[Row], compute: Callable[[Row], Any]
) -> dict[str, Extent]:
    """Return the extents of each matrix; `compute(row)` runs the model on a row."""
    modules = list_matrices(model)
    most = dict.fromkeys(modules, 0.0)

    def listen(name: str, inputs: Any) -> None:
        most[name] = float(np.maximum(most[name], inputs.abs().max().item()))  # also NaN

    with _hook(modules, listen):
        for row in rows:
            compute(row)
    return {
        name: Extent(weight=module.weight.detach().abs().max().item(), input=most[name])
        for name, module in modules.items()
    }


def rounds_inputs(kind: str) -> bool:
    """Return whether a type rounds the inputs of matrices, and not their weights alone."""
    return find_scheme(kind).input_activations is not None


@contextmanager
def rounded_inputs(model: Any, kind: str, extents: Extents) -> Iterator[None]:
    """Round the inputs of each matrix as an engine does; the weights stay as they are."""
    args = find_scheme(kind).input_activations
    with _hook(
        list_matrices(model),
        lambda name, inputs: round_inputs(inputs, args, extents[name].input),
    ):
        yield


def round_inputs(inputs: Any, args: Any, most: float) -> Any:
    """Round inputs as an engine does that was calibrated to a maximum of `most`."""
    seen = torch.tensor(most, device=inputs.device)
    if args.dynamic is False:
        scale, zero = calculate_qparams(-seen, seen, args)
        return fake_quantize(inputs, scale, zero.to(scale.dtype), args)
    whole = generate_gparam(-seen, seen).reshape(1) if args.dynamic == "local" else None
    scale, zero = compute_dynamic_scales_and_zp(inputs, args, torch.nn.Module(), whole)
    rounded = fake_quantize(inputs, scale, zero.to(scale.dtype), args, global_scale=whole)
    return rounded.to(inputs.dtype)


@contextmanager
def _hook(modules: Mapping[str, Any], function: Callable[[str, Any], Any]) -> Iterator[None]:
    """Call a function with a module's name and inputs before one of them runs.

    What it returns replaces the inputs, unless it is None.
    """
    hooks = [
        module.register_forward_pre_hook(lambda _, inputs, name=name: function(name, inputs[0]))
        for name, module in modules.items()
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
