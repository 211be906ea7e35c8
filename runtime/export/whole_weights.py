"""Checks that safetensors files are complete."""

from pathlib import Path

from safetensors import SafetensorError, safe_open

from ..files import read_json
from ..run import Run


def is_complete(path: Path) -> bool:
    """Return whether a file has tensors, and is as long as its own header says."""
    try:
        with safe_open(path, framework="np") as file:
            return bool(file.keys())
    except (SafetensorError, OSError):
        return False


def check_weights(run: Run, folder: Path) -> None:
    """End the stage unless every file of a model's weights is there and complete."""
    index = folder / "model.safetensors.index.json"
    shards = {folder / "model.safetensors"}
    if index.is_file():
        shards = {folder / name for name in read_json(index)["weight_map"].values()}
    for shard in sorted(shards):
        if not shard.is_file() or not is_complete(shard):
            state = "cut off or damaged" if shard.is_file() else "missing"
            run.stop(f"run/{folder.name}/{shard.name} is {state}: run export.py --merge again")
