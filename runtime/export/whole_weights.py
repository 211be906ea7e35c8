"""Checks that safetensors files are complete."""

from pathlib import Path

from safetensors import SafetensorError, safe_open


def is_complete(path: Path) -> bool:
    """Return whether a file has tensors, and is as long as its own header says."""
    try:
        with safe_open(path, framework="np") as file:
            return bool(file.keys())
    except (SafetensorError, OSError):
        return False
