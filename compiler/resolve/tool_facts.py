"""Facts about the tools that the model may call in its answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFault:
    """Why a file of tools, or one of its functions, cannot be used: see RewardFault."""

    key: str
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """The functions that the model may call, in the order of their file, and their JSON schemas."""

    names: tuple[str, ...] = ()
    schemas: tuple[str, ...] = ()
    faults: tuple[ToolFault, ...] = ()
