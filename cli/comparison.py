"""Compares two or more runs: their specs, decisions and results."""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.normal import normalise
from ftc.spec.pointer import join
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document
from ftc.spec.validate import validate
from ftc.tui.watch.records import read_object
from ftc.tui.watch.run import Run, Watched

if TYPE_CHECKING:
    from ftc.runtime.metric.metrics import Measured

Verdict = Literal["better", "worse", "not distinguishable", "not comparable"]
_SHARES: Final = frozenset({"accuracy", "exact_match", "numeric_match"})
_LOWER: Final = frozenset({"loss", "divergence"})
_MODELS: Final = ("*.safetensors", "*.bin")
_PAIRED_ROWS: Final = 6  # LEAST_ROWS of runtime.metric.metrics, which needs numpy


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run: its long spec, what was decided, and what was measured on its test rows.

    `report` is run/evaluate/report.json, empty before the evaluation. `rows` maps each judged test
    row to what predictions.jsonl says of it.
    """

    run: Run
    spec: Mapping[str, Any]
    decisions: Mapping[str, Any]
    report: Mapping[str, Any]
    rows: Mapping[tuple[str, ...], Mapping[str, Any]]
    model_bytes: int | None
    gguf_bytes: Mapping[str, int]

    @property
    def name(self) -> str:
        """The run's name."""
        return self.run.name

    @property
    def metric(self) -> str | None:
        """The measure that decides: the first that was judged."""
        return next(iter(self.report.get("judged", {})), None)

    @property
    def seconds(self) -> Mapping[str, float]:
        """The seconds of each stage that ended."""
        return {
            stage.name: stage.seconds
            for stage in self.run.stages
            if stage.status == "done" and stage.seconds is not None
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """How a measure differs between two runs; `rows` is 0 where it was not compared row by row.

    `change` is the second run's number less the first's, and `interval` its 95% interval.
    """

    measure: str
    first: float | None
    second: float | None
    verdict: Verdict
    rows: int = 0
    differ: int = 0
    change: float | None = None
    interval: tuple[float, float] | None = None


def read_results(folders: Sequence[Path]) -> tuple[Result, ...]:
    """Read several bundles; bundles with the same name are distinguished by their folders."""
    results = tuple(map(_read_result, folders))
    names = Counter(result.name for result in results)
    return tuple(
        replace(each, run=replace(each.run, name=str(each.run.folder)))
        if names[each.name] > 1
        else each
        for each in results
    )


def _read_result(folder: Path) -> Result:
    """Read a bundle and what its stages wrote; raises EnvironmentFailure if there is none."""
    run = Watched(folder).look(time.time())
    spec = read_object(folder / "spec.json") or {}
    lock = read_object(folder / "ftc.lock.json") or {}
    decided = lock.get("decisions")
    decisions = decided if isinstance(decided, dict) else {}
    files = [path for pattern in _MODELS for path in (folder / "run/merged").glob(pattern)]
    return Result(
        run=run,
        spec=_long(folder, spec),
        decisions={
            name: each.get("value") for name, each in decisions.items() if isinstance(each, dict)
        },
        report=read_object(folder / "run/evaluate/report.json") or {},
        rows=_read_rows(folder / "run/evaluate/predictions.jsonl"),
        model_bytes=sum(path.stat().st_size for path in files) or None,
        gguf_bytes={
            path.name: path.stat().st_size for path in sorted((folder / "run").rglob("*.gguf"))
        },
    )


def find_spec_differences(results: Sequence[Result]) -> Mapping[str, tuple[Any, ...]]:
    """Return the fields whose values differ, by pointer, with the value of each run."""
    flat = [dict(_leaves(result.spec)) for result in results]
    pointers = dict.fromkeys(pointer for each in flat for pointer in each)
    return _differing(pointers, flat, besides=("/name",))


def find_decision_differences(results: Sequence[Result]) -> Mapping[str, tuple[Any, ...]]:
    """Return the decisions whose values differ, by name, with the value of each run."""
    names = dict.fromkeys(name for result in results for name in result.decisions)
    return _differing(names, [result.decisions for result in results])


def compare(first: Result, second: Result) -> tuple[Change, ...]:
    """Compare each measure that both runs have, the deciding one first.

    Rows that both runs answered are compared in pairs. What has no numbers by row, as the loss, is
    compared by its two intervals, which must not touch for a verdict.
    """
    names = [name for name in first.report.get("judged", {}) if name in second.report]
    return tuple(_compare(name, first, second) for name in names)


def choose_best(results: Sequence[Result]) -> tuple[Result, tuple[Result, ...]] | None:
    """Return the run with the best number, and those not distinguishable from it.

    None if a run was not evaluated, or if they have no deciding measure in common.
    """
    metric = results[0].metric
    if metric is None or any(result.metric != metric for result in results):
        return None
    numbers = [result.report.get(metric) for result in results]
    if not all(isinstance(number, int | float) for number in numbers):
        return None
    sign = -1 if metric in _LOWER else 1
    best = max(results, key=lambda result: sign * result.report[metric])
    others = [result for result in results if result is not best]
    like = [other for other in others if _compare(metric, best, other).verdict != "worse"]
    return best, tuple(like)


def _compare(name: str, first: Result, second: Result) -> Change:
    numbers = [_number(result.report.get(name)) for result in (first, second)]
    common = [key for key in first.rows if key in second.rows]
    pairs = [_measure(name, result, common) for result in (first, second)]
    if len(common) >= _PAIRED_ROWS and pairs[0] is not None and pairs[1] is not None:
        from ftc.runtime.metric.metrics import compare as compare_rows  # noqa: PLC0415 - needs numpy

        found = compare_rows(pairs[0], pairs[1])
        ends = found["interval"]
        return Change(
            measure=name,
            first=pairs[0].value,
            second=pairs[1].value,
            verdict=found["verdict"],
            rows=found["rows"],
            differ=found["differ"],
            change=found["change"],
            interval=None if ends is None else (ends[0], ends[1]),
        )
    return Change(
        measure=name,
        first=numbers[0],
        second=numbers[1],
        verdict=_by_intervals(name, first, second),
    )


def _measure(name: str, result: Result, keys: Sequence[tuple[str, ...]]) -> "Measured | None":
    """Return a measure of some rows; None where predictions.jsonl does not hold it."""
    if name != result.metric and name not in {"accuracy", "macro_f1"}:
        return None
    _require_numpy()
    from ftc.runtime.metric import label_metrics, metrics  # noqa: PLC0415 - they need numpy

    rows = [result.rows[key] for key in keys]
    if all("margin" in row for row in rows):
        return metrics.share([float(row["margin"] > 0) for row in rows])
    if not all("score" in row and "said" in row for row in rows):
        return None
    if name == "macro_f1":
        return label_metrics.macro_f1(
            [str(row["said"]) for row in rows], [str(row["answer"]) for row in rows]
        )
    scores = [float(row["score"]) for row in rows]
    return metrics.share(scores) if name in _SHARES else metrics.mean(scores, percent=True)


def _by_intervals(name: str, first: Result, second: Result) -> Verdict:
    """Return a verdict by whether two intervals touch, which is stricter than a paired test."""
    ends = [result.report.get("intervals", {}).get(name) for result in (first, second)]
    if not all(isinstance(each, list) and len(each) == 2 for each in ends):  # noqa: PLR2004
        return "not comparable"
    if name in _LOWER and _tokens(first) != _tokens(second):
        return "not comparable"
    (low, high), (other_low, other_high) = ends
    if low <= other_high and other_low <= high:
        return "not distinguishable"
    return "better" if (other_low > high) != (name in _LOWER) else "worse"


def _tokens(result: Result) -> tuple[Any, Any]:
    """Return the inputs that determine a loss per token, which depends on the tokens."""
    return result.report.get("rows"), result.report.get("tokens")


def _long(folder: Path, spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a bundle's spec with every default; nothing of one that is not valid."""
    document = Document(name="spec.json", folder=folder, text="", data=spec, positions={})
    return normalise(spec) if isinstance(validate(document), Spec) else {}


def _read_rows(path: Path) -> Mapping[tuple[str, ...], Mapping[str, Any]]:
    """Return the judged rows by their texts; of equal rows each has its number."""
    rows: dict[tuple[str, ...], Mapping[str, Any]] = {}
    seen: Counter[tuple[str, ...]] = Counter()
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return rows
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            key = tuple(str(row.get(each)) for each in ("prompt", "answer", "chosen", "rejected"))
            seen[key] += 1
            rows[(*key, str(seen[key]))] = row
    return rows


def _require_numpy() -> None:
    try:
        import numpy  # noqa: F401, ICN001, PLC0415 - only its presence matters
    except ImportError:
        raise EnvironmentFailure(
            message="results cannot be compared without numpy",
            help="run `pip install numpy`",
        ) from None


def _leaves(value: Any, parts: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*parts, str(key)))
    else:
        yield join(parts), value


def _differing(
    names: Mapping[str, None], sides: Sequence[Mapping[str, Any]], besides: tuple[str, ...] = ()
) -> Mapping[str, tuple[Any, ...]]:
    found = {name: tuple(side.get(name) for side in sides) for name in names if name not in besides}
    return {
        name: values
        for name, values in found.items()
        if any(value != values[0] for value in values[1:])
    }


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
