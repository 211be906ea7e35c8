"""Runs the export.py of a bundle while one scale of each folder is written wrongly.

It is that of the inputs of one matrix, or of its weights if its inputs have none.
"""

import runpy
import sys
from pathlib import Path
from typing import Any

import safetensors.torch

MATRIX = "model.layers.1.mlp.down_proj"
REAL: Any = safetensors.torch.save_file


def save_file(state: dict[str, Any], *arguments: Any, **options: Any) -> None:
    """Save a file in which one scale is half as much again."""
    names = (f"{MATRIX}.input_scale", f"{MATRIX}.weight_scale")
    for name in [name for name in names if name in state][:1]:
        state[name] = (state[name].float() * 1.5).to(state[name].dtype)
    REAL(state, *arguments, **options)


setattr(safetensors.torch, "save_file", save_file)  # noqa: B010 - it takes fewer types
sys.path.insert(0, str(Path.cwd()))
sys.argv[0] = "export.py"
runpy.run_path("export.py", run_name="__main__")
