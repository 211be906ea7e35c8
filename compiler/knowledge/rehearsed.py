"""How far a rehearsal of each architecture gets, from its config to a GGUF that answers."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from ftc.compiler.knowledge.shape import Shape

__all__ = ["Rehearsed", "find_rehearsed"]

_AFTER_MERGING: Final = ("convert", "compare", "quantize", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """The result of an architecture: the stage that failed and why, or None and None.

    `mlp` limits a failure to models that have layers of this kind. `seen` is the last stage that
    was run, where that was not the last of all: what comes after it is unknown.
    """

    stage: str | None
    reason: str | None
    mlp: str | None = None
    seen: str | None = None

    @property
    def is_trained(self) -> bool:
        """Whether it came as far as a merged model."""
        return self.stage is None or self.stage in _AFTER_MERGING


def find_rehearsed(architecture: str, shape: Shape | None = None) -> Rehearsed | None:
    """Return the result of an architecture, for models of this shape; None if never rehearsed."""
    found = _table().get(architecture)
    if found is None or found.mlp is None or shape is None:
        return found
    hit = any(kind.mlp == found.mlp for kind in shape.kinds)
    return found if hit else Rehearsed(stage=None, reason=None)


@cache
def _table() -> dict[str, Rehearsed]:
    text = (files("ftc.compiler.knowledge") / "rehearsed.json").read_text(encoding="utf-8")
    entries = json.loads(text)["architectures"]
    return {
        name: Rehearsed(**{"stage": None, "reason": None, **entry})
        for name, entry in entries.items()
    }
