"""Checks a saved PEFT adapter."""

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import safe_open


def find_fault(
    folder: Path,
    *,
    start_rank: int | None = None,
    needs_head: bool = False,
    parts: Sequence[str] = (),
) -> str | None:
    """Return what is wrong with the adapter saved in a folder, as a clause, or None.

    `start_rank` is the rank of the start, for methods that subtract the start on saving (PiSSA and
    similar): each `lora_B` then holds the trained matrix and the start side by side. `needs_head`
    requires a trained head beside the adapter. `parts` are the beginnings of modules' names; each
    must have a trained adapter.
    """
    with safe_open(folder / "adapter_model.safetensors", framework="pt") as file:
        names = list(file.keys())
        adapted = [name for name in names if "lora_B" in name]
        updates = [file.get_tensor(name) for name in adapted]
    if needs_head and all("lora_" in name for name in names):
        return "the saved adapter has no head"
    if not updates or not all(update.numel() for update in updates):
        return "the saved adapter is empty"
    if not all(torch.isfinite(update).all() for update in updates):
        return "the saved adapter has a weight that is not a finite number"
    if start_rank is not None:
        updates = [update[:, :start_rank] + update[:, start_rank:] for update in updates]
    changed = [name for name, update in zip(adapted, updates, strict=True) if update.any()]
    if not changed:
        return "training did not change the adapter"
    for part in parts:
        if not any(f".{part}" in name for name in changed):
            return f"training did not change the adapter of {part.rstrip('.')}"
    return None
