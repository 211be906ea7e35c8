"""The last stage that a rehearsal of each architecture reaches, up to a GGUF that answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from ftc.compiler.knowledge.tables import read_table

__all__ = ["Rehearsed", "find_rehearsed"]

_AFTER_MERGING: Final = ("convert", "compare", "quantize", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """The result of an architecture: the failed stage and the reason, or None and None.

    `seen` is the last stage that was run, if later stages are unknown. If a config has all keys of
    `unless`, with one of the values if any are listed, a rehearsal succeeds.
    """

    stage: str | None
    reason: str | None
    seen: str | None = None
    unless: Mapping[str, Sequence[object]] = field(default_factory=dict)

    @property
    def is_trained(self) -> bool:
        """Whether the rehearsal produced a merged model."""
        return self.stage is None or self.stage in _AFTER_MERGING

    def is_lifted(self, config: Mapping[str, object]) -> bool:
        """Return whether a config has the keys with which the rehearsal succeeds."""
        said = {**config, **_section(config)}
        found = {key: said.get(key) for key in self.unless}
        return bool(found) and all(
            value in self.unless[key] if self.unless[key] else value is not None
            for key, value in found.items()
        )


def _section(config: Mapping[str, object]) -> Mapping[str, object]:
    inside = config.get("text_config")
    return inside if isinstance(inside, Mapping) else {}


def find_rehearsed(architecture: str) -> Rehearsed | None:
    """Return the result of an architecture; None if it was never rehearsed."""
    return _table().get(architecture)


@cache
def _table() -> dict[str, Rehearsed]:
    entries = read_table(__name__, "rehearsed.json")["architectures"]
    return {
        name: Rehearsed(**{"stage": None, "reason": None, **entry})
        for name, entry in entries.items()
    }
