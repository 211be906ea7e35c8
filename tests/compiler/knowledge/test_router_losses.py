"""The classes with a router loss against the sources of the pinned transformers."""

import inspect

import pytest

from ftc.compiler.knowledge.architecture import read_shape
from ftc.compiler.knowledge.router_losses import has_router_loss
from tests.compiler.knowledge.test_derived import CASES


@pytest.mark.prove
def test_the_classes_return_the_loss() -> None:
    """A class of the derived table is listed if, and only if, its forward pass returns the loss."""
    transformers = pytest.importorskip("transformers")
    seen = set()
    for name, rows in CASES.items():
        shape = read_shape(rows[0]["config"])
        assert shape is not None
        source = inspect.getsource(getattr(transformers, name).forward)
        computes = "aux_loss=" in source and "router_logits" in source
        assert has_router_loss(name) == computes, name
        seen.add(computes)
    assert seen == {True, False}
