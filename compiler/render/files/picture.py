"""The memory of a plan as a picture: the same bars as in the text, in a self-contained SVG."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.summary.headline import PARTS, Bar, headline, make_bars, say_bytes

_WIDTH: Final = 760
_LEFT, _RIGHT = 120, 90  # space for the names and sizes of the phases
_TOP, _STEP, _HEIGHT = 56, 30, 20
# distinct in greyscale and for people with colour blindness (Okabe and Ito)
_COLOURS: Final[Mapping[str, str]] = {
    "static": "#0072b2",
    "gradients": "#d55e00",
    "activations": "#009e73",
    "loss": "#e69f00",
    "copies": "#cc79a7",
    "gathered": "#56b4e9",
    "cache": "#f0e442",
}


def draw_plan(name: str, plan: Plan) -> str:
    """Return the picture as SVG: the verdict, a stacked bar per phase, the capacity, a legend."""
    bars = make_bars(plan.memory)
    capacity = plan.memory.capacity_bytes
    scale = max([capacity or 0, *(bar.total_bytes for bar in bars), 1])
    foot = _TOP + _STEP * len(bars) + 14
    title = escape(headline(name, plan), quote=False)
    size = f'viewBox="0 0 {_WIDTH} {foot + 30}" width="{_WIDTH}" height="{foot + 30}"'
    font = 'font-family="sans-serif" font-size="12"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {font}>',
        f"<title>{title}</title>",
        f'<rect width="{_WIDTH}" height="{foot + 30}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-weight="bold" fill="#222222">{title}</text>',
    ]
    for index, bar in enumerate(bars):
        lines += _bar(bar, scale, _TOP + index * _STEP)
    if capacity is not None:
        x = _LEFT + capacity / scale * (_WIDTH - _LEFT - _RIGHT)
        lines.append(
            f'<line x1="{x:.1f}" y1="{_TOP - 14}" x2="{x:.1f}" y2="{foot - 10}" '
            'stroke="#222222" stroke-dasharray="4 3"/>'
        )
        lines.append(
            f'<text x="{x:.1f}" y="{_TOP - 18}" text-anchor="end" fill="#222222">'
            f"capacity {say_bytes(capacity)}</text>"
        )
    lines += _legend(bars, foot)
    return "\n".join([*lines, "</svg>"])


def _bar(bar: Bar, scale: int, top: int) -> Iterator[str]:
    room, done, middle = _WIDTH - _LEFT - _RIGHT, 0, top + _HEIGHT - 5
    yield (
        f'<text x="{_LEFT - 8}" y="{middle}" text-anchor="end" fill="#222222">'
        f"{escape(bar.phase, quote=False)}</text>"
    )
    for part, size in bar.parts:
        x, width = _LEFT + done / scale * room, size / scale * room
        yield (
            f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{_HEIGHT}" '
            f'fill="{_COLOURS[part]}"><title>{part} {say_bytes(size)}</title></rect>'
        )
        done += size
    x = _LEFT + done / scale * room + 6
    yield f'<text x="{x:.1f}" y="{middle}" fill="#222222">{say_bytes(bar.total_bytes)}</text>'


def _legend(bars: tuple[Bar, ...], top: int) -> Iterator[str]:
    used = {part for bar in bars for part, _ in bar.parts}
    x = _LEFT
    for part in PARTS:
        if part not in used:
            continue
        yield f'<rect x="{x}" y="{top}" width="12" height="12" fill="{_COLOURS[part]}"/>'
        yield f'<text x="{x + 17}" y="{top + 10}" fill="#222222">{part}</text>'
        x += 34 + 7 * len(part)
