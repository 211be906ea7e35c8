"""Poolings: those that llama.cpp has, and those at which training does not begin."""

from typing import Any

import pytest


@pytest.mark.prove
@pytest.mark.parametrize(
    ("pooling", "converts"), [("mean", True), ("lasttoken", True), ("max", False)]
)
def test_a_pooling_without_a_gguf_ends_the_stage(pooling: str, converts: bool) -> None:
    """The message names the pooling and the field that replaces it."""
    modules: Any = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    from ftc.runtime.models.vectors import require_converted  # noqa: PLC0415 - it takes seconds

    model = [modules.Pooling(8, pooling)]
    if converts:
        require_converted(model)
        return
    with pytest.raises(SystemExit, match=r"by max, .* objective\.pooling"):
        require_converted(model)
