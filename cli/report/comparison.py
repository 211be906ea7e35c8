"""A comparison of runs: tables and verdicts for people, data for programs, curves as a picture."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from ftc.comparison import (
    Change,
    Result,
    choose_best,
    compare,
    find_decision_differences,
    find_spec_differences,
)
from ftc.report.json_output import VERSION
from ftc.spec.pointer import dotted
from ftc.tui.watch.training import Curve

_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 40, 36
# distinct in greyscale and for people with colour blindness (Okabe and Ito)
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222")
_DASHES: Final = ("", "6 3", "2 3", "8 3 2 3")
_WIDEST: Final = 26
_MOST_ROWS: Final = 40
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
#: What a verdict rests on where rows were not compared in pairs.
_BASES: Final = {
    "better": "their intervals do not touch",
    "worse": "their intervals do not touch",
    "not distinguishable": "their intervals touch",
    "not comparable": "measured on other rows or tokens",
}


def report_comparison(results: Sequence[Result]) -> str:
    """Return the differences, the results of each run, and what can be said of them."""
    names = [result.name for result in results]
    parts = [
        _table("spec", names, _dotted(find_spec_differences(results))),
        _table("decided", names, find_decision_differences(results)),
        _table("result", names, dict(_results(results))),
    ]
    lines = [line for part in parts for line in part]
    return "\n".join([*lines, *say_verdicts(results)])


def say_verdicts(results: Sequence[Result]) -> Iterator[str]:
    """Yield a sentence for each run against the first, and one on all of them."""
    first = results[0]
    for other in results[1:]:
        changes = compare(first, other)
        if not changes:
            yield f"{other.name} and {first.name}: {_why_not(first, other)}"
        for change in changes:
            yield _sentence(first, other, change)
    chosen = choose_best(results)
    if chosen is None:
        return
    best, like = chosen
    metric = best.metric
    if not like:
        yield f"verdict: {best.name} is the best by {metric}"
    elif len(like) == len(results) - 1:
        yield f"verdict: these runs are not distinguishable by {metric}"
    else:
        others = ", ".join(result.name for result in like)
        yield f"verdict: {best.name} is the best by {metric}, not distinguishable from {others}"


def _why_not(first: Result, other: Result) -> str:
    """Return why two runs have nothing to compare."""
    unready = [each.name for each in (first, other) if not each.report]
    if len(unready) > 1:
        return "neither has been evaluated"
    return f"{unready[0]} has not been evaluated" if unready else "no measure in common"


def comparison_data(results: Sequence[Result]) -> Mapping[str, Any]:
    """Return the comparison as plain data; each run is compared with the first."""
    chosen = choose_best(results)
    return {
        "version": VERSION,
        "runs": [_run_data(result) for result in results],
        "spec": {at: list(values) for at, values in find_spec_differences(results).items()},
        "decisions": {
            name: list(values) for name, values in find_decision_differences(results).items()
        },
        "changes": [
            {"run": other.name, "against": results[0].name, **_change_data(change)}
            for other in results[1:]
            for change in compare(results[0], other)
        ],
        "best": None if chosen is None else chosen[0].name,
        "not_distinguishable": None if chosen is None else [each.name for each in chosen[1]],
    }


def draw_curves(results: Sequence[Result]) -> str:
    """Return the losses of all runs in one picture: training as lines, validation as points."""
    curves = [_curves(result) for result in results]
    measure = " or ".join(sorted({_drawn(result) for result in results}))
    points = [point for pair in curves for curve in pair for point in curve]
    most = max((step for step, _ in points), default=1) or 1
    low = min((value for _, value in points), default=0.0)
    high = max((value for _, value in points), default=1.0)
    high = high if high > low else low + 1

    def place(step: int, value: float) -> tuple[float, float]:
        across = _LEFT + step / most * (_WIDTH - _LEFT - _RIGHT)
        down = _TOP + (high - value) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)
        return round(across, 1), round(down, 1)

    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    font = 'font-family="sans-serif" font-size="12"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {font}>',
        f"<title>{measure} of training, and of validation as points</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        *_axes(most, low, high, measure),
    ]
    for index, (result, (line, marks)) in enumerate(zip(results, curves, strict=True)):
        colour = _COLOURS[index % len(_COLOURS)]
        dash = _DASHES[index // len(_COLOURS) % len(_DASHES)]
        drawn = " ".join("{},{}".format(*place(*point)) for point in line)
        if drawn:
            lines.append(
                f'<polyline points="{drawn}" fill="none" stroke="{colour}" '
                f'stroke-width="1.5" stroke-dasharray="{dash}"/>'
            )
        for point in marks:
            across, down = place(*point)
            lines.append(f'<circle cx="{across}" cy="{down}" r="3.5" fill="{colour}"/>')
        down = _TOP + 14 * index
        name = escape(result.name, quote=False)
        end = f'x="{_WIDTH - _RIGHT}" y="{down}" text-anchor="end"'
        lines.append(f'<text {end} fill="{colour}">{name}</text>')
    return "\n".join([*lines, "</svg>"])


def _axes(most: int, low: float, high: float, measure: str) -> Iterator[str]:
    foot = _HEIGHT - _BOTTOM
    yield f'<text x="6" y="{_TOP - 14}" fill="#222222">{measure}</text>'
    yield f'<text x="{_WIDTH // 2}" y="{foot + 18}" text-anchor="middle" fill="#222222">step</text>'
    yield (f'<path d="M{_LEFT} {_TOP}V{foot}H{_WIDTH - _RIGHT}" fill="none" stroke="#222222"/>')
    for value, down in ((high, _TOP + 4), (low, foot)):
        yield (
            f'<text x="{_LEFT - 6}" y="{down}" text-anchor="end" fill="#222222">{value:.3g}</text>'
        )
    for step, across in ((0, _LEFT), (most, _WIDTH - _RIGHT)):
        yield (
            f'<text x="{across}" y="{foot + 18}" text-anchor="middle" fill="#222222">{step}</text>'
        )


def _drawn(result: Result) -> str:
    """Return the name of the curve that is drawn."""
    return "reward" if "reward" in result.run.training.curves else "loss"


def _curves(result: Result) -> tuple[Curve, Curve]:
    curves, name = result.run.training.curves, _drawn(result)
    return tuple(curves.get(name, ())), tuple(curves.get(f"eval_{name}", ()))


def _results(results: Sequence[Result]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield what was measured of each run, as text."""
    yield "state", tuple(result.run.state for result in results)
    measures = dict.fromkeys(name for each in results for name in each.report.get("judged", {}))
    for name in measures:
        yield name, tuple(_with_interval(result, name) for result in results)
    yield "training", tuple(_hours(result.seconds.get("train")) for result in results)
    yield "all stages", tuple(_hours(sum(each.seconds.values()) or None) for each in results)
    yield "memory", tuple(_size(result.run.training.memory_bytes) for result in results)
    yield "model", tuple(_size(result.model_bytes) for result in results)
    for name in dict.fromkeys(file for each in results for file in each.gguf_bytes):
        yield name, tuple(_size(result.gguf_bytes.get(name)) for result in results)


def _sentence(first: Result, other: Result, change: Change) -> str:
    percent = change.measure in first.report.get("percent", ())
    numbers = [_show(number, percent=percent) for number in (change.second, change.first)]
    judged = {
        "better": "is better than",
        "worse": "is worse than",
        "not distinguishable": "is not distinguishable from",
        "not comparable": "cannot be compared with",
    }[change.verdict]
    text = f"{other.name} {judged} {first.name}: {change.measure} {numbers[0]} against {numbers[1]}"
    if change.interval is None:
        return f"{text} ({_BASES[change.verdict] if not change.rows else 'too few rows differ'})"
    scale, unit, digits = (100, " points", 1) if percent else (1, "", 4)
    low, high = (f"{scale * end:+.{digits}f}" for end in change.interval)
    return f"{text} on {change.rows:,} rows (95% interval of the difference: {low} to {high}{unit})"


def _with_interval(result: Result, name: str) -> str:
    number, ends = result.report.get(name), result.report.get("intervals", {}).get(name)
    percent = name in result.report.get("percent", ())
    text = _show(number, percent=percent)
    if not ends:
        return text
    low, high = (_show(end, percent=percent) for end in ends)
    return f"{text} ({low} to {high})"


def _run_data(result: Result) -> Mapping[str, Any]:
    training = result.run.training
    return {
        "bundle": str(result.run.folder),
        "name": result.name,
        "state": result.run.state,
        "metric": result.metric,
        "measures": {name: result.report.get(name) for name in result.report.get("judged", {})},
        "intervals": dict(result.report.get("intervals", {})),
        "seconds": dict(result.seconds),
        "memory_bytes": training.memory_bytes,
        "model_bytes": result.model_bytes,
        "gguf_bytes": dict(result.gguf_bytes),
        "curves": {
            name: [list(point) for point in curve] for name, curve in training.curves.items()
        },
    }


def _change_data(change: Change) -> Mapping[str, Any]:
    return {
        "measure": change.measure,
        "first": change.first,
        "second": change.second,
        "change": change.change,
        "interval": None if change.interval is None else list(change.interval),
        "rows": change.rows,
        "differ": change.differ,
        "verdict": change.verdict,
    }


def _dotted(found: Mapping[str, tuple[Any, ...]]) -> Mapping[str, tuple[Any, ...]]:
    return {dotted(pointer): values for pointer, values in found.items()}


def _table(title: str, names: Sequence[str], rows: Mapping[str, tuple[Any, ...]]) -> Iterator[str]:
    """Yield a table of values, one column for each run; nothing for no rows."""
    if not rows:
        return
    shown = list(rows.items())[:_MOST_ROWS]
    cells = [[title, *names], *([name, *map(_cell, values)] for name, values in shown)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if len(rows) > _MOST_ROWS:
        yield f"and {len(rows) - _MOST_ROWS} more: --format json has all"
    yield ""


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDEST or "(" in text else f"{text[: _WIDEST - 1]}…"


def _show(number: Any, *, percent: bool) -> str:
    if not isinstance(number, int | float):
        return "-"
    return f"{number:.1%}" if percent else f"{number:.4f}"


def _hours(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    minutes = 60
    return f"{seconds:.0f} s" if seconds < 2 * minutes else f"{seconds / minutes:.0f} min"


def _size(size: int | None) -> str:
    """Return a size in the unit that gives it one to three digits before the point."""
    if size is None:
        return "-"
    power = 0
    while size >= 1024 ** (power + 1) and power + 1 < len(_UNITS):
        power += 1
    return f"{size / 1024**power:.2f} {_UNITS[power]}"
