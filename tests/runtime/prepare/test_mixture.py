"""An epoch of several sources has them in the proportion of their weights."""

from collections import Counter

from ftc.runtime.prepare.mixture import mix

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
