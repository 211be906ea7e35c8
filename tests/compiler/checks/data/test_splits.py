"""Near copies in a test split: the expected share equals the sampled share."""

import random
from dataclasses import replace

import pytest

from ftc.compiler.checks.data.splits import leaked_share
from ftc.compiler.resolve.facts import DataFacts, Unknown
from tests.compiler.conftest import build_case


def data(counts: tuple[tuple[int, int], ...], *, compared: int, usable: int) -> DataFacts:
    """Return the base's data facts with these near copies."""
    _, facts = build_case({})
    assert not isinstance(facts.data, Unknown)
    probes = sum(rows for _, rows in counts)
    twins = replace(facts.data.twins, counts=counts, compared=compared, probes=probes)
    return replace(facts.data, twins=twins, usable_rows=usable)


@pytest.mark.parametrize("train_share", [0.5, 0.8, 0.95])
def test_the_expected_share_is_what_random_splits_have(train_share: float) -> None:
    """Clusters of 1, 2 and 5 rows, split by chance a thousand times over."""
    pick = random.Random(6)  # noqa: S311 - a fixed sample
    clusters = [(size, 60) for size in (1, 2, 5)]
    rows = [name for size, times in clusters for n in range(times) for name in [(size, n)] * size]
    leaked = held_out = 0
    for _ in range(1000):
        trained = [pick.random() < train_share for _ in rows]
        known = {name for name, is_trained in zip(rows, trained, strict=True) if is_trained}
        held = [name for name, is_trained in zip(rows, trained, strict=True) if not is_trained]
        held_out += len(held)
        leaked += sum(name in known for name in held)
    counts = tuple((size - 1, size * times) for size, times in clusters)
    expected = leaked_share(data(counts, compared=len(rows), usable=len(rows)), train_share)
    assert leaked / held_out == pytest.approx(expected, abs=0.01)


def test_a_sample_of_the_rows_shows_a_part_of_the_copies() -> None:
    """Where a tenth of the rows were compared, ten times as many copies are expected."""
    whole = leaked_share(data(((10, 5), (0, 95)), compared=5000, usable=5000), 0.1)
    tenth = leaked_share(data(((1, 5), (0, 95)), compared=500, usable=5000), 0.1)
    assert tenth == pytest.approx(whole)
