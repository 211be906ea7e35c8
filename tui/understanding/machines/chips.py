"""Words that name a GPU of the table: "a6000", "4090"."""

import re
from functools import cache

from ftc.compiler.knowledge.hardware.accelerators import all_accelerators
from ftc.tui.understanding.text.message import fold


def is_chip(word: str) -> bool:
    """Return whether a folded word names a GPU of the table: "a6000", "h100s"."""
    return singular(word) in list_chips()


def singular(word: str) -> str:
    """Return "a100" for "a100s"; an L40S is a different chip."""
    return word[:-1] if word.endswith("s") and word[:-1] in list_chips() - {"l40"} else word


@cache
def list_chips() -> frozenset[str]:
    """Return the words that name a GPU: the words of the table that contain a digit."""
    names = " ".join(fold(device.name) for device in all_accelerators())
    words = set(re.split(r"[^a-z0-9]+", names))
    chips = {word for word in words if re.search(r"\d", word) and not word.endswith("gb")}
    glued = {f"rtx{word}" for word in chips} | {f"{word}ti" for word in chips}
    return frozenset(chips | glued | {"titan"}) - {"1080p"}
