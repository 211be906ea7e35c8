"""What is wrong with a saved adapter: empty, unchanged, not finite, or without its head."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from ftc.runtime.models.adapters import find_fault

NAME = "base.model.language_model.layers.0.q_proj"
TRAINED = {f"{NAME}.lora_A.weight": torch.ones(2, 4), f"{NAME}.lora_B.weight": torch.ones(4, 2)}


def fault(folder: Path, tensors: dict[str, torch.Tensor], **options: Any) -> str | None:
    """Save an adapter, and return what is wrong with it."""
    save_file(tensors, folder / "adapter_model.safetensors")
    return find_fault(folder, **options)


def test_a_trained_adapter_has_no_fault(tmp_path: Path) -> None:
    """With its head, where one is needed, and in each part that was to be trained."""
    assert fault(tmp_path, TRAINED) is None
    head = {"base.model.score.weight": torch.ones(1, 4)}
    assert fault(tmp_path, TRAINED | head, needs_head=True) is None
    assert fault(tmp_path, TRAINED, parts=("language_model.",)) is None


@pytest.mark.parametrize(
    ("update", "options", "said"),
    [
        (torch.zeros(4, 2), {}, "training did not change the adapter"),
        (torch.full((4, 2), torch.nan), {}, "not a finite number"),
        (torch.ones(0, 2), {}, "the saved adapter is empty"),
        (torch.ones(4, 2), {"needs_head": True}, "has no head"),
        (torch.ones(4, 2), {"parts": ("visual.",)}, "did not change the adapter of visual"),
    ],
)
def test_a_faulty_adapter_is_named(
    tmp_path: Path, update: torch.Tensor, options: dict[str, Any], said: str
) -> None:
    """Each fault has its own clause."""
    tensors = TRAINED | {f"{NAME}.lora_B.weight": update}

    found = fault(tmp_path, tensors, **options)

    assert found is not None
    assert said in found


def test_an_adapter_without_matrices_is_empty(tmp_path: Path) -> None:
    """As PEFT saves one whose targets matched nothing."""
    assert fault(tmp_path, {"other": torch.ones(1)}) == "the saved adapter is empty"


def test_what_was_split_off_is_no_training(tmp_path: Path) -> None:
    """The trained matrix and its start stand side by side, and their difference counts."""
    start = torch.ones(4, 1)
    tensors = TRAINED | {f"{NAME}.lora_B.weight": torch.cat([start, -start], dim=1)}

    assert fault(tmp_path, tensors, start_rank=1) == "training did not change the adapter"
    tensors[f"{NAME}.lora_B.weight"] = torch.cat([start * 2, -start], dim=1)
    assert fault(tmp_path, tensors, start_rank=1) is None
