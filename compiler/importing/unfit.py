"""Finds settings of an imported config that the model's class does not support."""

from collections.abc import Iterator, Mapping
from typing import Any

from ftc.compiler.knowledge.architectures.architecture import keeps_packed_rows_apart
from ftc.compiler.knowledge.training.liger import has_liger_kernels
from ftc.compiler.knowledge.well_known.models import find_model


def find_unfit(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the settings that the class does not support, if they only affect speed."""
    model = find_model(str(fields.get("/model/id", "")))
    if model is None:
        return
    liger, packing = "/training/liger", "/data/packing"
    if fields.get(liger) is True and not has_liger_kernels(str(model.config.get("model_type"))):
        yield liger, "kernels"
    wrapper = None if model.wrapper is None else model.wrapper.architecture
    leaks = keeps_packed_rows_apart(model.shape.architecture, wrapper) is False
    if fields.get(packing) == "best-fit" and leaks:
        yield packing, "leaks"
