"""The classes with a router loss against the sources of the pinned libraries."""

import inspect

import pytest

from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.knowledge.training.peft_targets import is_redirected
from ftc.compiler.knowledge.training.router_losses import (
    has_router_loss,
    has_unread_loss,
    stops_at_router_loss,
)
from tests.compiler.knowledge.derived_rows import CASES


@pytest.mark.prove
def test_the_classes_return_the_loss() -> None:
    """A class is listed if, and only if, it returns the loss and TRL finds its experts' number."""
    transformers = pytest.importorskip("transformers")
    seen = set()
    for name, rows in CASES.items():
        if not hasattr(transformers, name):
            continue  # of a repository's own code, and loaded as another class
        config = rows[0]["config"]
        shape = read_shape(config)
        assert shape is not None
        source = inspect.getsource(getattr(transformers, name).forward)
        default = transformers.CONFIG_MAPPING[config["model_type"]]()
        computes = "aux_loss=" in source and "router_logits" in source
        has_key = hasattr(default, "num_experts")
        assert has_unread_loss(name) == (computes and not has_key), name
        computes = computes and has_key
        assert has_router_loss(name) == computes, name
        if getattr(default, "router_aux_loss_coef", None) and not computes:
            assert stops_at_router_loss(name, experts=False), name
        seen.add(computes)
    assert seen == {True, False}


@pytest.mark.prove
def test_the_types_whose_targets_peft_rewrites() -> None:
    """A type is listed if, and only if, PEFT's conversion has a base for it."""
    conversion = pytest.importorskip("peft.utils.transformers_weight_conversion")
    mapping = pytest.importorskip("transformers.conversion_mapping")
    for name, rows in CASES.items():
        kind = rows[0]["config"]["model_type"]
        base = conversion._MODEL_TO_CONVERSION_PATTERN.get(kind)
        known = mapping.get_checkpoint_conversion_mapping(kind) is not None
        expected = base in conversion._MOE_TARGET_MODULE_MAPPING and known
        assert is_redirected(kind) == expected, name
