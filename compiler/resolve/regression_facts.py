"""Facts about the files that the trained model is compared with the base on."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionFault:
    """Why a file of a regression check cannot be used: see RewardFault."""

    key: str
    values: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionFile:
    """A file of a regression check; `path` is relative to the spec, in POSIX form.

    `items` counts the questions of prompts and the characters of a text; it is 0 for a task.
    """

    path: str
    sha256: str = ""
    items: int = 0
    fault: RegressionFault | None = None
