"""What SkyPilot calls the accelerators of the table."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

__all__ = ["find_skypilot_name", "skypilot_names"]


def find_skypilot_name(accelerator: str) -> str | None:
    """Return the name in SkyPilot's catalogs of a device of ours, None where it has none."""
    return skypilot_names().get(accelerator)


@cache
def skypilot_names() -> Mapping[str, str]:
    """Return SkyPilot's names by ours."""
    text = (files("ftc.compiler.knowledge") / "skypilot.json").read_text(encoding="utf-8")
    names: Mapping[str, str] = json.loads(text)["names"]
    return names
