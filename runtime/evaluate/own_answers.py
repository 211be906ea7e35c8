"""Lists the answers of two models to prompts that have no answer in the data."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..metric.metrics import Measured


def list_each(found: Measured) -> list[float]:
    """Return the number of each row by itself."""
    rows = len(found.parts)
    return [float(found.measure(np.bincount([row], minlength=rows))) for row in range(rows)]


def list_own(
    rows: Sequence[Mapping[str, Any]],
    tokenizer: Any,
    name: str,
    trained: tuple[Sequence[str], Sequence[float]],
    base: tuple[Sequence[str], Sequence[float]],
) -> Iterator[dict[str, Any]]:
    """Yield each prompt with both models' answers, and the number of each, called `name`.

    `trained` and `base` have the texts and the numbers.
    """
    for row, said, number, base_said, base_number in zip(rows, *trained, *base, strict=True):
        yield {
            "prompt": tokenizer.decode(row["prompt_ids"]),
            "said": said,
            name: number,
            "base_said": base_said,
            f"base_{name}": base_number,
        }
