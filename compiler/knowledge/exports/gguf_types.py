"""The file types of the pinned llama.cpp, and the tensor types that they consist of."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast

from ftc.compiler.knowledge.tables import read_table
from ftc.spec.sections import GgufType

__all__ = [
    "FileType",
    "block_weights",
    "file_type",
    "header_bytes_per_token",
    "tensor_bytes",
    "wants_matrix",
]

Matrix = Literal["needed", "wanted", "spared"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileType:
    """A type of `export.types`: a mixture that gives most weights the type `tensor`.

    `bits_per_weight` is the average over a file of Llama 3.1 8B. `matrix` says whether an
    importance matrix is required, clearly reduces the loss, or makes hardly any difference.
    """

    tensor: str
    bits_per_weight: float
    matrix: Matrix


def file_type(kind: GgufType) -> FileType:
    """Return a type by its name in the spec."""
    return _file_types()[kind]


def wants_matrix(kind: GgufType) -> bool:
    """Return whether this type is written with an importance matrix."""
    return file_type(kind).matrix != "spared"


def block_weights(tensor_type: str) -> int:
    """Return the number of weights in a block; a row's width must be a multiple of it."""
    return int(_table()["tensors"][tensor_type]["block"])


def tensor_bytes(tensor_type: str, weights: int) -> int:
    """Return the bytes of a tensor whose rows consist of whole blocks."""
    layout = _table()["tensors"][tensor_type]
    return weights // int(layout["block"]) * int(layout["bytes"])


def header_bytes_per_token(family: str) -> float:
    """Return the bytes per token in a file's header; for an unknown family, the maximum of all.

    They hold the token's text, score and type, and its merges if the family has them.
    """
    sizes = _table()["vocabularies"]
    return float(sizes.get(family, max(sizes.values())))


@cache
def _file_types() -> Mapping[GgufType, FileType]:
    return {
        cast("GgufType", kind): FileType(
            tensor=row["tensor"], bits_per_weight=row["bits"], matrix=row["matrix"]
        )
        for kind, row in _table()["types"].items()
    }


@cache
def _table() -> dict[str, Any]:
    return cast("dict[str, Any]", read_table(__name__, "gguf_types.json"))
