"""Metrics of labels on test rows: accuracy, macro-F1, the numbers of each label, chance."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from .metrics import Measured, compare, share


def macro_f1(said: Sequence[str], right: Sequence[str]) -> Measured:
    """Measure the mean over labels of F1 = 2 hits / (predictions + rows of the label)."""
    places = {label: place for place, label in enumerate(dict.fromkeys(right))}
    others = len(places)  # an answer that is no label of these rows
    told = np.array([places.get(label, others) for label in said])
    asked = np.array([places[label] for label in right])

    def measure(times: Any) -> float:
        hits = np.bincount(asked[told == asked], times[told == asked], minlength=others)
        wanted = np.bincount(asked, times, minlength=others)
        both = wanted + np.bincount(told, times, minlength=others + 1)[:others]
        return float((2 * hits[wanted > 0] / both[wanted > 0]).mean())

    return Measured(parts=said, measure=measure, higher=True, percent=True)


def by_label(said: Sequence[str], right: Sequence[str]) -> list[dict[str, Any]]:
    """Return precision, recall, F1 and the rows of each label, the worst F1 first.

    The precision of a label that was never predicted is None.
    """
    asked, told = Counter(right), Counter(said)
    hits = Counter(one for one, other in zip(said, right, strict=True) if one == other)
    found = [
        {
            "label": label,
            "precision": hits[label] / told[label] if told[label] else None,
            "recall": hits[label] / rows,
            "f1": 2 * hits[label] / (rows + told[label]),
            "support": rows,
        }
        for label, rows in asked.items()
    ]
    return sorted(found, key=lambda entry: (entry["f1"], -entry["support"], entry["label"]))


def measure(said: Sequence[str], right: Sequence[str], *, first: str) -> dict[str, Measured]:
    """Return accuracy and macro-F1 by name, the one named `first` before the other."""
    hits = [float(one == other) for one, other in zip(said, right, strict=True)]
    both = {"accuracy": share(hits), "macro_f1": macro_f1(said, right)}
    return {first: both[first], **both}


def describe_chance(
    said: Sequence[str], right: Sequence[str], known: Counter[str]
) -> dict[str, Any]:
    """Return what answers without understanding would reach, and how many answers are no label.

    `known` counts the labels of the training rows.
    """
    most_common = known.most_common(1)[0][0]
    common = share([float(answer == most_common) for answer in right])
    accuracy = share([float(one == other) for one, other in zip(said, right, strict=True)])
    return {
        "chance": 1 / len(known),
        "majority_class": common.value,
        "labels": len(known),
        "other_answers": sum(answer not in known for answer in said),
        "majority_verdict": compare(common, accuracy)["verdict"],
    }
