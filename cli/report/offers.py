"""Shows what a run costs and takes on each offer: a table for people, data for programs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ftc.offers import Quote, find_mistakes, rank_by_time
from ftc.report.json_output import VERSION, list_findings
from ftc.spec.findings.finding import Finding

_HOUR: Final = 3600


def report_offers(quotes: Sequence[Quote]) -> str:
    """Return the offers on which the run fits, the cheapest first, and why it fits on no other."""
    times = [each.offer.name for each in rank_by_time(quotes)]
    rows = [["by cost", "by time", "cost", "hours", "offer", "hardware", "an hour"]]
    rows += [
        [
            str(place),
            str(times.index(each.offer.name) + 1) if each.offer.name in times else "-",
            "-" if each.cost is None else f"{each.cost:.2f}",
            "-" if each.seconds is None else f"{each.seconds / _HOUR:.2f}",
            each.offer.name,
            _machine(each),
            f"{each.offer.price_per_hour:g}",
        ]
        for place, each in enumerate(quotes, start=1)
        if each.refusal is None
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    if len(rows) == 1:
        lines = ["the run fits on none of these offers"]
    return "\n".join([*lines, *_refused(quotes)])


def offers_data(quotes: Sequence[Quote]) -> Mapping[str, Any]:
    """Return the offers as plain data: those on which the run fits, the cheapest first."""
    times = [each.offer.name for each in rank_by_time(quotes)]
    return {
        "version": VERSION,
        "offers": [
            {
                "name": each.offer.name,
                "hardware": dict(each.offer.hardware),
                "price_per_hour": each.offer.price_per_hour,
                "seconds": each.seconds,
                "cost": each.cost,
                "by_time": times.index(each.offer.name) + 1 if each.offer.name in times else None,
                "refusal": None if each.refusal is None else _reason(each.refusal),
            }
            for each in quotes
        ],
        "findings": list_findings(find_mistakes(quotes)),
    }


def _reason(finding: Finding) -> Mapping[str, str]:
    return {"code": finding.code, "message": finding.message}


def _refused(quotes: Sequence[Quote]) -> Iterator[str]:
    """Yield a line for each reason, with the offers that share it."""
    reasons: dict[str, list[str]] = {}
    for each in quotes:
        if each.refusal is not None:
            why = f"{each.refusal.message} ({each.refusal.code})"
            reasons.setdefault(why, []).append(each.offer.name)
    if reasons:
        yield ""
    for why, names in reasons.items():
        yield f"not {', '.join(names)}: {why}"


def _machine(each: Quote) -> str:
    hardware = each.offer.hardware
    count, nodes = hardware.get("count", 1), hardware.get("nodes", 1)
    machine = f"{count}x {hardware.get('gpu', 'auto')}"
    return machine if nodes == 1 else f"{nodes} nodes of {machine}"
