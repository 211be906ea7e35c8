"""Divides records into training, validation and test; those with the same prompt stay together."""

import random
from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from .preparing import Records
from .split_sizes import count_held_out

Splits = dict[str, "array[int]"]


def divide(
    records: Records, shares: Mapping[str, float], *, seed: int, stratify: bool, by_source: bool
) -> Splits:
    """Return the numbers of the records of each split, shuffled.

    `shares` has the shares of the splits other than training, which have the planned rows as nearly
    as rows with one prompt allow. With `stratify` each split has its share of every label, exact to
    a row; with `by_source` of every source.
    """
    draw = random.Random(seed)  # noqa: S311 - a split, no secret
    members = np.argsort(records.prompts, kind="stable")  # records with one prompt are neighbours
    keys = np.asarray(records.prompts)[members]
    edges = np.flatnonzero(keys[1:] != keys[:-1]) + 1  # where one group ends and the next begins
    edges = np.concatenate(([0], edges, [len(members)]))
    firsts = members[edges[:-1]]  # the first record of each group
    walk = np.argsort(firsts)
    if shares:
        chances = np.fromiter((draw.random() for _ in keys), float, len(keys))[firsts]
        walk = _order_groups(records, firsts, chances, stratify=stratify, by_source=by_source)
    wanted = count_held_out(shares, len(keys))
    dealt = _deal(walk.tolist(), np.diff(edges).tolist(), wanted)
    splits = {name: array("I") for name in ("train", "validation", "test")}
    for place, name in dealt.items():
        splits[name].extend(members[edges[place] : edges[place + 1]].tolist())
    for split in splits.values():
        draw.shuffle(split)
    return splits


def _deal(walk: list[int], sizes: list[int], wanted: Mapping[str, int]) -> dict[int, str]:
    """Return the split of each group of rows, by its place in `sizes`, in the order of `walk`.

    Each split takes the next group when half of the group is due to it. Then groups of training
    fill up what a split still lacks; one without any takes the smallest.
    """
    rows = sum(sizes)
    due = dict.fromkeys(wanted, 0.0)
    dealt = dict.fromkeys(walk, "train")
    for place in walk:
        for name in due:
            due[name] += wanted[name] / rows * sizes[place]
        chosen = max(due, key=lambda name: due[name], default="train")
        if due and due[chosen] >= sizes[place] / 2:
            due[chosen] -= sizes[place]
            dealt[place] = chosen
    for name, count in wanted.items():
        left = [place for place in reversed(walk) if dealt[place] == "train"]
        lacking = count - sum(sizes[place] for place in walk if dealt[place] == name)
        for place in left:
            if sizes[place] <= lacking:
                lacking -= sizes[place]
                dealt[place] = name
        if count and name not in dealt.values() and len(left) > 1:
            dealt[min(left, key=sizes.__getitem__)] = name
    return dealt


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
