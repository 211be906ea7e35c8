"""SkyPilot's names of the accelerators in the table."""

from collections.abc import Mapping
from functools import cache

from ftc.compiler.knowledge.tables import read_table

__all__ = ["find_skypilot_name", "skypilot_names"]


def find_skypilot_name(accelerator: str) -> str | None:
    """Return SkyPilot's name of a device, or None."""
    return skypilot_names().get(accelerator)


@cache
def skypilot_names() -> Mapping[str, str]:
    """Return SkyPilot's names by ftc's names."""
    names: Mapping[str, str] = read_table(__name__, "skypilot.json")["names"]
    return names
