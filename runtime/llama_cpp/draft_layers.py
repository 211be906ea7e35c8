"""Converts a model without the draft layers that its class may have. Standard library only."""

import json
from pathlib import Path


def skip_drafts(folder: Path) -> tuple[str, ...]:
    """Return the converter's option for a model that lacks the draft layers of its class.

    Without the option, the converter requires tensors named `mtp.*`, which most
    models that were trained and saved by transformers lack.
    """
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        names = json.loads(index.read_bytes())["weight_map"]
    else:
        with (folder / "model.safetensors").open("rb") as file:
            names = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return () if any(name.startswith("mtp.") for name in names) else ("--no-mtp",)
