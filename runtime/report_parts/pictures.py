"""The part of a report about rows with images."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..reports import page
from ..reports.page import Parts


def list_pictures(rows: Sequence[Mapping[str, Any]]) -> Parts:
    """Return a heading and a table of images with the answers to each."""
    said = {"answer": "right answer", "said": "trained model"}
    if "chosen" in rows[0]:
        said = {"chosen": "chosen", "rejected": "rejected"}
    titles = "images", "end of the prompt", *said.values()
    cells: list[list[page.Cell]] = [
        [
            tuple(f"evaluate/pictures/{name}" for name in row["pictures"]),
            page.shorten(row["prompt"], end=True),
            *(page.shorten(row[name]) for name in said),
        ]
        for row in rows
    ]
    return [
        page.Heading(text="Images of the test split"),
        *page.table(titles, cells, left=len(titles)),
    ]
