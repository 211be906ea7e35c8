"""One thing said in a conversation."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["said", "finding", "proposal", "spec", "question", "trouble"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What `you` or `ftc` said; `kind` is how a front end may show it."""

    who: Literal["ftc", "you"]
    text: str
    kind: Kind = "said"
