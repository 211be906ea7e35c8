"""The comparison of what a tower and its GGUF file make of an image."""

import numpy as np
import pytest

from ftc.runtime.compare.image_fidelity import smallest_cosine


@pytest.mark.parametrize(
    ("found", "features", "expected"),
    [
        ([[3.0, 4.0]], [[6.0, 8.0]], 1.0),
        ([[3.0, 4.0], [1.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]], 0.0),
        ([[0.0, 0.0]], [[0.0, 0.0]], 1.0),
        ([[0.0, 0.0]], [[1.0, 0.0]], 0.0),
    ],
)
def test_the_smallest_cosine(
    found: list[list[float]], features: list[list[float]], expected: float
) -> None:
    """It is a number even where a projector writes zeros, as an untrained one does."""
    assert smallest_cosine(np.array(found), np.array(features)) == pytest.approx(expected)
