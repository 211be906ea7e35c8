"""One line of a conversation."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["said", "finding", "proposal", "spec", "question", "trouble"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A text by `you` or `ftc`; `kind` tells a front end how to show it."""

    who: Literal["ftc", "you"]
    text: str
    kind: Kind = "said"
