"""Confidence intervals of numbers measured on test rows, and whether two models differ.

A measure is a function of how often each row counts. If every row counts once, it is the number
itself. For rows drawn with replacement, it is a number that other test rows could have given.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, isfinite, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

LEVEL = 0.95  # of every interval
DRAWS = 2000  # samples of each bootstrap
SEED = 0  # of the samples: the same rows give the same interval
# Two models must differ on this many rows before one can be better. By chance, five differences
# all favour the same model in 2 of 32 cases (sign test, Dixon and Mood 1946).
LEAST_ROWS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A number measured on test rows.

    `parts` has one value per row; two models differ on a row if their values do. `measure` takes
    how often each row counts. `higher`: a higher number is better. `share`: the number is a share
    of rows. `percent`: it is shown in per cent.
    """

    parts: Sequence[Any]
    measure: Callable[[Any], float]
    higher: bool
    share: bool = False
    percent: bool = False

    @property
    def value(self) -> float:
        """The number itself: every row counts once."""
        return float(self.measure(np.ones(len(self.parts))))


# -----------------------------------------------------------------------------
# What can be measured


def mean(scores: Sequence[float], *, higher: bool = True, percent: bool = False) -> Measured:
    """Measure the mean over the rows."""
    numbers = np.asarray(scores, float)
    return Measured(
        parts=scores,
        measure=lambda times: times @ numbers / max(times.sum(), 1),
        higher=higher,
        percent=percent,
    )


def share(hits: Sequence[float]) -> Measured:
    """Measure the share of right rows; each hit is 1 or 0."""
    found = mean(hits)
    return Measured(parts=hits, measure=found.measure, higher=True, share=True, percent=True)


def loss(nats: Sequence[float], tokens: Sequence[int]) -> Measured:
    """Measure the loss per learned token; every token has the same weight."""
    amounts, sizes = np.asarray(nats, float), np.asarray(tokens, float)
    return Measured(
        parts=nats, measure=lambda times: times @ amounts / max(times @ sizes, 1), higher=False
    )


# -----------------------------------------------------------------------------
# Intervals and comparisons


def t_quantile(probability: float, freedom: int) -> float:
    """Return a quantile of Student's t (series 26.7.5 of Abramowitz and Stegun 1964)."""
    x = NormalDist().inv_cdf(probability)
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return float(x + sum(term / freedom**power for power, term in enumerate(terms, 1)))


def bootstrap(measure: Callable[[Any], float], rows: int) -> list[float] | None:
    """Return the ends of a 95% interval, or None for too few rows or a number that is not finite.

    The expanded percentile interval of Hesterberg (2015, doi:10.1080/00031305.2015.1089789):
    quantiles of the measure over samples drawn with replacement. They are widened as a t interval
    is, because a small sample varies less than the population it was drawn from.
    """
    if rows < LEAST_ROWS or not isfinite(measure(np.ones(rows))):
        return None
    generator = np.random.default_rng(SEED)
    samples = (generator.integers(rows, size=rows) for _ in range(DRAWS))
    found = [measure(np.bincount(sample, minlength=rows)) for sample in samples]
    reach = sqrt(rows / (rows - 1)) * t_quantile((1 + LEVEL) / 2, rows - 1)
    beyond = NormalDist().cdf(-reach)
    ends = np.nanquantile(found, [beyond, 1 - beyond]).tolist()
    return ends if all(map(isfinite, ends)) else None


def wilson(portion: float, rows: int) -> list[float]:
    """Return the ends of a 95% interval of a share (Wilson 1927, doi:10.2307/2276774).

    Unlike the bootstrap, it has a width even if all rows are right, or none.
    """
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    middle = portion + z * z / (2 * rows)
    reach = z * sqrt(portion * (1 - portion) / rows + z * z / (4 * rows * rows))
    scale = 1 + z * z / rows
    low = 0.0 if portion == 0 else (middle - reach) / scale
    return [low, 1.0 if portion == 1 else (middle + reach) / scale]


def interval(found: Measured) -> list[float] | None:
    """Return the ends of the number's 95% interval."""
    if found.share:
        return wilson(found.value, len(found.parts))
    return bootstrap(found.measure, len(found.parts))


def compare(before: Measured, after: Measured) -> dict[str, Any]:
    """Return how much a number changed on the same rows, the interval of the change, a verdict.

    The paired bootstrap (Efron and Tibshirani 1993; Koehn 2004, aclanthology.org/W04-3250): each
    sample has the same rows for both models, so rows that are hard for both add no noise.
    """
    rows = len(after.parts)
    differ = sum(one != other for one, other in zip(before.parts, after.parts, strict=True))
    change = after.value - before.value
    ends = bootstrap(lambda times: after.measure(times) - before.measure(times), rows)
    verdict = "not distinguishable"
    if ends and differ >= LEAST_ROWS and (ends[0] > 0 or ends[1] < 0):
        verdict = "better" if (ends[0] > 0) == after.higher else "worse"
    return {
        "change": change if isfinite(change) else None,
        "interval": ends,
        "rows": rows,
        "differ": differ,
        "verdict": verdict,
    }


# -----------------------------------------------------------------------------
# The report

TITLES = {
    "macro_f1": "macro-F1",
    "rouge_l": "ROUGE-L",
    "chrf": "chrF",
    "loss": "loss",
    "divergence": "divergence from the teacher",
    "reward": "mean reward",
    "chosen_likelier": "the chosen answer is the likelier one",
    "desirable_likelier": "a desirable answer is the likelier one",
    "reward_accuracy": "the better answer is rewarded more",
    "reward_margin": "reward margin",
    "ndcg_at_10": "nDCG@10",
    "mrr_at_10": "MRR@10",
    "recall_at_10": "recall@10",
    "spearman": "Spearman's correlation",
}


def title(name: str) -> str:
    """Return the name of a number for a sentence; `name_first_64` is of cut vectors."""
    base, cut, size = name.partition("_first_")
    return TITLES.get(base, base.replace("_", " ")) + (f", first {size} numbers" if cut else "")


def describe(
    after: dict[str, Measured], before: dict[str, Measured] | None, compared_with: str
) -> dict[str, Any]:
    """Return the numbers, their intervals, and the comparison with `before`.

    A number that is not finite is None: JSON has none, and a split of one class has no margin.

    `before` is None, or has the numbers of the other model that could be measured.
    """
    report: dict[str, Any] = _list_values(after)
    report["judged"] = {name: len(found.parts) for name, found in after.items()}
    report["percent"] = [name for name, found in after.items() if found.percent]
    report["intervals"] = {name: interval(found) for name, found in after.items()}
    if before is None:
        return report
    report |= {
        "compared_with": compared_with,
        "base": _list_values(before),
        "base_intervals": {name: interval(found) for name, found in before.items()},
        "changes": {name: compare(before[name], after[name]) for name in after if name in before},
    }
    return report | {"verdict": conclude(report)}


def _list_values(measured: dict[str, Measured]) -> dict[str, float | None]:
    values = {name: found.value for name, found in measured.items()}
    return {name: number if isfinite(number) else None for name, number in values.items()}


def show(number: float | None, *, percent: bool) -> str:
    """Return a number as text for a sentence."""
    if number is None:
        return "not a finite number"
    return f"{number:.1%}" if percent else f"{number:.4f}"


def _tell(verdict: str, other: str) -> str:
    """Return a verdict on the trained model, with the model it is compared with."""
    return f"{verdict} {'from' if verdict == 'not distinguishable' else 'than'} {other}"


def conclude(report: dict[str, Any]) -> str:
    """Return a sentence that states whether the trained model is better than the other one."""
    name, change = next(iter(report["changes"].items()))
    percent = name in report["percent"]
    verdict = f"The trained model is {_tell(change['verdict'], report['compared_with'])}"
    numbers = [show(values[name], percent=percent) for values in (report, report["base"])]
    where = f"on {change['rows']:,} row{'s' * (change['rows'] != 1)}"
    sentence = f"{verdict}: {title(name)} {numbers[0]} against {numbers[1]} {where}"
    if change["interval"] is None:
        return f"{sentence}, too few to compare."
    if change["differ"] < LEAST_ROWS:
        return f"{sentence}; they differ in {change['differ']}, and {LEAST_ROWS} are needed."
    scale, unit = (100, " points") if percent else (1, "")
    low, high = (f"{scale * end:+.{1 if percent else 4}f}" for end in change["interval"])
    return f"{sentence} (95% interval of the difference: {low} to {high}{unit})."


def lines(report: dict[str, Any]) -> list[str]:
    """Return a line per number, with its interval and the comparison."""
    said = [f"{'rows':>16}  {report['rows']:,}"]
    for name in report["judged"]:
        line, ends = show(report[name], percent=False), report["intervals"][name]
        line = f"{name:>16}  {line}"
        if ends:
            line += f"  ({ends[0]:.4f} to {ends[1]:.4f})"
        change = report.get("changes", {}).get(name)
        if change:
            base = show(report["base"][name], percent=False)
            line += f"  {_tell(change['verdict'], report['compared_with'])} ({base})"
        said.append(line)
    rest = {name: n for name, n in report.items() if name not in {"rows", *report["judged"]}}
    for name, number in rest.items():
        if isinstance(number, int):
            said.append(f"{name:>16}  {number:,}")
        elif isinstance(number, float):
            said.append(f"{name:>16}  {number:.4f}")
    return [*said, report["verdict"]] if "verdict" in report else said


def perplexity(number: float) -> float:
    """Return the exponential of a loss, limited to what a float can hold."""
    return exp(min(number, 700))
