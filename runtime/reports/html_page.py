"""Writes the parts of a page as one HTML file that needs no other file and no network."""

import base64
import mimetypes
from collections.abc import Sequence
from html import escape
from pathlib import Path

from .page import Cell, Code, Figure, Heading, Paragraph, Part, Table, as_line

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
pre { background: var(--band); overflow-x: auto; padding: .8rem; }
figure { margin: 0; }
figure img { height: auto; max-width: 100%; width: 50rem; }
td img { max-width: 12rem; }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def to_html(parts: Sequence[Part], *, title: str, folder: Path) -> str:
    """Return a page; `folder` is where the files are that its images name."""
    body = "\n".join(_write(part, folder) for part in parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(as_line(title))}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _write(part: Part, folder: Path) -> str:
    match part:
        case Heading(text=text, level=level):
            return f"<h{level}>{escape(as_line(text))}</h{level}>"
        case Paragraph(text=text, is_headline=is_headline):
            kind = ' class="headline"' if is_headline else ""
            return f"<p{kind}>{escape(as_line(text))}</p>"
        case Code(text=text):
            return f"<pre><code>{escape(text)}</code></pre>"
        case Figure(file=file, title=title):
            source = _embed(folder / file)
            return f'<figure><img alt="{escape(as_line(title))}" src="{source}"></figure>'
        case Table():
            return _write_table(part, folder)


def _write_table(table: Table, folder: Path) -> str:
    def line(row: Sequence[Cell], tag: str) -> str:
        kinds = ("" if place < table.left else ' class="number"' for place in range(len(row)))
        cells = (
            f"<{tag}{kind}>{_write_cell(cell, folder)}</{tag}>"
            for cell, kind in zip(row, kinds, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    rows = "\n".join(line(row, "td") for row in table.rows)
    return (
        f'<div class="wide"><table>\n<thead>{line(table.titles, "th")}</thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table></div>"
    )


def _write_cell(cell: Cell, folder: Path) -> str:
    if isinstance(cell, str):
        return escape(as_line(cell))
    return " ".join(f'<img alt="" src="{_embed(folder / path)}">' for path in cell)


def _embed(path: Path) -> str:
    """Return an image as an address that contains it."""
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
