"""Turns pairs, triplets and scored pairs into records: texts, each of which becomes a vector.

Standard library only, as the compiler counts the same texts.
"""

from collections.abc import Sequence
from typing import Any

from ..read.rows import Turns

#: The columns that the trainer reads, in its order; the first is the query.
TEXTS = ("anchor", "positive", "negative")
COLUMNS = (*TEXTS, "score")
MINED = "negative_"  # begins the columns of hard negatives, which are numbered


def make_vectors(
    group: Sequence[Turns], *, encoder: Any, joined: bool = False
) -> list[dict[str, Any]]:
    """Return the record of each row; its `input_ids` are the tokens of its longest text.

    Where texts are `joined` to the query, they are those of the query and the longest other.
    """
    rows = [list_texts(turns) for turns in group]
    tokens = iter(encoder.encode_marked([text for row in rows for text in row]))
    records = []
    for turns, row in zip(group, rows, strict=True):
        first, *others = [next(tokens) for _ in row]
        longest = max(others, key=len)
        ids = [*first, *longest] if joined else max(first, longest, key=len)
        found: dict[str, Any] = {"input_ids": ids}
        found |= dict(zip(TEXTS, row, strict=False))
        if turns[-1][0] == "score":
            found["score"] = float(turns[-1][1])
        records.append(found | {"prompt": row[0], "answer": row[1]})
    return records


def list_texts(turns: Turns) -> list[str]:
    """Return the texts of a row: the query, what belongs to it, and what does not.

    A query of several turns is one text, with a line for each.
    """
    last = 2 if turns[-1][0] in ("rejected", "score") else 1
    after = [text for role, text in turns[-last:] if role != "score"]
    return ["\n".join([text for _, text in turns[:-last]]), *after]


def list_columns(row: dict[str, Any]) -> list[str]:
    """Return the columns of a table that the trainer reads."""
    return [*(name for name in COLUMNS if name in row), *filter(is_mined, row)]


def is_mined(column: str) -> bool:
    """Return whether a column has hard negatives."""
    return column.startswith(MINED)
