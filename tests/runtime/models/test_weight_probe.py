"""A saved weight is found under its own name, or under the one that a wrapper was loaded from."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")
from ftc.runtime.models.weight_probe import WeightProbe  # noqa: E402 - it needs torch


def test_names_that_begin_otherwise(tmp_path: Path) -> None:
    """The language model's matrix is compared, and not the tower's of the same end and shape."""
    model = torch.nn.Module()
    model.model = torch.nn.Module()
    model.model.tower = torch.nn.ModuleDict({"layers": torch.nn.Linear(3, 3)})
    model.model.language_model = torch.nn.ModuleDict({"layers": torch.nn.Linear(3, 3)})
    model.model.tower.requires_grad_(requires_grad=False)
    probe = WeightProbe(model)
    tower, text = model.model.tower["layers"].weight, model.model.language_model["layers"].weight
    saved = {"tower.layers.weight": tower.detach(), "language_model.model.layers.weight": text + 1}
    for name, change, fault in (
        ("changed", saved, None),
        ("same", {**saved, "language_model.model.layers.weight": text.detach()}, "did not change"),
        ("tower", {**saved, "tower.layers.weight": tower + 1}, "which is frozen"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        safetensors.save_file(
            {key: weight.detach().clone() for key, weight in change.items()},
            folder / "model.safetensors",
        )
        found = probe.find_fault(folder)
        assert (found is None) == (fault is None), found
        assert fault is None or fault in str(found)
