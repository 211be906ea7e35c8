"""The diagram of the flow, as SVG that takes the colours of the page around it."""

from html import escape
from typing import Final

_MARK: Final = "<!-- diagram: flow -->"
#: What is between two boxes, and the box after it; the first row is read from left to right.
_ROWS: Final = (
    (("", "spec.json"), ("load", "Document"), ("validate", "Spec"), ("resolve", "Facts")),
    (("plan", "Plan"), ("check", "Findings"), ("render", "Files"), ("verify, write", "Bundle")),
)
_BOX: Final = (120, 44)
_STEP: Final = 200
_ROW: Final = 110


def show_diagram(text: str) -> str:
    """Return a page with the diagram in the place of its mark."""
    return text.replace(_MARK, draw_flow())


def draw_flow() -> str:
    """Return the boxes of the flow in two rows, with an arrow named after each function."""
    width, height = _BOX
    shapes = []
    for number, row in enumerate(_ROWS):
        top = 30 + number * _ROW
        for place, (arrow, name) in enumerate(row):
            left = 100 + place * _STEP
            shapes.append(
                f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="6" fill="none" '
                f'stroke="currentColor"/><text x="{left + width / 2}" y="{top + 27}" '
                f'text-anchor="middle">{escape(name)}</text>'
            )
            if arrow:
                start, middle = left - _STEP + width, top + height / 2
                shapes.append(
                    f'<path d="M{start} {middle}H{left - 3}m-7 -5l7 5l-7 5" fill="none" '
                    f'stroke="currentColor"/><text x="{(start + left) / 2}" y="{middle - 8}" '
                    f'text-anchor="middle" font-size="12">{escape(arrow)}</text>'
                )
    return (
        f'<svg viewBox="0 0 840 {30 + 2 * _ROW}" role="img" font-family="sans-serif" '
        'font-size="15" fill="currentColor"><title>From spec.json to the bundle</title>'
        f"{''.join(shapes)}</svg>"
    )
