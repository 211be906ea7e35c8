"""An epoch of several sources has them in the proportion of their weights."""

from array import array
from collections import Counter
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np

from ftc.runtime.prepare.mixture import mix, name_sources
from ftc.runtime.prepare.preparing import Records, Rows
from ftc.runtime.prepare.records import Source

ORIGINS = [0] * 30 + [1] * 10


def count(**settings: list[int]) -> Counter[int]:
    """Return how many rows of each source an epoch has; every second record is in training."""
    given = {"weights": [1, 1], "max_repeats": [10, 10], **settings}
    epoch = mix(
        range(0, 40, 2), ORIGINS,
        weights=given["weights"], max_repeats=given["max_repeats"], seed=1,
    )  # fmt: skip
    assert all(record % 2 == 0 for record in epoch)
    return Counter(ORIGINS[record] for record in epoch)


def test_every_record_is_in_the_epoch() -> None:
    """15 and 5 records by equal weights: the second source is repeated."""
    assert count() == {0: 15, 1: 15}


def test_repeats_are_limited() -> None:
    """The epoch is shorter if a record would be in it too often."""
    assert count(max_repeats=[10, 2]) == {0: 10, 1: 10}
    assert count(weights=[3, 1], max_repeats=[1, 1]) == {0: 15, 1: 5}


def test_each_line_of_a_split_has_its_source(tmp_path: Path) -> None:
    """Also those of a long text, which `split_text` divides into several lines of one record."""
    texts = [b'{"text": "a"}\n', b'{"text": "b"}\n{"text": "c"}\n', b'{"text": "d"}\n']
    path = tmp_path / "records"
    path.write_bytes(b"".join(texts))
    records = Records(
        file=path.open("rb"),
        ends=array("Q", [0, *accumulate(map(len, texts))]),
        lengths=array("I", [1, 2, 1]),
        learned=array("I", [1, 2, 1]),
        prompts=array("q", [1, 2, 3]),
        labels=array("I", [0, 0, 0]),
        origins=array("I", [0, 1, 1]),
        reasons=array("B", [0, 0, 0]),
        names={},
    )
    empty = Source(columns={}, read=lambda _: "blank", chunks=lambda: iter(()))
    sources = [replace(empty, name=name) for name in ("books", "letters")]
    rows = Rows(
        sources=sources,
        counts=[1, 2],
        origins=np.array([0, 1, 1], "uint8"),
        keys=np.array([1, 2, 3]),
        wanted=np.array([True] * 3),
        changes={},
    )
    with records.file:
        assert name_sources(rows, records, [1, 0]) == ["letters", "letters", "books"]
