"""Finds how large the inputs of each matrix get on training rows, and what rounding them costs.

Types that round activations with a fixed scale (FP8, NVFP4) take it from here.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from compressed_tensors.quantization import fake_quantize
from compressed_tensors.quantization.utils import (
    calculate_qparams,
    compute_dynamic_scales_and_zp,
    generate_gparam,
)

from .compressing import Extent, find_scheme, list_matrices

Row = Mapping[str, Any]
Listener = Callable[[str, Any], None]


def measure(
    model: Any, rows: Sequence[Row], compute: Callable[[Row], Any], kinds: Sequence[str]
) -> tuple[dict[str, Extent], dict[str, float]]:
    """Return the extents of each matrix, and the relative error of rounded inputs by type.

    `compute(row)` runs the model on a row. The rows are read twice where a type rounds inputs: the
    scales must be known before their cost is.
    """
    modules = list_matrices(model)
    most = dict.fromkeys(modules, 0.0)

    def find_most(name: str, inputs: Any) -> None:
        most[name] = max(most[name], inputs.abs().max().item())

    with _listen(modules, find_most):
        for row in rows:
            compute(row)
    extents = {
        name: Extent(weight=module.weight.detach().abs().max().item(), input=most[name])
        for name, module in modules.items()
    }
    args = {kind: found for kind in kinds if (found := find_scheme(kind).input_activations)}
    errors = {kind: [0.0] * len(modules) for kind in args}
    sizes = [0.0] * len(modules)
    places = {name: place for place, name in enumerate(modules)}

    def find_errors(name: str, inputs: Any) -> None:
        place, inputs = places[name], inputs.float()
        sizes[place] += inputs.square().sum().item()
        for kind, how in args.items():
            lost = round_inputs(inputs, how, most[name]) - inputs
            errors[kind][place] += lost.square().sum().item()

    if args:
        with _listen(modules, find_errors):
            for row in rows:
                compute(row)
    return extents, {kind: _find_mean(lost, sizes) for kind, lost in errors.items()}


def round_inputs(inputs: Any, args: Any, most: float) -> Any:
    """Return inputs as an engine rounds them that has seen none above `most`."""
    seen = torch.tensor(most, device=inputs.device)
    if args.dynamic is False:
        scale, zero = calculate_qparams(-seen, seen, args)
        return fake_quantize(inputs, scale, zero.to(scale.dtype), args)
    whole = generate_gparam(-seen, seen).reshape(1) if args.dynamic == "local" else None
    scale, zero = compute_dynamic_scales_and_zp(inputs, args, torch.nn.Module(), whole)
    return fake_quantize(inputs, scale, zero.to(scale.dtype), args, global_scale=whole)


@contextmanager
def _listen(modules: Mapping[str, Any], listener: Listener) -> Iterator[None]:
    """Call `listener` with a module's name and its inputs whenever one of them is run."""
    hooks = [
        module.register_forward_pre_hook(
            lambda _, inputs, name=name: listener(name, inputs[0].detach())
        )
        for name, module in modules.items()
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _find_mean(lost: Sequence[float], sizes: Sequence[float]) -> float:
    """Return the root of the mean relative error over the matrices."""
    shares = [error / size for error, size in zip(lost, sizes, strict=True) if size]
    return math.sqrt(sum(shares) / max(1, len(shares)))
