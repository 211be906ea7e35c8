"""Offers of rented machines: reads their file, and plans a spec's run on each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Any, Final

from ftc.compiler.pipeline import Outcome, check
from ftc.compiler.resolve.resolver import Resolver
from ftc.spec.findings.finding import EnvironmentFailure, Finding
from ftc.spec.load import load_document
from ftc.spec.normal import lengthen
from ftc.spec.pointer import dotted, join

SCHEMA: Final = "offers.schema.json"
_HOUR: Final = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A machine: its seller's name, its `hardware` section, and its price per hour."""

    name: str
    hardware: Mapping[str, Any]
    price_per_hour: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """What the run takes on an offer; `refusal` is the first error, None where the run fits."""

    offer: Offer
    outcome: Outcome
    refusal: Finding | None

    @property
    def seconds(self) -> float | None:
        """The planned seconds of the run."""
        plan = self.outcome.plan
        return plan.time_seconds if plan is not None and self.refusal is None else None

    @property
    def cost(self) -> float | None:
        """The planned cost of the run, on all nodes and not rounded."""
        seconds, nodes = self.seconds, self.offer.hardware.get("nodes", 1)
        return None if seconds is None else seconds / _HOUR * self.offer.price_per_hour * nodes


def read_offers(path: Path) -> tuple[Offer, ...]:
    """Read a file of offers; raises EnvironmentFailure with the place of its first mistake."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - for --offers only
    from jsonschema.exceptions import best_match  # noqa: PLC0415 - for --offers only

    document = load_document(str(path))
    if isinstance(document, tuple):
        raise _wrong(path, document[0].message)
    schema = json.loads((files("ftc") / SCHEMA).read_text(encoding="utf-8"))
    error = best_match(Draft202012Validator(schema).iter_errors(document.data))
    if error is not None:
        place = dotted(join(error.absolute_path)) if error.absolute_path else "the file"
        raise _wrong(path, f"{place}: {error.message}")
    offers: dict[str, Offer] = {}
    for index, each in enumerate(document.data["offers"]):
        name, hardware = each["name"], dict(lengthen("hardware", each["hardware"]))
        if name in offers:
            raise _wrong(path, f"offers[{index}].name: {name!r} is given twice")
        if "price_per_hour" in hardware:
            raise _wrong(path, f"offers[{index}]: `price_per_hour` belongs beside `hardware`")
        offers[name] = Offer(name=name, hardware=hardware, price_per_hour=each["price_per_hour"])
    return tuple(offers.values())


def quote(source: str, offers: Sequence[Offer], overrides: Mapping[str, str]) -> tuple[Quote, ...]:
    """Plan a spec on each offer, and return the cheapest run first; what does not fit is last."""
    resolver = Resolver()
    quotes = []
    for offer in offers:
        section = json.dumps(offer.hardware)
        outcome = check(source, overrides={**overrides, "hardware": section}, resolver=resolver)
        errors = [each for each in outcome.findings if each.severity == "error"]
        quotes.append(Quote(offer=offer, outcome=outcome, refusal=errors[0] if errors else None))
    return tuple(sorted(quotes, key=_by_cost))


def rank_by_time(quotes: Sequence[Quote]) -> tuple[Quote, ...]:
    """Return the offers whose time is known, the fastest run first."""
    fitting = [each for each in quotes if each.seconds is not None]
    return tuple(sorted(fitting, key=lambda each: (each.seconds, each.cost)))


def find_mistakes(quotes: Sequence[Quote]) -> tuple[Finding, ...]:
    """Return the errors that are the spec's own: they prevent a plan on every offer."""
    if any(each.outcome.plan is not None for each in quotes):
        return ()
    others = [
        {(found.code, found.message) for found in each.outcome.findings} for each in quotes[1:]
    ]
    return tuple(
        found
        for found in quotes[0].outcome.findings
        if found.severity == "error"
        and not str(found.pointer).startswith("/hardware")
        and all((found.code, found.message) in other for other in others)
    )


def _by_cost(each: Quote) -> tuple[bool, float, float]:
    cost, seconds = each.cost, each.seconds
    return (
        each.refusal is not None,
        inf if cost is None else cost,
        inf if seconds is None else seconds,
    )


def _wrong(path: Path, reason: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        message=f"`{path}` is not a file of offers: {reason}",
        help='write it as {"offers": [{"name": "...", "hardware": "1x L4", "price_per_hour": 1}]}',
    )
