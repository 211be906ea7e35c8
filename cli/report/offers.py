"""What a run takes on each offer, by cost: a table for people, data for programs."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ftc.offers import Quote, find_fastest
from ftc.report.json_output import VERSION

_HOUR: Final = 3600


def report_offers(quotes: Sequence[Quote]) -> str:
    """Return the offers on which the run fits, the cheapest first, and why it fits on no other."""
    rows = [["cost", "hours", "offer", "hardware", "an hour"]]
    rows += [
        [
            "-" if each.cost is None else f"{each.cost:.2f}",
            "-" if each.seconds is None else f"{each.seconds / _HOUR:.2f}",
            each.offer.name,
            _machine(each),
            f"{each.offer.price_per_hour:g}",
        ]
        for each in quotes
        if each.refusal is None
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    fastest = find_fastest(quotes)
    if fastest is None:
        lines = ["the run fits on none of these offers"]
    else:
        cheapest = next(each for each in quotes if each.seconds is not None)
        both = cheapest is fastest
        lines.append("")
        lines.append(f"cheapest{' and fastest' if both else ''}: {cheapest.offer.name}")
        lines += [] if both else [f"fastest: {fastest.offer.name}"]
    for each in quotes:
        if each.refusal is not None:
            lines.append(f"not {each.offer.name}: {each.refusal.message} ({each.refusal.code})")
    return "\n".join(lines)


def offers_data(quotes: Sequence[Quote]) -> Mapping[str, Any]:
    """Return the offers as plain data, in the order of their cost."""
    fastest = find_fastest(quotes)
    return {
        "version": VERSION,
        "offers": [
            {
                "name": each.offer.name,
                "hardware": dict(each.offer.hardware),
                "price_per_hour": each.offer.price_per_hour,
                "fits": each.refusal is None,
                "seconds": each.seconds,
                "cost": each.cost,
                "refusal": None if each.refusal is None else each.refusal.code,
            }
            for each in quotes
        ],
        "fastest": None if fastest is None else fastest.offer.name,
    }


def _machine(each: Quote) -> str:
    hardware = each.offer.hardware
    count, nodes = hardware.get("count", 1), hardware.get("nodes", 1)
    machine = f"{count}x {hardware.get('gpu', 'auto')}"
    return machine if nodes == 1 else f"{nodes} nodes of {machine}"
