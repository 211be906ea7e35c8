"""The folders for vLLM before they are written: whether a model has them, and their sizes."""

from collections.abc import Iterator
from typing import Final, Literal

from ftc.compiler.knowledge.architectures.architecture import Shape
from ftc.compiler.knowledge.exports.served_types import SERVED, Served
from ftc.compiler.plan.decision import Because
from ftc.spec.sections import ServedType

#: The judged tokens of training rows from which the scales of activations are taken. A scale is a
#: maximum, which changes little with more of them.
CALIBRATION_TOKENS: Final = 4_096
Obstacle = Literal["unknown", "experts", "recurrent", "no_linear"]
_CONV1D: Final = frozenset({"GPT2LMHeadModel"})  # its matrices are transposed and not `Linear`
# safetensors: a tensor's entry in the header is its name, type, sides and place.
_ENTRY_BYTES: Final = 130
_VECTORS: Final = 2  # norms of a layer


def find_obstacle(shape: Shape | None) -> Obstacle | None:
    """Return why the layers of a model cannot be quantized for vLLM, or None if they can."""
    if shape is None or not shape.linear_shapes:
        return "unknown"
    if shape.experts:
        return "experts"
    if shape.recurrent_layers():
        return "recurrent"
    return "no_linear" if shape.architecture in _CONV1D else None


def predict_served_bytes(shape: Shape, kind: ServedType) -> int:
    """Return the size of the weights in a folder of this type.

    The matrices of the layers are quantized. All else keeps 16 bits. A model whose matrices are not
    known is counted as if all of it were matrices.
    """
    served = SERVED[kind]
    if not shape.linear_shapes:
        return shape.parameters * served.weight_bits // 8
    kept = 2 * (shape.parameters - shape.linear_parameters)
    packed = shape.linear_parameters * served.weight_bits // 8
    matrices = sum(linear.count for linear in shape.linear_shapes.values())
    entries = matrices * served.tensors + _VECTORS * shape.layers + 3
    scales = sum(_list_scale_bytes(shape, served))
    return kept + packed + scales + matrices * served.matrix_bytes + _ENTRY_BYTES * entries


def _list_scale_bytes(shape: Shape, served: Served) -> Iterator[int]:
    """Yield the bytes of the scales of each kind of matrix, without those of inputs."""
    for linear in shape.linear_shapes.values():
        in_rows = 1 if served.group is None else linear.in_features // max(1, served.group)
        rows = 1 if served.group == 0 else linear.out_features * in_rows
        yield linear.count * rows * served.scale_bytes


def calibration_reason() -> Because:
    """Return the reason for the number of tokens that are read."""
    return Because(key="served.calibration", values={})
