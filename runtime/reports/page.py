"""Pages of headings, texts, tables and figures, which are written as Markdown and as HTML.

A page is a list of parts that hold plain text. Its HTML needs no other file and no network.
"""

import base64
import math
import mimetypes
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape as escape_html
from pathlib import Path
from typing import Any

CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\u202a-\u202e\u2066-\u2069]+")
SHOWN_LETTERS = 300  # of a text in the report
DIGITS = 10_000  # numbers from here on are shown without decimals
# Characters of Markdown; the last two patterns start an automatic link on GitHub.
MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~&$!@]|:(?=/)|(?<=www)\.", re.IGNORECASE)

Cell = str | tuple[str, ...]  # a tuple has the paths of images, relative to the page


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The title of what follows, or with `level` 1 of the page."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A text; the headline is the result of the page."""

    text: str
    is_headline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture: a file beside the page."""

    file: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under titles; after the first `left` columns, cells are aligned right."""

    titles: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left: int = 1


Part = Heading | Paragraph | Figure | Table
Parts = list[Part]

# -----------------------------------------------------------------------------
# Texts and numbers


def as_line(text: str) -> str:
    """Return a text as one line without control characters."""
    return " ".join(CONTROLS.sub(" ", text).split())


def shorten(text: str, letters: int = SHOWN_LETTERS, *, end: bool = False) -> str:
    """Return the beginning of a text, or its end, with an ellipsis if something is left out."""
    line = as_line(text)
    if len(line) <= letters:
        return line
    return f"… {line[-letters:].lstrip()}" if end else f"{line[:letters].rstrip()} …"


def number(value: float | None, *, share: bool = False, change: bool = False) -> str:
    """Return a number or a change as a cell: a share in per cent, a missing number as a dash."""
    if value is None or not math.isfinite(value):
        return "-"
    if change:
        return f"{100 * value:+.1f} points" if share else f"{value:+.4f}"
    if share:
        return f"{value:.1%}"
    return f"{value:,.0f}" if abs(value) >= DIGITS else f"{value:.4f}"


def span(ends: Sequence[float] | None, *, share: bool = False, change: bool = False) -> str:
    """Return an interval as a cell."""
    shown = [number(end, share=share, change=change) for end in ends or ()]
    return " to ".join(end.removesuffix(" points") for end in shown) or "-"


# -----------------------------------------------------------------------------
# Tables


def table(titles: Sequence[str], rows: Sequence[Sequence[Cell]], *, left: int = 1) -> Parts:
    """Return a table, or nothing without rows."""
    cells = tuple(tuple(row) for row in rows)
    return [Table(titles=tuple(titles), rows=cells, left=left)] if cells else []


def comparison(judged: Mapping[str, Any], title: Callable[[str], str]) -> Parts:
    """Return the table of what evaluate.py measured before and after training, on the same rows.

    `title` returns the title of a number by its name.
    """
    cells = []
    for name, rows in judged["judged"].items():
        share, changed = name in judged["percent"], judged["changes"].get(name, {})
        row = [title(name), f"{rows:,}"]
        row += [number(found.get(name), share=share) for found in (judged["base"], judged)]
        row += [span(judged["intervals"][name], share=share)]
        row += [number(changed.get("change"), share=share, change=True)]
        row += [span(changed.get("interval"), share=share, change=True)]
        cells.append([*row, changed.get("verdict", "-")])
    titles = ["metric", "rows", judged["compared_with"], "trained", "95% interval", "change"]
    return table([*titles, "95% interval", "verdict"], cells)


# -----------------------------------------------------------------------------
# Markdown


def escape(text: str) -> str:
    """Return a text as one line without any effect in Markdown, HTML or a table's cell."""
    return MARKUP.sub(r"\\\g<0>", as_line(text)).replace("\\<", "&lt;")


def to_markdown(parts: Sequence[Part]) -> list[str]:
    """Return the lines of a page."""
    return [line for part in parts for line in (*_part_to_markdown(part), "")]


def _part_to_markdown(part: Part) -> list[str]:
    match part:
        case Heading(text=text, level=level):
            return [f"{'#' * level} {escape(text)}"]
        case Paragraph(text=text):
            return [escape(text)]
        case Figure(file=file, title=title):
            return [f"![{escape(title)}]({file})"]
        case Table():
            return _table_to_markdown(part)


def _table_to_markdown(table: Table) -> list[str]:
    rows = [[_cell_to_markdown(cell) for cell in row] for row in (table.titles, *table.rows)]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    sides = [str.ljust] * table.left + [str.rjust] * (len(widths) - table.left)
    rule = ["-" * width for width in widths[: table.left]]
    rule += ["-" * (width - 1) + ":" for width in widths[table.left :]]
    padded = ([pad(x, y) for pad, x, y in zip(sides, row, widths, strict=True)] for row in rows)
    titles, *others = (f"| {' | '.join(cells)} |" for cells in padded)
    return [titles, f"| {' | '.join(rule)} |", *others]


def _cell_to_markdown(cell: Cell) -> str:
    if isinstance(cell, str):
        return escape(cell)
    return " ".join(f"![]({path})" for path in cell)


# -----------------------------------------------------------------------------
# HTML

STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #1f2328; --faint: #59636e;
  --line: #d1d9e0; --band: #f6f8fa; --mark: #0969da; }
@media (prefers-color-scheme: dark) { :root { --page: #0d1117; --text: #e6edf3; --faint: #9198a1;
  --line: #3d444d; --band: #151b23; --mark: #4493f8; } }
body { background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif;
  margin: 0 auto; max-width: 62rem; padding: 1.5rem; }
h1 { font-size: 1.9rem; margin: 0 0 1rem; }
h2 { border-bottom: 1px solid var(--line); font-size: 1.3rem; margin: 2.2rem 0 .8rem; }
p.headline { border-left: .3rem solid var(--mark); font-size: 1.25rem; padding-left: .8rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .93rem; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); overflow-wrap: break-word; padding: .3rem .6rem;
  text-align: left; vertical-align: top; }
th { background: var(--band); }
.number { overflow-wrap: normal; text-align: right; }
figure { margin: 0; }
figure img { height: auto; max-width: 100%; width: 50rem; }
td img { max-width: 12rem; }
"""
HEADLINE = ' class="headline"'
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def to_html(parts: Sequence[Part], *, title: str, folder: Path) -> str:
    """Return a page as HTML; `folder` has the image files."""
    body = "\n".join(_part_to_html(part, folder) for part in parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_line_to_html(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _part_to_html(part: Part, folder: Path) -> str:
    match part:
        case Heading(text=text, level=level):
            return f"<h{level}>{_line_to_html(text)}</h{level}>"
        case Paragraph(text=text, is_headline=is_headline):
            return f"<p{HEADLINE * is_headline}>{_line_to_html(text)}</p>"
        case Figure(file=file, title=title):
            return f"<figure>{_embed(folder / file, title)}</figure>"
        case Table():
            return _table_to_html(part, folder)


def _table_to_html(table: Table, folder: Path) -> str:
    def line(row: Sequence[Cell], tag: str) -> str:
        kinds = [""] * table.left + [' class="number"'] * (len(row) - table.left)
        pairs = zip(row, kinds, strict=True)
        cells = (f"<{tag}{kind}>{_cell_to_html(cell, folder)}</{tag}>" for cell, kind in pairs)
        return f"<tr>{''.join(cells)}</tr>"

    rows = "\n".join(line(row, "td") for row in table.rows)
    return (
        f'<div class="wide"><table>\n<thead>{line(table.titles, "th")}</thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table></div>"
    )


def _cell_to_html(cell: Cell, folder: Path) -> str:
    if isinstance(cell, str):
        return _line_to_html(cell)
    return " ".join(_embed(folder / path) for path in cell)


def _line_to_html(text: str) -> str:
    return escape_html(as_line(text))


def _embed(path: Path, title: str = "") -> str:
    """Return an image that contains its file."""
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    source = f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
    return f'<img alt="{_line_to_html(title)}" src="{source}">'
