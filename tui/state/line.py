"""One line of a conversation."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal[
    "said", "finding", "noted", "proposal", "spec", "question", "trouble", "unused", "page",
    "found", "examples", "table", "speech",
]  # fmt: skip


#: The rows of a table, the header first.
Cells = tuple[tuple[str, ...], ...]


class Row(NamedTuple):
    """A row of a card: what is set or uncertain, its words, and the value before and after."""

    kind: Literal["set", "unsure", "unused"]
    what: str
    words: str
    before: str = ""
    after: str = ""


def lay_out(cells: Cells) -> str:
    """Return a table as text, with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A text by `you` or `ftc`; `kind` tells a front end how to show it.

    `card` holds the rows of a message's card, for a front end that shows them one by one. `by`
    names the language model that wrote the text or made the proposal; it is empty for ftc's own.
    `cells` are the rows of a "table", the header first, or the texts of "examples"; `text` has them
    too. The text of a "page" is Markdown. So is `said`, the model's own words in a "speech"; the
    `text` of a "speech" also has the model's name.
    """

    who: Literal["ftc", "you"]
    text: str
    kind: Kind = "said"
    card: tuple[Row, ...] = ()
    by: str = ""
    cells: Cells = ()
    said: str = ""
