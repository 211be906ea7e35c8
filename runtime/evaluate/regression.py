"""The regression gate: checks that the trained model kept abilities of the base model.

A check fails if even the lower end of the loss's 95% interval is beyond its bound.
The interval comes from a paired bootstrap: both models answer the same questions, or read the
same stretches of a text.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from math import exp, isfinite
from pathlib import Path
from typing import Any

from ..files import read_json
from ..metric import metrics
from ..run import Run
from . import overlap

REPORT = "evaluate/regression.json"
LONGEST_PATH = 256  # letters of a word of a task file that may be a path
_PATHS = re.compile(r"[^\s'\",\[\]{}]+")

Check = Mapping[str, Any]
#: The results of one model: `values` per question, with `tokens` if these are losses in nats.
Scores = Mapping[str, Any]


def list_files(run: Run, checks: Sequence[Check]) -> list[Path]:
    """Return the files of the checks, and those that tasks name; ends the stage if one changed."""
    found = []
    for check in checks:
        path = run.bundle / check["path"]
        if not path.is_file():
            run.stop(f"{check['path']} is missing: a regression check reads it")
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != check["sha256"]:
            run.stop(
                f"{check['path']} is not the file that was checked: compile this bundle again with"
                " `ftc compile SPEC --update`"
            )
        found.append(path)
        if check["kind"] == "task":
            words = _PATHS.findall(content.decode("utf-8-sig"))
            named = {path.parent / word for word in words if len(word) < LONGEST_PATH}
            found += sorted(each for each in named if each.is_file())
    return found


def judge(
    checks: Sequence[Check], before: Sequence[Scores], after: Sequence[Scores]
) -> list[dict[str, Any]]:
    """Return for each check both numbers, the loss with its interval, and the fault or None."""
    return [_judge(*parts) for parts in zip(checks, before, after, strict=True)]


def _judge(check: Check, before: Scores, after: Scores) -> dict[str, Any]:
    old, new = _measure(before), _measure(after)
    change = metrics.compare(old, new)
    is_text = "tokens" in after
    lost, interval = _turn(change, higher=after["higher"], is_text=is_text)
    values = [number if isfinite(number) else None for number in (old.value, new.value)]
    entry = {
        "file": Path(check["path"]).name,
        "kind": check["kind"],
        "measure": after["measure"],
        "percent": after["percent"],
        "rows": change["rows"],
        "before": values[0],
        "after": values[1],
        "lost": lost,
        "interval": interval,
        "max_drop": check["max_drop"],
        "verdict": change["verdict"],
    }
    can_fail = is_text or not after["higher"] or old.value > check["max_drop"]
    return entry | {"can_fail": can_fail, "fault": _find_fault(entry)}


def _measure(scores: Scores) -> metrics.Measured:
    if "tokens" in scores:
        return metrics.loss(scores["values"], scores["tokens"])
    return metrics.mean(scores["values"], higher=scores["higher"], percent=scores["percent"])


def _turn(
    change: Mapping[str, Any], *, higher: bool, is_text: bool
) -> tuple[float | None, list[float] | None]:
    """Return a change as a loss, positive if worse; for a text, the rise in its perplexity."""
    if change["change"] is None:
        return None, None
    ends: list[float] = change["interval"] or []
    if is_text:  # limited to what a float can hold
        lost, *reach = (exp(min(number, 700)) - 1 for number in (change["change"], *ends))
    elif higher:
        lost, *reach = (-number for number in (change["change"], *reversed(ends)))
    else:
        lost, *reach = (change["change"], *ends)
    return lost, reach or None


def _find_fault(entry: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the trained model as a clause, or None."""
    if entry["after"] is None:
        return "the trained model computes no finite number"
    if entry["verdict"] != "worse" or entry["interval"][0] <= entry["max_drop"]:
        return None
    low, high = (_show(end, entry) for end in entry["interval"])
    return (
        f"{entry['measure']} went from {show(entry['before'], entry)} to"
        f" {show(entry['after'], entry)}, a loss of {low} to {high} (95% interval), and max_drop"
        f" is {_show(entry['max_drop'], entry)}"
    )


def show(number: float | None, entry: Mapping[str, Any]) -> str:
    """Return a number of a check as text."""
    if number is not None and entry["kind"] == "text":
        return f"{metrics.perplexity(number):,.2f}"
    return metrics.show(number, percent=entry["percent"])


def _show(number: float, entry: Mapping[str, Any]) -> str:
    """Return a loss as text: in per cent of the perplexity, in points, or as it is."""
    if entry["kind"] == "text":
        return f"{number:.1%}"
    return f"{100 * number:.1f} points" if entry["percent"] else f"{number:.4g}"


# -----------------------------------------------------------------------------
# What is printed, reported and enforced


def lines(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what evaluate.py prints of each check."""
    said = []
    for entry in entries:
        numbers = f"{show(entry['before'], entry)} before, {show(entry['after'], entry)} after"
        said.append(f"{entry['file']}: {entry['measure']} {numbers}: {state(entry)}")
        said.append(f"{entry['file']}: {overlap.describe(entry['overlap'])}")
    return said


def state(entry: Mapping[str, Any]) -> str:
    """Return the verdict on a check in a few words."""
    if entry["fault"] is not None:
        return "FAILED"
    if not entry["can_fail"]:
        return "cannot fail: the model before training has too little to lose"
    return "kept"


def cells(entry: Mapping[str, Any]) -> list[str]:
    """Return a check's row of the report's table."""
    ends = entry["interval"]
    return [
        entry["file"],
        entry["measure"],
        f"{entry['rows']:,}",
        show(entry["before"], entry),
        show(entry["after"], entry),
        "-" if entry["lost"] is None else _show(entry["lost"], entry),
        "-" if ends is None else " to ".join(_show(end, entry) for end in ends),
        _show(entry["max_drop"], entry),
        state(entry),
    ]


def describe(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what evaluate/regression.json holds: the checks, and the texts of the report."""
    rule = (
        f"A question is in a training row if they share {overlap.WORDS} words in a row, or all of a"
        f" shorter question of at least {overlap.LEAST_WORDS} words."
    )
    return {
        "version": 1,
        "checks": list(entries),
        "rows": [cells(entry) for entry in entries],
        "overlaps": [f"{each['file']}: {overlap.describe(each['overlap'])}." for each in entries],
        "rule": rule,
    }


def ensure_kept(run: Run) -> None:
    """End the stage if a check failed; the evaluation and its report stay as they are."""
    entries = read_json(run.folder / REPORT)["checks"]
    failed = [entry for entry in entries if entry["fault"] is not None]
    if failed:
        more = f" (and {len(failed) - 1} more checks failed)" if len(failed) > 1 else ""
        run.stop(
            f"the trained model lost too much on {failed[0]['file']}: {failed[0]['fault']}{more};"
            " lower training.learning_rate, mix data of this kind into the training, or raise"
            " max_drop"
        )
