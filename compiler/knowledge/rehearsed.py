"""How far a rehearsal of each architecture gets, from its config to a GGUF that answers."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["Rehearsed", "find_rehearsed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """The result of an architecture: the stage that failed and why, or None and None."""

    stage: str | None
    reason: str | None


def find_rehearsed(architecture: str) -> Rehearsed | None:
    """Return the result of an architecture; None if it was never rehearsed."""
    return _table().get(architecture)


@cache
def _table() -> dict[str, Rehearsed]:
    text = (files("ftc.compiler.knowledge") / "rehearsed.json").read_text(encoding="utf-8")
    entries = json.loads(text)["architectures"]
    return {
        name: Rehearsed(stage=entry.get("stage"), reason=entry.get("reason"))
        for name, entry in entries.items()
    }
