"""Divides records into training, validation and test; those with the same prompt stay together."""

import random
from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from .preparing import Records

Splits = dict[str, "array[int]"]


def divide(
    records: Records, shares: Mapping[str, float], *, seed: int, stratify: bool, by_source: bool
) -> Splits:
    """Return the numbers of the records of each split, shuffled.

    `shares` has the shares of the splits other than training. With `stratify` each split has its
    share of every label, exact to a row; with `by_source` of every source.
    """
    draw = random.Random(seed)  # noqa: S311 - a split, no secret
    members = np.argsort(records.prompts, kind="stable")  # records with one prompt are neighbours
    keys = np.asarray(records.prompts)[members]
    edges = np.flatnonzero(keys[1:] != keys[:-1]) + 1  # where one group ends and the next begins
    edges = np.concatenate(([0], edges, [len(members)]))
    firsts = members[edges[:-1]]  # the first record of each group
    splits = {name: array("I") for name in ("train", "validation", "test")}
    walk = np.argsort(firsts)
    if shares:
        chances = np.fromiter((draw.random() for _ in keys), float, len(keys))[firsts]
        walk = _order_groups(records, firsts, chances, stratify=stratify, by_source=by_source)
    # Each split takes the next group when half of the group is due to it.
    due = dict.fromkeys(shares, 0.0)
    for place in walk:
        rows = members[edges[place] : edges[place + 1]].tolist()
        for name, share in shares.items():
            due[name] += share * len(rows)
        chosen = max(due, key=lambda name: due[name]) if due else "train"
        if due and due[chosen] >= len(rows) / 2:
            due[chosen] -= len(rows)
            splits[chosen].extend(rows)
        else:
            splits["train"].extend(rows)
    for split in splits.values():
        draw.shuffle(split)
    return splits


def _order_groups(
    records: Records, firsts: Any, chances: Any, *, stratify: bool, by_source: bool
) -> Any:
    """Return the order in which groups are dealt: at random within each label and source."""
    columns = [chances]
    if stratify:
        alphabet = {name: place for place, name in enumerate(sorted(records.names))}
        places = np.array([alphabet[name] for name in records.names])
        columns.append(places[records.labels][firsts])
    if by_source:
        columns.append(np.asarray(records.origins)[firsts])
    return np.lexsort(columns)
