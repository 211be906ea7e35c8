"""How far a miniature of each architecture comes on a CPU, from its config to an answering GGUF."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["Rehearsed", "find_rehearsed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """What came of an architecture: the stage that stopped it and why, or None and None."""

    stage: str | None
    reason: str | None


def find_rehearsed(architecture: str) -> Rehearsed | None:
    """Return what came of an architecture; None where it was never rehearsed."""
    return _table().get(architecture)


@cache
def _table() -> dict[str, Rehearsed]:
    text = (files("ftc.compiler.knowledge") / "rehearsed.json").read_text(encoding="utf-8")
    entries = json.loads(text)["architectures"]
    return {
        name: Rehearsed(stage=entry.get("stage"), reason=entry.get("reason"))
        for name, entry in entries.items()
    }
