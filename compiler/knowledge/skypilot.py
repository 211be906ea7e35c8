"""SkyPilot's names of the accelerators in the table."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

__all__ = ["find_skypilot_name", "skypilot_names"]


def find_skypilot_name(accelerator: str) -> str | None:
    """Return SkyPilot's name of a device, or None."""
    return skypilot_names().get(accelerator)


@cache
def skypilot_names() -> Mapping[str, str]:
    """Return SkyPilot's names by ftc's names."""
    text = (files("ftc.compiler.knowledge") / "skypilot.json").read_text(encoding="utf-8")
    names: Mapping[str, str] = json.loads(text)["names"]
    return names
