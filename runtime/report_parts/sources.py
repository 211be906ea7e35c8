"""The parts of a report about the sources of a mixture."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..reports import page
from ..reports.page import Parts


def count_rows(sources: Sequence[Mapping[str, Any]]) -> Parts:
    """Return the table of how many rows of each source were read and used."""
    titles = ("source", "read", "used", "train", "validation", "test")
    counts = [
        [value if isinstance(value, str) else f"{value:,}" for value in source.values()]
        for source in sources
    ]
    return page.table(titles, counts)


def list_losses(sources: Mapping[str, Any]) -> Parts:
    """Return the table of the loss on the rows of each source, under a heading."""
    cells = []
    for source, found in sources.items():
        row = [source, f"{found['rows']:,}", page.number(found.get("base_loss"))]
        row += [page.number(found["loss"]), page.span(found["interval"])]
        cells.append([*row, found.get("change", {}).get("verdict", "-")])
    titles = ("source", "rows", "loss before training", "trained", "95% interval", "verdict")
    return [page.Heading(text="Loss per source"), *page.table(titles, cells)]
