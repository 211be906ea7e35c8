"""What llama.cpp cannot represent of an adapter is named before anything is converted."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime.run import Run

safetensors: Any = pytest.importorskip("safetensors.numpy")
np = pytest.importorskip("numpy")
pytest.importorskip("llama_cpp")
from ftc.runtime.adapter_export import (  # noqa: E402 - it needs llama.cpp
    UNCONVERTIBLE,
    check_adapter,
)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a stage whose bundle has trained an adapter."""
    found = Run(tmp_path, stage="adapter", script="export.py")
    folder = found.folder / "train" / "model"
    folder.mkdir(parents=True)
    (folder / "adapter_config.json").write_text(json.dumps(dict.fromkeys(UNCONVERTIBLE)))
    weights = {"q_proj.lora_B.weight": np.ones((4, 2), np.float32)}
    safetensors.save_file(weights, folder / "adapter_model.safetensors")
    return found


def test_a_plain_adapter_is_accepted(run: Run) -> None:
    """Nothing is said."""
    check_adapter(run)


@pytest.mark.parametrize("key", UNCONVERTIBLE)
def test_what_cannot_be_converted_is_named(run: Run, key: str) -> None:
    """The converter would drop it silently, or stop."""
    path = run.folder / "train/model/adapter_config.json"
    path.write_text(json.dumps({key: True}), encoding="utf-8")

    with pytest.raises(SystemExit, match=f"cannot represent {key} of this adapter"):
        check_adapter(run)


def test_an_adapter_that_is_cut_off(run: Run) -> None:
    """And one that is not there."""
    weights = run.folder / "train/model/adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(SystemExit, match="is cut off: run train"):
        check_adapter(run)
    weights.unlink()
    with pytest.raises(SystemExit, match="has no adapter: run train"):
        check_adapter(run)
