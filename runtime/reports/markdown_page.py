"""Writes the parts of a page as Markdown."""

import re
from collections.abc import Sequence

from .page import Cell, Code, Figure, Heading, Paragraph, Part, Table, as_line

# The last two start an automatic link in GitHub's Markdown.
MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~&$!@]|:(?=/)|(?<=www)\.", re.IGNORECASE)


def escape(text: str) -> str:
    """Return a text as one line without any effect in Markdown, HTML or a table's cell."""
    return MARKUP.sub(r"\\\g<0>", as_line(text)).replace("\\<", "&lt;")


def to_markdown(parts: Sequence[Part]) -> list[str]:
    """Return the lines of a page."""
    return [line for part in parts for line in (*_write(part), "")]


def _write(part: Part) -> list[str]:
    match part:
        case Heading(text=text, level=level):
            return [f"{'#' * level} {escape(text)}"]
        case Paragraph(text=text):
            return [escape(text)]
        case Code(text=text, language=language):
            longest = max(map(len, re.findall("`+", text)), default=0)
            fence = "`" * max(3, longest + 1)
            return [f"{fence}{language}", *text.splitlines(), fence]
        case Figure(file=file, title=title):
            return [f"![{escape(title)}]({file})"]
        case Table():
            return _write_table(part)


def _write_table(table: Table) -> list[str]:
    rows = [[_write_cell(cell) for cell in row] for row in (table.titles, *table.rows)]
    widths = [max(3, *(len(row[place]) for row in rows)) for place in range(len(table.titles))]

    def line(row: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if place < table.left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = [
        "-" * width if place < table.left else "-" * (width - 1) + ":"
        for place, width in enumerate(widths)
    ]
    return [line(rows[0]), line(rule), *map(line, rows[1:])]


def _write_cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return escape(cell)
    return " ".join(f"![]({path})" for path in cell)
