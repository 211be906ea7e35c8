"""One line of a conversation."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["said", "finding", "noted", "proposal", "spec", "question", "trouble", "unused"]
#: A row of a card: "set", "unsure" or "unused"; what is set or unsure; the words behind it.
Row = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A text by `you` or `ftc`; `kind` tells a front end how to show it.

    `card` holds the rows of a message's card, for a front end that shows them one by one. `by`
    names the language model that wrote the text or made the proposal; it is empty for ftc's own.
    """

    who: Literal["ftc", "you"]
    text: str
    kind: Kind = "said"
    card: tuple[Row, ...] = ()
    by: str = ""
