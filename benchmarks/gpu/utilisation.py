"""The share of a GPU's arithmetic that a training uses: MFU (arXiv 2204.02311, appendix B)."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.gpu.cases import SHAPES

_FROZEN: Final = 4  # operations per weight and token: the forward pass, and gradients of its inputs
_TRAINED: Final = 6  # gradients of the weight besides
_ATTENTION: Final = 3  # forward, and twice that backward
_TERA: Final = 1e12


def count_matrices(shape: str) -> int:
    """Return the weights that a token is multiplied with: the linear modules and the head."""
    sizes: dict[str, int] = dict(SHAPES[shape])
    hidden, wide = sizes["hidden_size"], sizes["intermediate_size"]
    shared = sizes["num_key_value_heads"] / sizes["num_attention_heads"]
    layer = 2 * hidden * hidden * (1 + shared) + 3 * hidden * wide
    return round(sizes["num_hidden_layers"] * layer) + sizes["vocab_size"] * hidden


def token_operations(shape: str, *, adapter: int, full: bool, lengths: Sequence[int]) -> float:
    """Return the operations per token: 4 per frozen and 6 per trained weight, and attention.

    Nothing that is computed twice counts. A token attends to half of its row on average, in scores
    and in values; `lengths` are the tokens of rows, of which the longer have more tokens.
    """
    sizes: dict[str, int] = dict(SHAPES[shape])
    attended = sum(length * length for length in lengths) / sum(lengths)
    attention = 2 * attended * sizes["hidden_size"] * sizes["num_hidden_layers"]
    base = (_TRAINED if full else _FROZEN) * count_matrices(shape)
    return base + _TRAINED * adapter + _ATTENTION * attention


def share_of_peak(tokens_per_second: float, operations: float, peak_tflops: float) -> float:
    """Return MFU: the operations of all tokens of a second, over those that the card can do."""
    return round(tokens_per_second * operations / (peak_tflops * _TERA), 4)


def read_lengths(path: Path) -> list[int]:
    """Return the tokens of each row of a bundle's train.jsonl."""
    with path.open(encoding="utf-8") as file:
        return [len(json.loads(line)["input_ids"]) for line in file]
